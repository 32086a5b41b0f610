"""The doors to all that was measured: who sees what, in which format, and with how much memory."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pyarrow.parquet
import pytest
from lutra_client import Client
from lutra_service.app.access.tokens import revoke_token
from lutra_service.app.observations import selection

from tests.support.service.application import documented
from tests.support.service.hosted import Agent, Service, approved

pytestmark = pytest.mark.slow

FLEET = "/v1/observations"


def lines(service: Any, path: str) -> list[dict[str, Any]]:
    response = service.ask("GET", path)
    assert response.is_success, response.text
    return [json.loads(line) for line in response.text.splitlines()]


@pytest.fixture
def shop(service: Service, database: str, agent: Agent) -> str:
    """Two windows, a change with a window of other metrics, and a failure whose reason is a formula."""
    agent.observe(2, qps=900.0)
    made = approved(service, agent, work_mem="8MB")
    directive = agent.directive()
    assert directive is not None
    agent.apply(directive["settings"])
    parts = agent.window(qps=950.0, extra=1.0)
    agent.send(agent.report(outcomes=[agent.outcome(directive, "applied")], measures=made["id"], **parts))
    agent.send(agent.report(failure="=driver_failed"))
    return database


def test_each_observation_has_its_settings_and_its_place(service: Service, shop: str) -> None:
    found = lines(service, f"/v1/databases/{shop}/observations")
    for row in found:
        documented().fits("ObservationAnswer", row)
    assert [row["settings"]["work_mem"] for row in found[:3]] == [4096, 4096, 8192]
    assert found[2]["metrics"]["qps"] == 950.0
    assert found[2]["recommendation"].startswith("rec_")
    assert {row["id"] for row in found if row["end"]} == {
        w["id"] for w in service.take("GET", f"/v1/databases/{shop}/windows")["items"]
    }


def test_the_formats_say_the_same(service: Service, shop: str) -> None:
    told = lines(service, FLEET)
    table = list(csv.DictReader(io.StringIO(service.ask("GET", f"{FLEET}?format=csv").text)))
    packed = pyarrow.parquet.read_table(io.BytesIO(service.ask("GET", f"{FLEET}?format=parquet").content)).to_pylist()
    assert len(told) == len(table) == len(packed)
    for row, cells, values in zip(told, table, packed, strict=True):
        assert cells["id"] == values["id"] == row["id"]
        assert values["setting.work_mem"] == int(cells["setting.work_mem"]) == row["settings"]["work_mem"]
        assert values["metric.qps"] == row["metrics"].get("qps")
        assert cells["metric.qps"] == str(row["metrics"].get("qps", ""))
        assert values["end"] == (None if row["end"] is None else datetime.fromisoformat(row["end"]))
    assert [c["failure"] for c in table if c["failure"]] == ["'=driver_failed"]


def test_only_what_is_asked_for(service: Service, shop: str, agent: Agent) -> None:
    found = lines(service, FLEET)
    last = datetime.fromisoformat(found[1]["end"])
    moment = (last + timedelta(seconds=1)).isoformat().replace("+", "%2B")
    assert [r["id"] for r in lines(service, f"{FLEET}?since={moment}")] == [r["id"] for r in found[2:]]
    assert lines(service, f"{FLEET}?until=2001-01-01T00:00:00Z") == []
    chosen = lines(service, f"{FLEET}?metric=qps&metric=tps")
    assert all(set(r["metrics"]) <= {"qps", "tps"} and (r["metrics"] or r["failure"]) for r in chosen)
    assert lines(service, f"{FLEET}?engine=mysql") == []
    assert len(lines(service, f"{FLEET}?engine=postgresql&database={shop}")) == len(found)
    assert service.code("GET", f"{FLEET}?engine=postgres") == (422, "invalid_request")
    assert service.code("GET", f"{FLEET}?database=db_none") == (404, "not_found")
    assert service.code("GET", f"{FLEET}?until=soon") == (422, "invalid_request")


def test_a_token_of_one_database_sees_that_one_alone(service: Service, shop: str, agent: Agent) -> None:
    other = service.database("other")
    body = {"name": "reader", "scopes": ["read"]}
    bound = service.as_bearer(service.take("POST", f"/v1/databases/{other}/tokens", body)["token"])
    assert lines(bound, FLEET) == lines(bound, f"/v1/databases/{other}/observations") == []
    assert bound.code("GET", f"{FLEET}?database={shop}") == (403, "forbidden")
    assert bound.code("GET", f"/v1/databases/{shop}/observations") == (403, "forbidden")
    body = {"objective": {"metric": "qps", "goal": "maximize"}}
    opened = service.take("POST", f"/v1/databases/{shop}/sessions", body)
    assert bound.code("GET", f"/v1/sessions/{opened['id']}/observations") == (403, "forbidden")
    assert service.as_bearer("lutra_none").code("GET", FLEET) == (401, "unauthorized")
    assert len(lines(agent, FLEET)) == len(lines(service, FLEET))


def test_a_stream_reads_a_few_rows_at_a_time_and_none_that_came_later(
    service: Service, shop: str, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection, "TOGETHER", 2)
    whole = [row["id"] for row in lines(service, FLEET)]
    found = selection.selected(service.store, selection.Selection())
    sizes = []
    for batch in found.batches():
        sizes.append(len(batch))
        agent.observe(1)
    assert sizes[:-1] == [2] * (len(sizes) - 1)
    assert sum(sizes) == len(whole)


def test_a_token_that_is_revoked_meanwhile_ends_the_stream(
    service: Service, shop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection, "TOGETHER", 1)
    made = service.take("POST", "/v1/tokens", {"name": "reader", "scopes": ["read"]})
    plain, seen = selection.Observations.batches, []

    def revoked(self: selection.Observations) -> Iterator[Any]:
        for batch in plain(self):
            yield batch
            seen.append(batch)
            service.store.write(lambda unit: revoke_token(unit, made["id"]))

    monkeypatch.setattr(selection.Observations, "batches", revoked)
    service.as_bearer(made["token"]).ask("GET", FLEET)
    assert len(seen) == 1


def test_parquet_without_pyarrow_says_what_to_do(service: Service, shop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    refused = service.ask("GET", f"{FLEET}?format=parquet")
    assert refused.status_code == 422
    assert "pip install 'lutra-service[parquet]'" in refused.json()["detail"]
    assert service.ask("GET", f"{FLEET}?format=csv").is_success


def test_a_frame_holds_rows_of_different_settings_and_metrics(service: Service, shop: str) -> None:
    client = Client(http=service.client, token=service.headers["Authorization"].removeprefix("Bearer "))
    frame = client.observations.list().to_frame()
    told = lines(service, FLEET)
    assert list(frame.id) == [row["id"] for row in told]
    assert list(frame["setting.work_mem"]) == [row["settings"]["work_mem"] for row in told]
    assert frame["metric.qps"].isna().sum() == sum("qps" not in row["metrics"] for row in told)
    assert str(frame.end.dt.tz) == "UTC"
    assert client.observations.list(metric=["nothing.there"]).to_frame().failure.notna().all()
