"""What was imported and cannot move here stays part of what the service knows of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from lutra_client.commands.program import main
from lutra_models.history import History
from lutra_models.serial import history_from_dict

from tests.support.service.hosted import Service

pytestmark = pytest.mark.slow

ROWS = """work_mem,data_sync_retry,cores,clients,tps
64,on,4,8,1
128,off,8,8,2
256,on,16,8,3
512,off,4,8,
1024,on,8,8,5
"""
SERVER = ("--engine", "postgresql", "--engine-version", "16", "--memory", "16GB")


def test_a_covariate_is_in_the_history_and_in_what_was_learned(
    service: Service, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LUTRA_DATABASE_URL", url)
    (tmp_path / "t.csv").write_text(ROWS)
    (tmp_path / "m.toml").write_text('context.clients = "clients"\n')
    goal = ("--metric", "tps", "--goal", "maximize", "--mapping", str(tmp_path / "m.toml"))
    told = CliRunner().invoke(main, ["import", str(tmp_path / "t.csv"), "--name", "past", *SERVER, *goal])
    assert told.exit_code == 0, told.output
    head, *lines = told.output.splitlines()
    assert head.endswith("5 observations of 1 settings and 2 covariates, 1 of them failures")
    assert "  covariates (they cannot move here: learned from, never proposed): data_sync_retry, context.cores" in lines
    database, session = head.split(":")[0].split()
    assert "covariates: data_sync_retry, context.cores" in service.take("GET", f"/v1/sessions/{session}")["message"]
    found: History = history_from_dict(service.take("GET", f"/v1/sessions/{session}/history"))
    assert found.space.names == ("work_mem", "data_sync_retry", "context.cores")
    assert [o.configuration["context.cores"] for o in found.observations] == [4, 8, 16, 4, 8]
    assert len(found.completed) == 4
    asked = {"settings": {"work_mem": "2MB"}}
    answer = service.take("POST", f"/v1/databases/{database}/predictions", asked)
    assert answer["predictions"]["tps"]["median"] > 0


def test_a_session_against_its_metrics_direction_is_refused(service: Service) -> None:
    database = service.database()
    told = service.ask(
        "POST", f"/v1/databases/{database}/sessions", {"objective": {"metric": "p99_ms", "goal": "maximize"}}
    )
    assert told.status_code == 422
    assert told.json()["detail"] == (
        "objective.goal: p99_ms: less of it is better, so the goal must be minimize, got maximize"
    )
