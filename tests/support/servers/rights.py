"""An account with just the rights that an agent needs, which can be taken from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from lutra_lab.servers.base import ScratchServer

from tests.support.servers.families import TUNER, known


@dataclass(frozen=True)
class Rights:
    """Those to change `settings`."""

    server: ScratchServer
    user: str = TUNER

    @property
    def settings(self) -> tuple[str, ...]:
        return known(self.server.engine).tuned

    def revoke(self) -> None:
        self.run(known(self.server.engine).revoked)

    def run(self, statements: Sequence[str]) -> None:
        for statement in statements:
            self.server.sql(statement)


@contextmanager
def account(server: ScratchServer) -> Iterator[Rights]:
    rights, family = Rights(server), known(server.engine)
    rights.run(family.given)
    try:
        yield rights
    finally:
        rights.run(family.dropped)
