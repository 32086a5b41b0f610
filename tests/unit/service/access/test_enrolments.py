"""Enrolments: one agent gets its own token by a token that is valid once and for a short time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from lutra_service.app.access import tokens
from lutra_service.app.databases import registration
from lutra_service.app.errors import Unauthorized
from lutra_service.common.ids import secret_hash
from lutra_service.db.schema.engine import make_engine
from lutra_service.db.store import Store, UnitOfWork

from tests.support.service.application import migrated
from tests.support.service.hosted import Document, Service

pytestmark = pytest.mark.slow


def enrolment(service: Service, database: str, **body: object) -> Document:
    made: Document = service.take("POST", f"/v1/databases/{database}/enrolments", body)
    return made


def test_an_enrolment_gives_an_agent_its_database_and_its_own_token(service: Service) -> None:
    database = service.database("shop")
    made = enrolment(service, database)
    found = service.as_bearer(made["token"]).take("POST", "/v1/enrolments")
    assert (found["database"], found["name"], found["engine"]) == (database, "shop", "postgresql")
    assert service.as_bearer(found["token"]).take("GET", f"/v1/databases/{database}")["id"] == database


def test_an_enrolments_token_is_used_once(service: Service) -> None:
    bearer = service.as_bearer(enrolment(service, service.database())["token"])
    bearer.take("POST", "/v1/enrolments")
    again = bearer.ask("POST", "/v1/enrolments")
    assert (again.status_code, "was used" in again.json()["detail"]) == (401, True)


def test_an_enrolments_token_opens_nothing_else(service: Service) -> None:
    database = service.database()
    bearer = service.as_bearer(enrolment(service, database)["token"])
    assert bearer.code("GET", f"/v1/databases/{database}") == (403, "forbidden")
    assert bearer.code("GET", f"/v1/databases/{database}/directive") == (403, "forbidden")


def test_no_other_token_enrols_an_agent(service: Service) -> None:
    assert service.code("POST", "/v1/enrolments") == (403, "forbidden")


def test_an_enrolment_expires(service: Service) -> None:
    made = enrolment(service, service.database(), lifetime_s=60)
    past = datetime.now(UTC) - timedelta(seconds=1)
    service.store.write(lambda unit: unit.tokens.change(made["id"], expires_at=past))
    refused = service.as_bearer(made["token"]).ask("POST", "/v1/enrolments")
    assert (refused.status_code, "expired at" in refused.json()["detail"]) == (401, True)


def test_an_enrolment_lasts_at_most_a_day(service: Service) -> None:
    path = f"/v1/databases/{service.database()}/enrolments"
    assert service.code("POST", path, {"lifetime_s": 86401}) == (422, "invalid_request")


def test_nobody_gives_a_token_the_scope_of_an_enrolment_or_rotates_one(service: Service) -> None:
    database = service.database()
    wish = {"name": "for long", "scopes": ["enrol"]}
    assert service.code("POST", f"/v1/databases/{database}/tokens", wish) == (422, "invalid_request")
    made = enrolment(service, database)
    assert service.code("POST", f"/v1/tokens/{made['id']}/rotate") == (422, "invalid_request")


def test_the_store_keeps_a_digest_and_the_audit_trail_no_secret(service: Service) -> None:
    made = enrolment(service, service.database())
    found = service.as_bearer(made["token"]).take("POST", "/v1/enrolments")
    stored = service.store.read(lambda unit: unit.tokens.get(made["id"]))
    assert stored.hash == secret_hash(made["token"])
    entries = service.take("GET", "/v1/audit")["items"]
    assert [e["action"] for e in entries[:2]] == ["enrolment.use", "enrolment.create"]
    assert entries[0]["after"]["new"]["id"] == found["token_id"]
    assert made["token"] not in str(entries)
    assert found["token"] not in str(entries)


def test_of_several_services_at_the_same_moment_one_exchanges_the_token(tmp_path: Path) -> None:
    url = migrated(tmp_path)
    stores = [Store(make_engine(url)) for _ in range(4)]

    def made(unit: UnitOfWork) -> str:
        database = registration.register(unit, "shop", "postgresql", {})
        return tokens.create_enrolment(unit, database.id, timedelta(minutes=15))[0].id

    who = tokens.Principal(stores[0].write(made), frozenset({"enrol"}))

    def used(store: Store) -> bool:
        try:
            store.write(lambda unit: tokens.enrol(unit, who))
        except Unauthorized:
            return False
        return True

    with ThreadPoolExecutor(len(stores)) as threads:
        assert sum(threads.map(used, stores)) == 1
