"""The findings of the conformance suite about a version with parts from a package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from lutra_service.common.documents import Document
from lutra_service.db.schema.records import ModelVersion
from lutra_service.db.store import UnitOfWork


@dataclass(frozen=True)
class Suite:
    """`not_needed`: all parts are Lutra's own, whose tests run it."""

    state: Literal["passed", "failed", "not_run", "not_needed"]
    faults: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return self.state in ("passed", "not_needed")

    @property
    def sentence(self) -> str:
        if self.state == "failed":
            return f"failed the conformance suite: {'; '.join(self.faults)}"
        told = {
            "passed": "passed the conformance suite",
            "not_run": "was not scored: `lutra models score` runs the conformance suite",
        }
        return told.get(self.state, "has no parts of other packages")


def suite_of(unit: UnitOfWork, version: ModelVersion) -> Suite:
    """The result of the newest score that ran it. A score that failed before its end counts as a failed suite."""
    if not version.packages:
        return Suite("not_needed")
    last = unit.model_jobs.newest(version.id)
    if last is not None and last.state == "failed":
        found = faults(last.results[0]["conformance"]) if last.results else ()
        return Suite("failed", found or (f"the last score failed; repeat it with `lutra models score`: {last.error}",))
    told = None if version.scorecard is None else version.scorecard.get("conformance")
    if told is None:
        return Suite("not_run")
    found = faults(told)
    return Suite("failed", found) if found else Suite("passed")


def faults(parts: Sequence[Document]) -> tuple[str, ...]:
    """The violations of the suite by parts; empty if they pass."""
    return tuple(f"{part['name']}: {line}" for part in parts for line in part["faults"])
