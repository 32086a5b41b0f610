from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
import sys
from lutra_agent.engines.families import family
import lutra_agent.commands.cli, lutra_agent.runtime.compose, lutra_lab.cli
assert "pymysql" not in sys.modules, "imported without being asked for"
sys.modules["pymysql"] = None
for name in ("mysql", "mariadb"):
    try:
        family(name).open(family(name).section(name, "127.0.0.1", 3306))
    except Exception as error:
        print(type(error).__name__, error)
"""


@pytest.mark.slow
def test_the_driver_is_imported_only_for_its_engine_and_its_absence_names_the_extra() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["ConfigError pymysql is missing: pip install 'lutra-agent[mysql]'"] * 2
