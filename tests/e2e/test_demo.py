"""`lutra demo` as a newcomer runs it: a real server, the service and the agent as processes."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from lutra_service.db.schema.engine import make_engine
from lutra_service.db.store import Store

from tests.support.service.demo import GENTLER, SHORTER, loadable

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.thorough]
TARGETS = {"p99_ms", "qps", "tps"}

CACHES = {
    "postgresql": "shared_buffers",
    "mariadb": "innodb_buffer_pool_size",
}


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A folder for temporary files that the server's own account may enter, as it may /tmp."""
    with tempfile.TemporaryDirectory(prefix="lutra-test-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@pytest.mark.timeout(1800)  # a minute or two, but on a machine whose disk is busy
@pytest.mark.parametrize(("engine", "demo"), [("postgresql", GENTLER), ("mariadb", SHORTER)])
def test_the_demo_tunes_a_real_server_and_tells_its_figures(
    tmp_path: Path, scratch: Path, engine: str, demo: list[Path | str]
) -> None:
    loadable(engine)
    out, kept = tmp_path / "out.json", tmp_path / "kept"
    done = subprocess.run(
        [*demo, "--engine", engine, "--trials", "3", "--seconds", "2", "--seed", "3", "--json", out, "--keep", kept],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TMPDIR": str(scratch)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(out.read_text())
    assert told["engine"] == engine
    assert [t["trial"] for t in told["trials"]] == [1, 2, 3]
    for trial in told["trials"]:
        assert set(trial["measured"]) == TARGETS if not trial["failed"] else trial["failure"]
        assert CACHES[engine] in trial["configuration"]
    for trial in told["trials"][2:]:
        assert set(trial["predictions"]) == {"p99_ms", "qps"}
        assert all(p["low"] <= p["median"] <= p["high"] for p in trial["predictions"].values())
    holds = {"baseline": "default", "rule_based": "rule-based", "best": "best"}[told["verdict"]]
    found = {row["name"]: row for row in told["table"]}
    assert found[holds]["configuration"] == told["handed_over"]
    assert holds == "default" or len(found[holds]["measured"]) >= 3
    assert told["sentence"] in done.stdout
    assert ("No statements" in done.stdout) == (holds == "default")
    assert "intervals that contained" in done.stdout
    assert f"export LUTRA_DATABASE_URL=sqlite:///{kept / 'lutra.db'}" in done.stdout
    store = Store(make_engine(f"sqlite:///{kept / 'lutra.db'}"))
    (workload,) = store.read(lambda unit: unit.workloads.listed(2, None))
    store.close()
    assert workload.name == "demo"
    assert not any(scratch.iterdir())
