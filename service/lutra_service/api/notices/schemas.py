"""Receivers of notices and the log of their deliveries, as requests and answers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from lutra_service.api.http.body import Answer, Body, Label
from lutra_service.db.schema.notices import DeliveryKind, DeliveryState, NoticeKind, ReceiverKind

Time = Annotated[str, StringConstraints(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]
Zone = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_+/-]{1,64}$")]
DatabaseId = Annotated[str, StringConstraints(pattern=r"^db_[0-9a-z]{1,37}$")]


class QuietHoursBody(Body):
    """The hours of each day in which only urgent notices are sent; the others follow as one digest."""

    start: Time
    """When they begin, such as 22:00."""
    end: Time
    """When they end; an earlier time than `start` is on the next day."""
    zone: Zone = "UTC"
    """The time zone of both, such as Europe/Berlin."""


class Wishes(Body):
    """The notices for a receiver, and its quiet hours."""

    kinds: list[NoticeKind] = Field(default_factory=list, max_length=50)
    """The kinds of its notices; empty for all."""
    databases: list[DatabaseId] = Field(default_factory=list, max_length=200)
    """Only notices about these databases, or about those of `labels`; empty for no such limit."""
    labels: list[Label] = Field(default_factory=list, max_length=200)
    """Only notices about databases with one of these labels, or about `databases`; empty for no such limit."""
    quiet_hours: QuietHoursBody | None = None
    """The hours in which only urgent notices are sent; null for none."""


class NewReceiver(Wishes):
    """A receiver to create."""

    name: Label
    """A name for people."""
    kind: ReceiverKind
    """`webhook`: a signed HTTP request. `apprise`: a chat, e-mail or another service by an Apprise URL."""
    target: str = Field(min_length=1, max_length=2000)
    """The URL. It may hold a secret, so that no answer returns it."""


class ReceiverPatch(Wishes):
    """Changes of a receiver. A field that is left out stays as it is."""

    name: Label | None = None
    """A name for people; null leaves it as it is."""
    enabled: bool | None = None
    """Whether it gets notices; null leaves that as it is. Messages that wait for a disabled receiver are dropped."""


class QuietHoursAnswer(Answer):
    """The hours of each day in which only urgent notices are sent."""

    start: str
    """When they begin."""
    end: str
    """When they end; an earlier time than `start` is on the next day."""
    zone: str
    """The time zone of both."""


class ReceiverAnswer(Answer):
    """A receiver, without its secrets."""

    id: str
    """The id."""
    name: str
    """The name for people."""
    kind: ReceiverKind
    """The channel."""
    address: str
    """The beginning of its URL; the rest may hold a secret."""
    kinds: list[str]
    """The kinds of its notices; empty for all."""
    databases: list[str]
    """Only notices about these databases, or about those of `labels`; empty for no such limit."""
    labels: list[str]
    """Only notices about databases with one of these labels, or about `databases`; empty for no such limit."""
    quiet_hours: QuietHoursAnswer | None
    """The hours in which only urgent notices are sent; null for none."""
    enabled: bool
    """Whether it gets notices."""
    disabled_because: str | None
    """Why the service disabled it; null if it did not."""
    retry_at: datetime | None
    """When the next attempt is made after a failed one; null if none failed."""
    created_at: datetime
    """When it was created."""


class NewReceiverAnswer(ReceiverAnswer):
    """A receiver and its signing secret."""

    secret: str | None
    """The secret that signs a webhook, shown once; null for Apprise, or if the request is repeated with the same
    Idempotency-Key.
    """


class DeliveryAnswer(Answer):
    """A message for a receiver, with its outcome. Of the receiver's answer only the status is kept."""

    id: str
    """The id: the `webhook-id` of every attempt."""
    receiver: str
    """The receiver's id."""
    kind: DeliveryKind
    """The kind of notice; or `digest`, which sums up several, or `test`."""
    database: str | None
    """The database concerned; null if there is none."""
    text: str
    """The message."""
    facts: dict[str, Any]
    """The same for programs."""
    state: DeliveryState
    """`digested`: the message `digest` contains it."""
    digest: str | None
    """The digest that contains it; null if there is none."""
    at: datetime
    """The time of the event."""
    attempts: int
    """The number of attempts."""
    tried_at: datetime | None
    """When the first attempt was made; null before."""
    status: int | None
    """The HTTP status of the latest attempt; null if there was no answer."""
    error: str | None
    """Why the latest attempt failed; null if it did not."""
    ended_at: datetime | None
    """When it was delivered, summed up in a digest, or given up; null while it waits."""
