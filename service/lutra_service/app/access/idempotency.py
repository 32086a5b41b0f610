"""Idempotency-Key: the same request with the same key is executed once and gets the same answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lutra_service.app.access.tokens import Principal
from lutra_service.app.errors import InvalidRequest, KeyReused
from lutra_service.common.documents import Document
from lutra_service.db.schema.records import Answer
from lutra_service.db.store import UnitOfWork

MAX_KEY = 200


@dataclass(frozen=True)
class Idempotency:
    """The key of a request, if any, and a digest of its content."""

    principal: Principal
    key: str | None
    request_hash: str

    def __call__(
        self, unit: UnitOfWork, status: int, create: Callable[[], Document], secrets: tuple[str, ...] = ()
    ) -> tuple[int, Document]:
        """What `create` answers, or what it answered the first time. Fields named in `secrets` are not kept."""
        if self.key is None:
            return status, create()
        if not 0 < len(self.key) <= MAX_KEY:
            raise InvalidRequest(f"an Idempotency-Key has 1 to {MAX_KEY} characters, got {len(self.key)}")
        given = unit.answers.given(self.principal.token_id, self.key)
        if given is not None:
            if given.request_hash != self.request_hash:
                raise KeyReused(f"Idempotency-Key {self.key!r} was used with a different request before")
            return given.status, given.response
        # The key is taken before anything is created: the same request at the same moment waits here, then sees it.
        unit.answers.add(Answer(self.principal.token_id, self.key, self.request_hash, status, {}, unit.now))
        answer = create()
        kept: dict[str, Any] = {k: None if k in secrets else v for k, v in answer.items()}
        unit.answers.complete(self.principal.token_id, self.key, kept)
        return status, answer
