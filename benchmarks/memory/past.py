"""What the fleet's workloads left in the memory: fitted once, and kept in the user's cache."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import lutra_models.gp
import numpy as np
from lutra_models.gp import Snapshot, fit
from lutra_models.gp.transfer.workload import Workload

from benchmarks.memory.fleet import Variation
from benchmarks.tuning.named import kept
from benchmarks.tuning.warm_tasks import OBJECTIVE

_FITTING = ("options", "space", "surrogate", "fitted", "transfer", "learning")


def _digest() -> str:
    rooms = [Path(lutra_models.gp.__file__).parent / room for room in _FITTING]
    here = [Path(__file__).parent / "fleet.py"]
    return hashlib.sha256(b"".join(p.read_bytes() for r in rooms for p in sorted(r.rglob("*.py")) + here)).hexdigest()


CODE = _digest()[:12]
"""Tells one version of what fits a past workload from another."""


@dataclass(frozen=True, eq=False)
class Remembered:
    """A past workload as the memory has it. `taught` is None where it taught nothing."""

    variation: Variation
    taught: tuple[Snapshot, Workload] | None


def remembered(variations: Sequence[Variation]) -> list[Remembered]:
    return [Remembered(v, _taught(kept(f"memory-{CODE}-{v.name}", partial(_fitted, v)))) for v in variations]


def _fitted(variation: Variation) -> dict[str, Any] | None:
    model = fit(variation.history(), rng=np.random.default_rng(0))
    return model.snapshot.to_dict() if model.predicts else None


def _taught(document: dict[str, Any] | None) -> tuple[Snapshot, Workload] | None:
    if document is None:
        return None
    snapshot = Snapshot.from_dict(document)
    return snapshot, Workload.of(snapshot, OBJECTIVE)
