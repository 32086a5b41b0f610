"""Waiting for a recommendation to come so far, and for the one that follows it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from fastapi.concurrency import run_in_threadpool
from lutra_models.lifecycle import Until, has_come

from lutra_service.api.http.notifier import Notifier
from lutra_service.db.schema.records import Recommendation
from lutra_service.db.store import Store


async def wait_until(store: Store, notifier: Notifier, id_: str, until: Until, seconds: float) -> Recommendation | None:
    """The recommendation once it came so far; None if the time is over before."""

    def look() -> Recommendation | None:
        found = store.read(lambda unit: unit.recommendations.get(id_))
        return found if has_come(found.state, found.measured is not None, until) else None

    return await notifier.wait(id_, look, seconds, "recommendation")


async def wait_for_next(
    store: Store, notifier: Notifier, before: str, ask: Callable[[], Recommendation], seconds: float
) -> Recommendation | None:
    """The one that `ask` gives when `before` has ended, computed where the time allows it.

    None if `before` has not ended in time.
    """
    deadline = asyncio.get_running_loop().time() + seconds
    if await wait_until(store, notifier, before, "ended", seconds) is None:
        return None
    asked = await run_in_threadpool(ask)
    left = deadline - asyncio.get_running_loop().time()
    return await wait_until(store, notifier, asked.id, "computed", max(left, 0.0)) or asked
