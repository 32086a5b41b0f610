"""The next message of a receiver: a notice, or a digest of those that waited; and a message as a document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from lutra_service.app.notices.outbox import LONGEST_TEXT, plain
from lutra_service.app.notices.quiet_hours import QuietHours
from lutra_service.common.documents import Document
from lutra_service.db.schema.notices import Delivery, DeliveryKind, Receiver
from lutra_service.db.store import UnitOfWork

URGENT = ("test", "guard", "reverted")
"""The kinds that pass in quiet hours."""
TOGETHER = 20
"""More notices than these that wait for a receiver become one digest; and a receiver gets no more in a minute."""
MINUTE = timedelta(minutes=1)
FIRST = 5
"""The notices that a digest repeats."""
NAMED = 20
"""The databases that a digest names."""
LOOKED_AT = 10_000


def is_quiet(receiver: Receiver, now: datetime) -> bool:
    return receiver.quiet_hours is not None and QuietHours(**receiver.quiet_hours).hold(now)


def has_urgent(receiver: Receiver, kinds: Collection[DeliveryKind], now: datetime) -> bool:
    """Whether a notice of any of the kinds may be sent now."""
    return not is_quiet(receiver, now) or any(kind in URGENT for kind in kinds)


def next_message(unit: UnitOfWork, receiver: Receiver) -> Delivery | datetime | None:
    """The message to send now; the moment before which nothing is sent; or None if nothing waits.

    A notice that was tried before is repeated as it is, and before all others. A digest sums up
    too many new ones at once, and those that quiet hours held back.
    """
    waiting = unit.deliveries.waiting(receiver.id, LOOKED_AT)
    tests = [d for d in waiting if d.kind == "test"]
    if tests:
        return tests[0]
    quiet = is_quiet(receiver, unit.now)
    due = [d for d in waiting if d.kind in URGENT or not quiet]
    if not due:
        return None
    begun = next((d for d in due if d.attempts or d.kind == "digest"), None)
    if begun is not None:
        return begun
    sent = unit.deliveries.sent_since(receiver.id, unit.now - MINUTE)
    if len(sent) >= TOGETHER:
        return sent[-TOGETHER] + MINUTE
    held = [d for d in due if d.kind not in URGENT and is_quiet(receiver, d.at)]
    return _digest(unit, receiver, due) if len(due) > TOGETHER or len(held) > 1 else due[0]


def _digest(unit: UnitOfWork, receiver: Receiver, notices: Sequence[Delivery]) -> Delivery:
    """One message for all of them, in their place."""
    first = notices[0]
    made = Delivery(unit.new_id("msg"), receiver.id, "digest", None, first.at, first.place, *_summed_up(notices))
    unit.deliveries.add_all([made])
    unit.deliveries.end([d.id for d in notices], "digested", unit.now, digest_id=made.id)
    return made


def _summed_up(notices: Sequence[Delivery]) -> tuple[str, Document]:
    """The text and the facts of a digest."""
    kinds = Counter(d.kind for d in notices)
    databases = Counter(d.facts["database"]["name"] for d in notices if "database" in d.facts)
    named = dict(databases.most_common(NAMED))
    counts = ", ".join(f"{n} {kind}" for kind, n in kinds.most_common())
    where = ", ".join(f"{name} {n}" for name, n in databases.most_common(FIRST))
    first = [d.text for d in notices[:FIRST]]
    words = f"{len(notices)} notices: {counts}" + (f"; by database: {where}" if where else "")
    facts = {
        "count": len(notices),
        "kinds": dict(kinds),
        "databases": named,
        "other_databases": len(databases) - len(named),
        "first": first,
        "since": min(d.at for d in notices).isoformat(),
    }
    return plain(f"{words}. The first: {' | '.join(first)}", LONGEST_TEXT), facts


def document(message: Delivery) -> Document:
    """A message as a webhook's body, by the Standard Webhooks scheme."""
    return {"type": message.kind, "timestamp": message.at.isoformat(), "data": {"text": message.text, **message.facts}}
