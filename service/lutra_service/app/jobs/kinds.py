"""The common interface of both kinds of computations: each is a module of such functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from lutra_models.errors import LutraError

from lutra_service.common.documents import Document
from lutra_service.db.store import UnitOfWork


@dataclass(frozen=True)
class Job:
    id: str
    task: str
    payload: Document


class JobKind(Protocol):
    """Computations that wait, by their ids."""

    def job(self, unit: UnitOfWork, id_: str) -> Job:
        """The input of a worker."""

    def checked(self, result: Document, request: Mapping[str, Any]) -> Document:
        """Raises InvalidAnswer if `result` does not answer `request`."""

    def complete(self, unit: UnitOfWork, id_: str, result: Mapping[str, Any]) -> None: ...
    def give_up(self, unit: UnitOfWork, id_: str, error: LutraError) -> None: ...
    def release(self, unit: UnitOfWork, id_: str) -> None: ...
    def renew(self, unit: UnitOfWork, held: Sequence[str], lease_s: float) -> None: ...
    def withdrawn(self, unit: UnitOfWork, held: Sequence[str]) -> set[str]: ...
