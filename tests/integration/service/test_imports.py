"""A public table becomes a past workload, and a session leans on it."""

from __future__ import annotations

from pathlib import Path

import pytest
from lutra_client import Client
from lutra_service.db.schema.engine import make_engine
from lutra_service.db.store import Store

from tests.support.service.measured_tables import SETTINGS, tpcc
from tests.support.service.served import Served
from tests.support.service.sessions import tune

pytestmark = [pytest.mark.slow, pytest.mark.thorough]
SERVER = ("--engine", "postgresql", "--engine-version", "16", "--memory", "32GB", "--cores", "8")


def test_a_session_leans_on_an_imported_table(served: Served, tmp_path: Path) -> None:
    file = tpcc(tmp_path / "tpcc.csv", rows=40)
    mapping = tmp_path / "mapping.toml"
    mapping.write_text('metrics.tps = "qps"')  # what the later session is tuned for
    wanted = ("--metric", "qps", "--goal", "maximize", "--mapping", str(mapping))
    told = served.run("import", str(file), "--name", "tpcc at azure", *SERVER, *wanted)
    past, session = told.split(":")[0].split()
    with Client(str(served.client.base_url), served.token) as client:
        trials = list(client.sessions.list_trials(session))
        assert len(trials) == 40
        assert client.sessions.get(session)["trials_done"] == 40
        assert client.sessions.get(session)["message"].startswith("imported from tpcc.csv: settings learned from: ")
        assert {s["setting"] for s in client.databases.list_settings(past)} == set(SETTINGS)
        history = client.history(session)
        assert len(history.observations) == 40
        assert {k.name for k in history.space} <= set(SETTINGS)
        frame = client.observations.of_database(past).to_frame()
        assert list(frame["metric.qps"].dropna()) == [t["measured"]["qps"] for t in trials if t["measured"]]
    _, _, later = tune(served, trials=4)
    store = Store(make_engine(f"sqlite:///{served.directory}/lutra.db"))
    of_past = store.read(lambda unit: unit.snapshots.newest_ids(past, 1))
    asked = store.read(lambda unit: [unit.requests.get(r.id) for r in unit.recommendations.outlined(later)])
    store.close()
    assert [request.payload["past"] for request in asked] == [of_past] * 5
    assert "transfer" in {t["origin"] for t in served.api.take("GET", f"/v1/sessions/{later}/trials")["items"]}
    written = served.run("export", "--format", "csv", "--database", past)
    assert len(written.splitlines()) == 41
