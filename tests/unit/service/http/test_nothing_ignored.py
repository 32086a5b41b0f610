"""What a caller wrote is read as it was meant, or refused by name."""

from __future__ import annotations

import pytest

from tests.support.service.hosted import Service

pytestmark = pytest.mark.slow


def test_an_unknown_field_is_refused_beside_those_that_are_known(service: Service) -> None:
    told = service.ask("POST", "/v1/databases", {"name": "shop", "engine": "postgresql", "labell": "a"}).json()
    assert told["code"] == "unknown_field"
    assert "labell (did you mean label?), beside engine, label, name, policy" in told["detail"]
    database = service.database()
    body = {"objective": {"metric": "qps", "gaol": "maximize"}}
    told = service.ask("POST", f"/v1/databases/{database}/sessions", body).json()
    assert "objective.gaol (did you mean goal?), beside goal, metric" in told["detail"]


def test_a_key_that_is_there_twice_is_refused(service: Service) -> None:
    headers = {**service.headers, "Content-Type": "application/json"}
    body = b'{"name": "one", "engine": "postgresql", "name": "two"}'
    told = service.client.post("/v1/databases", content=body, headers=headers)
    assert (told.status_code, told.json()["code"]) == (400, "invalid_json")
    assert told.json()["detail"] == "the key 'name' exists twice in one object"


def test_the_same_fields_in_another_order_are_the_same_request(service: Service) -> None:
    once = {"Idempotency-Key": "k"}
    first = service.take("POST", "/v1/databases", {"name": "shop", "engine": "postgresql"}, **once)
    assert service.take("POST", "/v1/databases", {"engine": "postgresql", "name": "shop"}, **once) == first
    other = service.ask("POST", "/v1/databases", {"engine": "postgresql", "name": "other"}, **once)
    assert other.json()["code"] == "idempotency_key_reused"


def test_a_workloads_engine_is_one_that_the_catalogue_has(service: Service) -> None:
    told = service.ask("GET", "/v1/workloads?engine=postgres")
    assert told.status_code == 422
    assert "did you mean postgresql?" in told.json()["detail"]


@pytest.mark.parametrize("moment", ["2026-01-01", "2026-01-01T00:00:00", "2026-01-01T00:00:00Z"])
def test_a_date_and_a_moment_without_an_offset_are_in_utc(service: Service, moment: str) -> None:
    assert service.ask("GET", f"/v1/observations?since={moment}").status_code == 200
