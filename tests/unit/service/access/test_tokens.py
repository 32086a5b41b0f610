"""Tokens: how long they live, when they were used, how they are replaced."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from lutra_service.app.access import tokens
from lutra_service.app.access.tokens import Principal, TokenUse
from lutra_service.db.repositories.registry import Tokens

from tests.support.service.hosted import Agent, Document, Service

pytestmark = pytest.mark.slow


def made(service: Service, **more: object) -> Document:
    token: Document = service.take("POST", "/v1/tokens", {"name": "ci", "scopes": ["read"], **more})
    return token


def change(service: Service, id_: str, **values: Any) -> None:
    service.store.write(lambda u: u.tokens.change(id_, **values))


def shown(service: Service, id_: str) -> Document:
    (found,) = [t for t in service.take("GET", "/v1/tokens")["items"] if t["id"] == id_]
    return dict(found)


def past() -> datetime:
    return datetime.now(UTC) - timedelta(seconds=1)


@pytest.mark.slow
def test_a_token_that_expired_opens_nothing_and_says_why(service: Service) -> None:
    token = made(service, expires_at=(datetime.now(UTC) + timedelta(days=1)).isoformat())
    bearer = service.as_bearer(token["token"])
    bearer.take("GET", "/v1/databases")
    change(service, token["id"], expires_at=past())
    refused = bearer.ask("GET", "/v1/databases")
    assert (refused.status_code, "expired at" in refused.json()["detail"]) == (401, True)


def test_a_token_cannot_be_made_to_expire_in_the_past(service: Service) -> None:
    wish = {"name": "ci", "scopes": ["read"], "expires_at": past().isoformat()}
    assert service.code("POST", "/v1/tokens", wish) == (422, "invalid_request")


def test_a_tokens_last_use_is_known_to_the_minute(service: Service) -> None:
    token = made(service)
    bearer = service.as_bearer(token["token"])
    assert shown(service, token["id"])["last_used_at"] is None
    bearer.take("GET", "/v1/databases")
    first = shown(service, token["id"])["last_used_at"]
    assert first is not None
    bearer.take("GET", "/v1/databases")
    assert shown(service, token["id"])["last_used_at"] == first
    change(service, token["id"], last_used_at=past() - tokens.NOTED_EVERY)
    bearer.take("GET", "/v1/databases")
    assert shown(service, token["id"])["last_used_at"] >= first


def test_uses_of_many_tokens_are_written_down_together(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    now, ids = [100.0], [made(service)["id"] for _ in range(4)]
    uses = TokenUse(service.store, lambda: now[0])
    written: list[int] = []
    used = Tokens.used
    monkeypatch.setattr(Tokens, "used", lambda self, ids, *rest: written.append(len(ids)) or used(self, ids, *rest))
    for token in ids:
        uses.note([Principal(token, frozenset({"read"}))])
    assert written == [1]
    now[0] += tokens.EVERY_S
    uses.note([])
    assert written == [1, 3]


@pytest.mark.parametrize("grace_s", [0, 3600])
def test_a_rotated_token_has_a_new_secret_and_the_old_one_lives_for_its_grace(service: Service, grace_s: int) -> None:
    old = made(service)
    new = service.take("POST", f"/v1/tokens/{old['id']}/rotate", {"grace_s": grace_s})
    assert (new["name"], new["scopes"], new["database"]) == (old["name"], old["scopes"], old["database"])
    assert new["token"] != old["token"]
    service.as_bearer(new["token"]).take("GET", "/v1/databases")
    before = service.as_bearer(old["token"])
    if grace_s:
        before.take("GET", "/v1/databases")
        change(service, old["id"], expires_at=past())
    assert before.code("GET", "/v1/databases") == (401, "unauthorized")


def test_a_token_that_is_no_more_is_not_rotated(service: Service) -> None:
    token = made(service)
    service.take("DELETE", f"/v1/tokens/{token['id']}")
    assert service.code("POST", f"/v1/tokens/{token['id']}/rotate") == (422, "invalid_request")


def test_a_rotation_asked_for_twice_under_one_key_is_one(service: Service) -> None:
    old = made(service)
    key = {"Idempotency-Key": "k"}
    path = f"/v1/tokens/{old['id']}/rotate"
    new = service.take("POST", path, None, **key)
    assert service.take("POST", path, None, **key) == {**new, "token": None}


def test_an_administrator_of_one_database_reaches_its_tokens_alone(service: Service, agent: Agent) -> None:
    tokens = f"/v1/databases/{agent.database}/tokens"
    bound = service.as_bearer(service.take("POST", tokens, {"name": "a", "scopes": ["admin"]})["token"])
    unbound = made(service)
    for method, path in (
        ("GET", "/v1/tokens"),
        ("POST", f"/v1/tokens/{unbound['id']}/rotate"),
        ("DELETE", f"/v1/tokens/{unbound['id']}"),
    ):
        assert bound.code(method, path) == (403, "forbidden")
    assert bound.code("POST", "/v1/tokens", {"name": "x", "scopes": ["read"]}) == (403, "forbidden")
    assert bound.code("POST", f"{tokens}/{unbound['id']}/rotate") == (404, "not_found")
    assert bound.code("DELETE", f"{tokens}/{unbound['id']}") == (404, "not_found")
    own = bound.take("GET", tokens)["items"][0]["id"]
    new = bound.take("POST", f"{tokens}/{own}/rotate")
    assert new["database"] == agent.database
    assert service.as_bearer(new["token"]).take("GET", f"/v1/databases/{agent.database}")


def test_an_agents_token_is_bound_to_a_database(service: Service) -> None:
    assert service.code("POST", "/v1/tokens", {"name": "x", "scopes": ["agent"]}) == (422, "invalid_request")


def test_revoked_tokens_are_listed_and_revoking_twice_is_revoking_once(service: Service) -> None:
    token = made(service)
    first = service.take("DELETE", f"/v1/tokens/{token['id']}")["revoked_at"]
    assert service.take("DELETE", f"/v1/tokens/{token['id']}")["revoked_at"] == first
    assert shown(service, token["id"])["revoked_at"] == first
