"""Receivers of notices, and the messages for each of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Literal

from lutra_service.common.documents import Document
from lutra_service.db.schema.columns import Id, OfDatabase, Stored

ReceiverKind = Literal["webhook", "apprise"]
NoticeKind = Literal[
    "proposed",
    "applied",
    "confirmed",
    "reverted",
    "not_applied",
    "guard",
    "session_ended",
    "session_paused",
    "agent_silent",
    "agent_back",
    "drift",
    "gain_lost",
    "summary",
]
"""The kinds of notices."""
DeliveryKind = Literal[NoticeKind, "digest", "test"]
"""A digest sums up several notices; an operator asks for a test."""
DeliveryState = Literal["waiting", "delivered", "failed", "digested"]


@dataclass(frozen=True)
class Receiver:
    id: Id
    name: Annotated[str, Stored(200, is_unique=True)]
    kind: Annotated[ReceiverKind, Stored(20)]
    target: Annotated[str, Stored(2000)]
    created_at: datetime
    secret: Annotated[str, Stored(100)] | None = None
    kinds: list[str] = field(default_factory=list)
    databases: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    quiet_hours: Document | None = None
    enabled: bool = True
    disabled_because: Annotated[str, Stored(200)] | None = None
    retry_at: datetime | None = None
    owner: Annotated[str, Stored(40)] | None = None
    lease_until: datetime | None = None
    summary_at: datetime | None = None


@dataclass(frozen=True)
class Delivery:
    id: Id
    receiver_id: Annotated[str, Stored(of="receivers.id")]
    kind: Annotated[DeliveryKind, Stored(20)]
    database_id: OfDatabase | None
    at: datetime
    place: int
    text: Annotated[str, Stored(2000)]
    facts: Document
    state: Annotated[DeliveryState, Stored(20)] = "waiting"
    attempts: int = 0
    tried_at: datetime | None = None
    status: int | None = None
    error: Annotated[str, Stored(200)] | None = None
    ended_at: Annotated[datetime, Stored(is_indexed=True)] | None = None
    digest_id: Annotated[str, Stored(40)] | None = None
