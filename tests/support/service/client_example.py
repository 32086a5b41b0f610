"""What a user of the client writes, as a type checker sees it."""

from __future__ import annotations

import asyncio

from lutra_client import AsyncClient, Client, TimedOut


def best(client: Client, database: str) -> float | None:
    """Open a session, wait for its end, and read what it handed over."""
    session = client.sessions.open(
        database, objective={"metric": "qps", "goal": "maximize"}, mode="lab", approval="automatic", max_trials=20
    )
    try:
        ended = client.sessions.wait(session["id"], timeout_s=3600)
    except TimedOut:
        client.sessions.stop(session["id"])
        return None
    if ended["handover"] is None:
        return None
    handover = client.recommendations.get(ended["handover"])
    qps = (handover["measured"] or {}).get("qps")
    return float(qps) if qps is not None else None


async def names(client: AsyncClient) -> list[str]:
    first, frame = await asyncio.gather(
        client.health.check_alive(), client.observations.list(metric=["qps"]).to_frame()
    )
    print(first["version"], len(frame))
    return [database["name"] async for database in client.databases.list()]


def mistakes(client: Client, later: AsyncClient) -> None:
    """What a type checker has to find: strict mypy complains of an `ignore` that nothing needs."""
    client.sessions.open("db_1", objective={"metric": "qps", "goal": "most"})  # type: ignore[typeddict-item]
    client.sessions.open("db_1", max_trials=3)  # type: ignore[call-arg]
    client.databases.get(name="shop")  # type: ignore[call-arg]
    client.databases.get("db_1")["nmae"]  # type: ignore[misc]
    later.databases.get("db_1")["name"]  # type: ignore[index]
    client.databases.list().sort()  # type: ignore[attr-defined]
