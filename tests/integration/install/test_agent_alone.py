from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchmarks.agent_footprint.wheel import UNWANTED, install, installed

pytestmark = pytest.mark.thorough


@pytest.mark.slow
def test_the_installed_agent_brings_no_mathematics_and_no_service(tmp_path: Path) -> None:
    python = install(tmp_path)
    brought = installed(python)
    assert {"lutra-agent", "lutra-models", "psycopg"} <= brought.keys()
    assert not brought.keys() & set(UNWANTED)
    helped = subprocess.run([python.parent / "lutra-agent", "--help"], check=True, capture_output=True, text=True)
    assert "\n  lab " not in helped.stdout
    asked = subprocess.run([python.parent / "lutra-agent", "lab", "--help"], capture_output=True, text=True)
    assert (asked.returncode, "pip install lutra-lab" in asked.stderr) == (2, True), asked
    driven = "from lutra_agent.drivers import build; build({'kind': 'pgbench'}, None)"
    refused = subprocess.run([python, "-E", "-c", driven], cwd=tmp_path, capture_output=True, text=True)
    assert "'pgbench' is not one of command; the distribution lutra-lab brings" in refused.stderr
    imports = "import lutra_agent.runtime.compose, lutra_agent.drivers, lutra_agent.engines.postgresql"
    subprocess.run([python, "-c", imports], check=True, cwd=tmp_path)
