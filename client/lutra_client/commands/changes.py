"""The history of a database's settings: changes applied, confirmed, undone and refused, with the person and the reason;
gains that were judged again; and guards that fired.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from lutra_models.errors import printable

from lutra_client.commands.shown import WIDTH, span_of
from lutra_client.commands.terminal import table

if TYPE_CHECKING:
    from lutra_client.client import Client
    from lutra_client.schemas import EventAnswer, RecommendationAnswer

What = Literal["applied", "confirmed", "undone", "refused", "guard fired", "gain held", "gain lost", "gain unknown"]
LASTING: dict[str, What] = {"holds": "gain held", "decayed": "gain lost", "unknown": "gain unknown"}
"""By the state of a gain that was judged again."""
AGENT = "its agent"
SERVICE = "the service"
HEADER = ("WHEN (UTC)", "DATABASE", "WHAT", "CHANGE", "BY", "WHY")


@dataclass(frozen=True)
class Happening:
    """`changes` has the values before and after, by setting; `by` decided it, undid it, or fired."""

    at: datetime
    database: str
    what: What
    by: str
    why: str = ""
    changes: dict[str, tuple[str, str]] = field(default_factory=dict)
    recommendation: str | None = None

    @property
    def change(self) -> str:
        """As in "work_mem 4MB → 24MB"."""
        return ", ".join(f"{name} {before} → {after}" for name, (before, after) in self.changes.items())

    @property
    def document(self) -> dict[str, object]:
        return {**asdict(self), "at": self.at.isoformat()}


def happenings(client: Client, database: str, name: str, since: datetime) -> list[Happening]:
    """The events after `since`, the newest first."""
    found = [
        happening
        for made in client.recommendations.list(database, since=since)
        for happening in _of_recommendation(made, name)
    ]
    found += [
        _of_event(e, name) for e in client.protection.list_events(database, since=since) if e["recommendation"] is None
    ]
    return sorted((h for h in found if h.at > since), key=lambda h: h.at, reverse=True)


def lines(found: Sequence[Happening]) -> Iterator[str]:
    """A table; why in the words of who did it, as far as a line takes them."""
    return table(HEADER, map(_row, found))


def _row(found: Happening) -> tuple[str, ...]:
    when, why = f"{found.at.astimezone(UTC):%Y-%m-%d %H:%M:%S}", textwrap.shorten(found.why, WIDTH, placeholder=" …")
    return when, found.database, found.what, found.change, found.by, why


def sentence(found: Happening, now: datetime) -> str:
    """As in "03:15 guard p99 undid work_mem 24MB → 4MB: …"; with its date if that is not today in UTC."""
    at, today = found.at.astimezone(UTC), now.astimezone(UTC).date()
    when = f"{at:%H:%M}" if at.date() == today else f"{at:%m-%d %H:%M}"
    did = {
        "applied": f"applied {found.change}, decided by {found.by}",
        "confirmed": f"confirmed {found.change}",
        "undone": f"{found.by} undid {found.change}",
        "refused": f"{found.by} refused {found.change}",
        "guard fired": f"{found.by} fired, and there was no change to undo",
        **{what: f"{what} of {found.change}" for what in LASTING.values()},
    }[found.what]
    return printable(f"{when} {did}" + (f": {found.why}" if found.why else ""))


def _of_recommendation(made: RecommendationAnswer, database: str) -> Iterator[Happening]:
    """Nothing of one that changed nothing, and of a rollback that was carried out: what it undid tells of that."""
    changes = made["changes"] or []
    carried_out = made["kind"] == "rollback" and made["state"] == "confirmed"
    there = {c["setting"]: (c["before_text"], c["after_text"]) for c in changes}
    if made["state"] == "refused" and made["ended_at"] is not None:
        yield Happening(made["ended_at"], database, "refused", AGENT, made["error"] or "", there, made["id"])
    if made["applied_at"] is None or not changes or carried_out:
        return
    back = {name: (after, before) for name, (before, after) in there.items()}
    yield Happening(made["applied_at"], database, "applied", made["decided_by_name"] or "-", "", there, made["id"])
    if made["confirmed_at"] is not None:
        yield Happening(made["confirmed_at"], database, "confirmed", AGENT, "", there, made["id"])
    yield from _judged_again(made, database, there)
    if made["state"] == "reverted" and made["ended_at"] is not None:
        why = made["reason"] or made["error"] or ""
        by = made["undone_by"] or AGENT
        yield Happening(made["ended_at"], database, "undone", by, why, back, made["id"])


def _judged_again(made: RecommendationAnswer, database: str, there: dict[str, tuple[str, str]]) -> Iterator[Happening]:
    judgement = made["judgement"]
    if judgement is None:
        return
    for look in judgement.get("lasting", ()):
        why = f"after {span_of(look['hours'])}: {look['sentence']}; at first {judgement['sentence']}"
        yield Happening(look["at"], database, LASTING[look["state"]], SERVICE, why, there, made["id"])


def _of_event(event: EventAnswer, database: str) -> Happening:
    return Happening(event["at"], database, "guard fired", f"guard {event['guard']}", event["message"])
