"""A change that is not confirmed yet, or has not been for long: on disk, so that it outlives the agent."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lutra_agent.state.store import State

PROVISIONAL = "provisional"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Provisional:
    """`snapshot` is what to go back to, with a restart where the change needed one.

    `windows` were measured under it without a violation. From its confirmation on, guardrails watch it until
    `watched_until`.
    """

    directive: str
    names: tuple[str, ...]
    snapshot: Mapping[str, Any]
    restarted: bool
    applied_at: datetime
    confirm_by: datetime
    windows: int = 0
    watched_until: datetime | None = None

    @property
    def confirmed(self) -> bool:
        return self.watched_until is not None

    def keep(self, state: State) -> None:
        times = {n: (moment := getattr(self, n)) and moment.isoformat() for n in TIMES}
        state.save(PROVISIONAL, {**vars(self), "names": list(self.names), **times})


TIMES = ("applied_at", "confirm_by", "watched_until")


def find(state: State) -> Provisional | None:
    content = state.load(PROVISIONAL)
    if content is None:
        return None
    try:
        times = {n: content[n] and datetime.fromisoformat(content[n]) for n in TIMES}
        return Provisional(**{**content, "names": tuple(map(str, content["names"])), **times})
    except (KeyError, TypeError, ValueError) as error:
        log.error("the change that was provisional is unreadable: %r", error)
        return None


def unconfirmed(state: State) -> Provisional | None:
    found = find(state)
    return None if found is None or found.confirmed else found


def forget(state: State) -> None:
    state.forget(PROVISIONAL)
