"""What a user of the client writes, as a type checker sees it."""

from __future__ import annotations

import asyncio

from lutra_client import AsyncClient, Client, TimedOut


def best(client: Client, database: str) -> float | None:
    """Open a session, wait for its end, and read what it handed over."""
    session = client.open_session(
        database, objective={"metric": "qps", "goal": "maximize"}, mode="lab", approval="automatic", max_trials=20
    )
    try:
        ended = client.wait_for_session(session["id"], timeout_s=3600)
    except TimedOut:
        client.stop_session(session["id"])
        return None
    if ended["handover"] is None:
        return None
    handover = client.get_recommendation(ended["handover"])
    qps = (handover["measured"] or {}).get("qps")
    return float(qps) if qps is not None else None


async def names(client: AsyncClient) -> list[str]:
    first, frame = await asyncio.gather(client.check_alive(), client.list_observations(metric=["qps"]).to_frame())
    print(first["version"], len(frame))
    return [database["name"] async for database in client.list_databases()]


def mistakes(client: Client, later: AsyncClient) -> None:
    """What a type checker has to find: strict mypy complains of an `ignore` that nothing needs."""
    client.open_session("db_1", objective={"metric": "qps", "goal": "most"})  # type: ignore[typeddict-item]
    client.open_session("db_1", max_trials=3)  # type: ignore[call-arg]
    client.get_database(name="shop")  # type: ignore[call-arg]
    client.get_database("db_1")["nmae"]  # type: ignore[misc]
    later.get_database("db_1")["name"]  # type: ignore[index]
    client.list_databases().sort()  # type: ignore[attr-defined]
