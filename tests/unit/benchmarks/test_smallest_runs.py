"""The benchmarks of the service at their smallest: they run against the present service, and write what they found."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[3]
RUNS = {
    "a session's verification": "verification --sessions 1 --rounds 4",
    "ingestion": "ingestion --store sqlite --connections 2 --databases 4 --turns 1 --reports 40 --baseline {root}",
    "kills": "attacks kills --kills 1 --batch 1 --store sqlite --rows {folder}/kills.jsonl",
    "observations": "observations --observations 200",
    "one token gone bad": "attacks bad_token --quiet-minutes 0.05 --minutes 0.05 --out {folder}/rows.jsonl",
    "REST answers": "rest_latency --trials 4 --requests 20",
    "strangers": "attacks strangers --minutes 0.05 --out {folder}/rows.jsonl",
    "the store's queries": "store_scale --reports 200 --results {folder}/scale.jsonl",
}
MEASURED_TOO_LITTLE = "verdict "
"""A run of seconds may miss a promise about minutes: it ends with status 1, after its table of verdicts."""


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_a_benchmark_runs_to_its_end(run: str, tmp_path: Path) -> None:
    arguments = run.format(folder=tmp_path, root=ROOT).split()
    command = [sys.executable, "-m", "benchmarks", *arguments]
    found = subprocess.run(command, cwd=ROOT, env=os.environ, capture_output=True, text=True)
    assert found.returncode == 0 or MEASURED_TOO_LITTLE in found.stdout, found.stdout + found.stderr
    assert "Traceback" not in found.stderr, found.stderr
