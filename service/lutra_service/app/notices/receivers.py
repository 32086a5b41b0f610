"""Receivers of notices. Their secrets are shown once, or never."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Collection
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from lutra_service.app.access import audit
from lutra_service.app.errors import Conflict, InvalidRequest
from lutra_service.app.notices import by_apprise
from lutra_service.app.notices.outbox import plain
from lutra_service.app.notices.quiet_hours import QuietHours
from lutra_service.common.documents import Document
from lutra_service.db.schema.notices import Delivery, Receiver, ReceiverKind
from lutra_service.db.store import UnitOfWork

MOST = 50
"""The most receivers: each gets a row for each notice."""


def create(unit: UnitOfWork, name: str, kind: ReceiverKind, target: str, **wishes: Any) -> Receiver:
    """A new receiver. A webhook's `secret` is shown in the answer to this call alone.

    Raises InvalidRequest for a target that cannot be used, and Conflict for a name that is taken.
    """
    if unit.receivers.count() >= MOST:
        raise Conflict(f"there are already {MOST} receivers, the maximum: delete one with `lutra receivers remove`")
    _verify_name(unit, name)
    (_verify_webhook if kind == "webhook" else by_apprise.verify)(target)
    secret = f"whsec_{base64.b64encode(secrets.token_bytes(32)).decode()}" if kind == "webhook" else None
    made = Receiver(unit.new_id("rcv"), name, kind, target, unit.now, secret, **_verified(unit, wishes))
    audit.record(unit, "receiver.create", made.id, None, shown(made), database_id=None)
    return unit.receivers.add(made)


def change(unit: UnitOfWork, id_: str, **wishes: Any) -> Receiver:
    """Change some of its fields. A disabled receiver gets no notices, and its waiting messages are dropped."""
    before = unit.receivers.get(id_)
    if wishes.get("name", before.name) != before.name:
        _verify_name(unit, wishes["name"])
    after = replace(before, **_verified(unit, wishes))
    if after.enabled and not before.enabled:
        after = replace(after, disabled_because=None, retry_at=None)
    names = (*wishes, "disabled_because", "retry_at")
    unit.receivers.change(id_, **{name: getattr(after, name) for name in names})
    if before.enabled and not after.enabled:
        unit.deliveries.end_all(id_, unit.now, "the receiver was disabled by an operator")
    audit.record(unit, "receiver.change", id_, shown(before), shown(after), database_id=None)
    return after


def delete(unit: UnitOfWork, id_: str) -> Receiver:
    """The deleted receiver; its log and its waiting messages are deleted as well."""
    gone = unit.receivers.get(id_)
    unit.deliveries.remove_all(id_)
    unit.receivers.remove(id_)
    audit.record(unit, "receiver.delete", id_, shown(gone), None, database_id=None)
    return gone


def test(unit: UnitOfWork, id_: str) -> Delivery:
    """A test message, which is sent once, before all waiting messages."""
    receiver = unit.receivers.get(id_)
    if not receiver.enabled:
        raise Conflict(f"{id_} is disabled: enable it with `lutra receivers enable`, then test it")
    place = unit.deliveries.made
    text = f"A test of the receiver {plain(receiver.name, 200)}. Nothing happened."
    made = Delivery(unit.new_id("msg"), id_, "test", None, unit.now, place, text, {})
    unit.deliveries.add_all([made])
    unit.receivers.change(id_, retry_at=None)
    audit.record(unit, "receiver.test", id_, None, {"delivery": made.id}, database_id=None)
    return made


def address(receiver: Receiver) -> str:
    """Its target without what may be a secret: a webhook's host, or the name of Apprise's service."""
    url = urlsplit(receiver.target)
    host = url.netloc if receiver.kind == "webhook" else ""
    return f"{url.scheme}://{host}/…" if host else f"{url.scheme}://…"


def shown(receiver: Receiver) -> Document:
    """Its state in the audit trail."""
    return {
        "name": receiver.name,
        "kind": receiver.kind,
        "address": address(receiver),
        "kinds": receiver.kinds,
        "databases": receiver.databases,
        "labels": receiver.labels,
        "quiet_hours": receiver.quiet_hours,
        "enabled": receiver.enabled,
    }


def _verify_name(unit: UnitOfWork, name: str) -> None:
    if unit.receivers.named(name) is not None:
        raise Conflict(f"another receiver already has the name {name!r}")


def _verify_webhook(target: str) -> None:
    """Raises InvalidRequest. The message leaves the URL out, which may hold a secret."""
    try:
        url = urlsplit(target)
        usable = url.scheme in ("http", "https") and url.hostname and url.port != 0 and target.isascii()
    except ValueError:
        usable = False
    if not usable or not target.isprintable() or " " in target:
        raise InvalidRequest("target: a webhook has an http:// or https:// URL")
    if url.username is not None or url.fragment:
        raise InvalidRequest("target: remove the user and the fragment from the URL: a webhook is signed instead")


def _verified(unit: UnitOfWork, wishes: Document) -> Document:
    """With quiet hours that are a document, and databases that exist."""
    _verify_databases(unit, wishes.get("databases", ()))
    hours = wishes.get("quiet_hours")
    if hours is not None:
        try:
            QuietHours(**hours)
        except ValueError as error:
            raise InvalidRequest(f"quiet_hours: {error}") from error
    return wishes


def _verify_databases(unit: UnitOfWork, ids: Collection[str]) -> None:
    for id_ in ids:
        unit.databases.get(id_)
