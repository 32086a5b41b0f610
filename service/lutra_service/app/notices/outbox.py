"""Notices: written for each receiver that wants them, in the transaction of the event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lutra_models.errors import printable

from lutra_service.common.documents import Document
from lutra_service.db.schema.notices import Delivery, NoticeKind, Receiver
from lutra_service.db.schema.records import Database
from lutra_service.db.store import UnitOfWork

LONGEST_TEXT = 2000
LONGEST_FACT = 1000
MOST_FACTS = 100


def notify(
    unit: UnitOfWork, kind: NoticeKind, database_id: str | None, text: str, facts: Mapping[str, Any] | None = None
) -> None:
    """Notify the receivers of this kind with `text`, a sentence, and `facts`, for programs: text from outside is safe.

    The messages are sent after the commit, by another thread, each to its receiver. Without a database the notice
    reaches only receivers that are not limited to some databases or labels.
    """
    database = None if database_id is None else unit.databases.get(database_id)
    wanted = [r for r in unit.receivers.enabled() if wants(r, kind, database)]
    if wanted:
        _add(unit, [r.id for r in wanted], kind, database_id, **_shown(database, text, facts or {}))


def notify_in_lines(unit: UnitOfWork, receiver_ids: Sequence[str], kind: NoticeKind, text: str) -> None:
    """Notify these receivers of what concerns no single database. `text` keeps its line breaks; each line is safe."""
    lines = [plain(line, LONGEST_TEXT) for line in text.split("\n")]
    _add(unit, receiver_ids, kind, None, "\n".join(lines)[:LONGEST_TEXT], {})


def _add(
    unit: UnitOfWork, receiver_ids: Sequence[str], kind: NoticeKind, database_id: str | None, text: str, facts: Document
) -> None:
    place = unit.deliveries.made
    unit.deliveries.add_all(
        [
            Delivery(unit.new_id("msg"), id_, kind, database_id, unit.now, place + n, text, facts)
            for n, id_ in enumerate(receiver_ids)
        ]
    )


def wants(receiver: Receiver, kind: NoticeKind, database: Database | None) -> bool:
    """Whether a notice of this kind about the database is for the receiver."""
    if receiver.kinds and kind not in receiver.kinds:
        return False
    if not receiver.databases and not receiver.labels:
        return True
    return database is not None and (database.id in receiver.databases or database.label in receiver.labels)


def _shown(database: Database | None, text: str, facts: Mapping[str, Any]) -> Document:
    named = {} if database is None else {"database": _of(database)}
    whole = text if database is None else f"{database.name}: {text}"
    return {"text": plain(whole, LONGEST_TEXT), "facts": {**named, **_plain(facts)}}


def _of(database: Database) -> Document:
    label = database.label and plain(database.label, LONGEST_FACT)
    return {"id": database.id, "name": plain(database.name, LONGEST_FACT), "label": label}


def plain(text: str, longest: int) -> str:
    """Text from outside as one line that no program takes for a command, of at most so many characters."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return plain(value, LONGEST_FACT)
    if isinstance(value, Mapping):
        return {plain(str(name), LONGEST_FACT): _plain(part) for name, part in [*value.items()][:MOST_FACTS]}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value[:MOST_FACTS]]
    return value
