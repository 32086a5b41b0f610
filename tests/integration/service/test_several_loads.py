"""`lutra-agent tune` under two numbers of clients, one reading and one writing: a real service, a real server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lutra_lab.servers.postgresql import ScratchPostgres

from tests.integration.service.test_tune_command import MEMORY_ALONE, registered, tune
from tests.support.agent.processes import document, write_toml
from tests.support.servers.counted import counted, twice_as_many
from tests.support.servers.engines import scratch
from tests.support.service.hosted import Document
from tests.support.service.served import Served

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.thorough]

LOADS: list[dict[str, Any]] = [
    {"name": "few", "clients": 2, "script": "select-only"},
    {"name": "many", "clients": 8},
]


@dataclass(frozen=True)
class Ended:
    """A session that ended, its trials, what it handed over, and the lines that `tune` printed."""

    session: Document
    trials: list[Document]
    handover: Document
    lines: list[str]


@pytest.fixture(scope="module")
def server() -> Iterator[ScratchPostgres]:
    with scratch("postgres18", **MEMORY_ALONE) as made:
        made.fill(1)
        yield made


def tuned(server: ScratchPostgres, served: Served, folder: Path, name: str, *options: str) -> Ended:
    database, token = registered(served, name)
    driver = {**counted(server, folder, twice_as_many(server)), "script": "simple-update", "loads": LOADS}
    made = document(
        server,
        str(served.client.base_url).rstrip("/"),
        folder / "state",
        service={"database": database},
        driver=driver,
    )
    done = tune(write_toml(folder / "agent.toml", made), token, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    found = re.match(r"session (\w+):", lines[0])
    assert found is not None
    session = served.api.take("GET", f"/v1/sessions/{found[1]}")
    trials = served.api.take("GET", f"/v1/sessions/{found[1]}/trials")["items"]
    return Ended(session, trials, served.api.take("GET", f"/v1/recommendations/{session['handover']}"), lines)


def test_a_session_under_two_loads_measures_both_and_says_which(
    server: ScratchPostgres, served: Served, tmp_path: Path
) -> None:
    ended = tuned(server, served, tmp_path, "under both", "--aim", "worst", "--limit", "p99_ms<=100000")
    session, first = ended.session, ended.trials[0]["measured"]
    assert (session["state"], session["aim"]) == ("completed", "worst")
    assert [load["name"] for load in session["loads"]] == ["few", "many"]
    assert first["aim.qps"] == pytest.approx(1.0), "the baseline is its own reference"
    assert first["qps.few"] == first["tps.few"], "a statement each"
    assert first["qps.many"] == pytest.approx(5 * first["tps.many"])
    assert (first["p99_of.few"], first["p99_of.many"]) == ("statement", "transaction")
    assert {"aim.qps", "qps.few", "qps.many", "p99_ms.few", "p99_ms.many"} <= set(ended.trials[-1]["predictions"])
    readings = [r for f in session["verification"]["finalists"] for r in f["readings"]]
    assert readings
    assert all({"aim.qps", "qps.few", "qps.many"} <= set(r) for r in readings)
    few, many = "at 2 clients of select-only", "at 8 clients of simple-update"
    assert (
        session["measured_under"]
        == f"measured under few ({few}) and many ({many}); it was not measured at other numbers of clients"
    )
    assert re.search(r"trial 1: aim 1\.000  \[few\] qps [\d,.]+ .*\[many\] qps", ended.lines[1])
    assert session["measured_under"] in ended.lines


def test_one_of_the_files_loads_may_be_asked_for(server: ScratchPostgres, served: Served, tmp_path: Path) -> None:
    ended = tuned(server, served, tmp_path, "under one", "--load", "many=3", "--verification-rounds", "0")
    assert ended.session["loads"] == [{"name": "many", "weight": 3.0}]
    assert "qps.few" not in ended.trials[0]["measured"]
    assert "under many (at 8 clients of simple-update)" in ended.session["measured_under"]
