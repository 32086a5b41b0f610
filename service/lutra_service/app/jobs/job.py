"""The input of a worker."""

from __future__ import annotations

from dataclasses import dataclass

from lutra_service.common.documents import Document


@dataclass(frozen=True)
class Job:
    id: str
    task: str
    payload: Document
