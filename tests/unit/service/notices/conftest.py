"""A store whose clock a test moves, with receivers, and a courier whose channel is the test's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from lutra_service.app.databases import registration
from lutra_service.app.notices import receivers
from lutra_service.app.notices.channels import Answer
from lutra_service.app.notices.courier import Courier
from lutra_service.app.notices.outbox import notify
from lutra_service.app.tuning.consequences.follow import follow
from lutra_service.db.schema.notices import Delivery, Receiver
from lutra_service.db.store import Store, UnitOfWork

from tests.support.service.application import engine_of

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
LEASE_S = 60.0
FINE, DOWN, SERVER_ERROR = Answer(204), Answer(error="no connection"), Answer(500, "the receiver answered 500")


@dataclass
class World:
    """`heard` are the messages that arrived, in order; `answers` what receivers say, by name, else that all is fine."""

    url: str
    now: datetime = NOON
    heard: list[tuple[str, Delivery]] = field(default_factory=list)
    answers: dict[str, Answer] = field(default_factory=dict)
    tries: int = 0

    def __post_init__(self) -> None:
        self.store = Store(engine_of(self.url), clock=lambda: self.now, follow=follow)
        self.courier = self.another_courier()
        self.database = self.registered("shop")

    def registered(self, name: str, label: str | None = None) -> str:
        return self.store.write(lambda u: registration.register(u, name, "postgresql", {}, label)).id

    def receiver(self, name: str = "on call", **wishes: Any) -> str:
        target = "https://hooks.example.com/x"
        return self.store.write(lambda u: receivers.create(u, name, "webhook", target, **wishes)).id

    def notify(self, text: str = "it happened", kind: Any = "applied", times: int = 1, **facts: Any) -> None:
        database = facts.pop("database", self.database)

        def told(unit: UnitOfWork) -> None:
            for n in range(times):
                notify(unit, kind, database, text.format(n=n), facts)

        self.store.write(told)
        self.now += timedelta(milliseconds=1)

    def another_courier(self) -> Courier:
        """That of another process, or of this one after it was started again."""
        return Courier(self.store, LEASE_S, self.send, Random(7))

    def send(self, receiver: Receiver, message: Delivery, _: datetime) -> Answer:
        self.tries += 1
        answer = self.answers.get(receiver.name, FINE)
        if answer.is_delivered:
            self.heard.append((receiver.name, message))
        return answer

    def deliver(self, courier: Courier | None = None) -> None:
        """Until nothing is due now."""
        courier = courier or self.courier
        while sum([courier.serve(id_) for id_ in courier.ready()]):
            continue

    def pass_time(self, step: timedelta = timedelta(minutes=1), **span: float) -> None:
        """In steps, delivering at each."""
        end = self.now + timedelta(**span)
        while self.now < end:
            self.now = min(end, self.now + step)
            self.deliver()

    @property
    def texts(self) -> list[str]:
        return [message.text for _, message in self.heard]

    def log(self, receiver: str) -> list[Delivery]:
        """The oldest first."""
        return self.store.read(lambda u: u.deliveries.listed(receiver, 5000, None))[::-1]


@pytest.fixture
def world(url: str) -> Iterator[World]:
    made = World(url)
    yield made
    made.store.close()
