"""Bounds of a server in addition to its memory: shared memory, open files, processes and writes, as its host reports
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lutra_models.catalog.reported import ReportedSettings
from lutra_models.catalog.rows import LimitRow
from lutra_models.catalog.values import Overlay
from lutra_models.knobs import Configuration, Refusal, Value

CODE = "limit_exceeded"


@dataclass(frozen=True)
class Limited:
    """One limit of a server: what it `has`, what its settings may need of it at once, and the row that says so."""

    row: LimitRow
    has: int
    needs: float

    @property
    def exceeded(self) -> bool:
        return self.needs > self.has

    @property
    def told(self) -> str:
        return f"{self.row.name}: {self.row.amount(self.has)}; {self.row.what} may need {self.row.amount(self.needs)}"


@dataclass(frozen=True)
class LimitRule:
    """`rule(configuration)`: the first limit that it exceeds by more than a configuration did that ran.

    `limits` are the rows with what the server has of each and the most that such a configuration needs.
    """

    limits: tuple[tuple[LimitRow, int, float], ...]
    overlay: Overlay

    def __call__(self, candidate: Configuration) -> Refusal | None:
        scope = self.overlay.scope(candidate)
        for row, has, ran in self.limits:
            needs = row.needs.number(scope)
            if needs > max(has, ran):
                return Refusal(CODE, f"{Limited(row, has, needs).told} ({row.needs}): {row.remedy}")
        return None

    def allows(self, candidate: Mapping[str, Value]) -> bool:
        scope = self.overlay.scope(candidate)
        return all(row.needs.number(scope) <= max(has, ran) for row, has, ran in self.limits)

    @property
    def names(self) -> frozenset[str]:
        """The settings on which the limits depend."""
        return frozenset(self.overlay.factors)


def limit_rule(reported: ReportedSettings, known: Iterable[Mapping[str, Value]] = ()) -> LimitRule:
    """`known` are further configurations that the server ran under, in addition to the current one."""
    limits = _told(reported)
    overlay = reported.overlay.only(frozenset(n for row, _ in limits for n in row.needs.names))
    scopes = [overlay.scope({}), *(overlay.scope(c) for c in known)]
    return LimitRule(tuple((row, has, max(row.needs.number(s) for s in scopes)) for row, has in limits), overlay)


def limited(reported: ReportedSettings, configuration: Mapping[str, Value]) -> tuple[Limited, ...]:
    """Every limit that the host reports, with `configuration` merged into the current settings."""
    scope = reported.overlay.scope(configuration)
    return tuple(Limited(row, has, row.needs.number(scope)) for row, has in _told(reported))


def _told(reported: ReportedSettings) -> list[tuple[LimitRow, int]]:
    host = reported.server.host
    rows = [(row, getattr(host, row.fact)) for c in reported.catalogs for row in c.limits]
    return [(row, has) for row, has in rows if has is not None]
