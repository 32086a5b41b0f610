"""Looks for everything that was acknowledged: what is lost, and what exists twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from lutra_service.db.schema.engine import make_engine
from lutra_service.db.store import Store

from benchmarks.attacks.kills_load import Ledger
from tests.support.service.hosted import Api
from tests.support.service.served import Served

DECIDED = ("approved", "applied", "confirmed", "reverted")


def faults(served: Served, ledger: Ledger, real_agent: str | None) -> dict[str, list[str]]:
    """What was lost and what was doubled, in words."""
    lost: list[str] = []
    doubled: list[str] = []
    for kind, found in _each(served, ledger):
        (lost if kind == "lost" else doubled).append(found)
    if real_agent is not None:
        lost += _holes(served, real_agent)
    return {"lost": lost, "doubled": doubled}


def _each(served: Served, ledger: Ledger) -> Iterator[tuple[str, str]]:
    api = served.api
    yield from _compared("database", ledger.databases, [d["id"] for d in pages(api, "/v1/databases")])
    yield from _twice("database's name", [d["name"] for d in pages(api, "/v1/databases")])
    for database, sequences in ledger.reports.items():
        yield from _compared(f"report of {database}", sequences, _sequences(served, database))
    for database, messages in ledger.events.items():
        found = [e["message"] for e in pages(api, f"/v1/databases/{database}/events")]
        yield from _compared(f"event of {database}", messages, found)
    yield from _tokens(served, ledger)
    yield from _recommendations(api, ledger)


def _compared(what: str, acknowledged: Iterable[Any], found: list[Any]) -> Iterator[tuple[str, str]]:
    missing = set(acknowledged) - set(found)
    yield from (("lost", f"{what} {one}") for one in sorted(missing))
    yield from _twice(what, found)


def _twice(what: str, found: list[Any]) -> Iterator[tuple[str, str]]:
    yield from (("doubled", f"{what} {one}") for one, times in Counter(found).items() if times > 1)


def _tokens(served: Served, ledger: Ledger) -> Iterator[tuple[str, str]]:
    names: list[str] = []
    for database in ledger.databases:
        names += [t["name"] for t in pages(served.api, f"/v1/databases/{database}/tokens")]
    yield from _twice("token's name", names)
    yield from (("lost", f"token {name}") for _, name, _ in ledger.tokens.values() if name not in names)
    for id_, (database, _, secret) in ledger.tokens.items():
        if secret and served.client.get(f"/v1/databases/{database}", headers=_bearer(secret)).status_code != 200:
            yield "lost", f"token {id_} does not open its database"
    for id_, secret in ledger.revoked.items():
        if secret and served.client.get("/v1/databases", headers=_bearer(secret)).status_code != 401:
            yield "lost", f"the revocation of {id_}"


def _recommendations(api: Api, ledger: Ledger) -> Iterator[tuple[str, str]]:
    databases = {text.split(" ")[0] for text in ledger.recommendations.values()}
    found = {r["id"]: r for d in databases for r in pages(api, f"/v1/databases/{d}/recommendations")}
    yield from (("lost", f"recommendation {id_}") for id_ in ledger.recommendations if id_ not in found)
    asked = [
        f"{r['database']} {c['after']}" for r in found.values() for c in r["changes"] if c["setting"] == "work_mem"
    ]
    yield from _twice("recommendation of", asked)
    for id_ in ledger.approvals & set(found):
        if found[id_]["state"] not in DECIDED:
            yield "lost", f"the approval of {id_}, which is {found[id_]['state']}"


def _holes(served: Served, database: str) -> list[str]:
    """Numbers that a real agent's spool gave and the store lacks: those between the first and the last."""
    found = sorted(_sequences(served, database))
    return (
        [f"report {n} of the real agent" for n in sorted(set(range(found[0], found[-1] + 1)) - set(found))]
        if found
        else []
    )


def _sequences(served: Served, database: str) -> list[int]:
    store = Store(make_engine(served.env["LUTRA_DATABASE_URL"]))
    try:
        return list(store.read(lambda unit: unit.reports.sequences(database)))
    finally:
        store.close()


def pages(api: Api, path: str) -> list[Any]:
    found, after = [], ""
    while True:
        page = api.take("GET", f"{path}?limit=500{after}")
        found += page["items"]
        if not page.get("next"):
            return found
        after = f"&after={page['next']}"


def _bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}
