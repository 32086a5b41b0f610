"""A run of pytest of its own, over a file that a test wrote, with the plugins of this suite."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
NOTHING_OF_OURS = ("-p", "no:cacheprovider", "-c", os.devnull, "-o", "leftovers_grace_s=0")


def run(
    folder: Path, code: str, *more: str, plugins: tuple[str, ...] = ("leftovers",)
) -> subprocess.CompletedProcess[str]:
    """The run's folder for temporary files is `folder`, where a test may put what it wants to say into `told`."""
    test = folder / "test_it.py"
    test.write_text(code)
    asked = [word for plugin in plugins for word in ("-p", f"tests.support.pytest_plugins.{plugin}")]
    asked += ["-p", "xdist"] if "-n" in more else []
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TOLD": str(folder / "told"), "TMPDIR": str(folder)}
    environment |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    command = [sys.executable, "-m", "pytest", "-q", *NOTHING_OF_OURS, "--rootdir", str(folder), *asked, *more]
    return subprocess.run([*command, str(test)], env=environment, cwd=folder, capture_output=True, text=True)
