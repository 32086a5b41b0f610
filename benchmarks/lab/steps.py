"""What a study still has to measure: pure functions of what it has measured.

Trials come first; then the default, the starts and what Lutra hands over are measured again alternately.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.lab.studies import FEW, MANY

ENTRANTS = ("default", "two_knobs", "rule_based", "lutra_10", "lutra_20")
AFTER = {"lutra_10": 10, "lutra_20": 20}
"""How many trials an entrant has seen."""


@dataclass(frozen=True)
class Plan:
    trials: int = 20
    rounds: int = 3

    def entrants(self) -> tuple[str, ...]:
        return tuple(e for e in ENTRANTS if AFTER.get(e, 0) <= self.trials)

    def steps(self) -> Iterator[Step]:
        for number in range(1, self.trials + 1):
            yield Step("trial", number)
        for number in range(1, self.rounds + 1):
            yield from self._round(number, FEW)
        yield from self._round(1, MANY)

    def _round(self, number: int, threads: int) -> Iterator[Step]:
        """Every other round goes backwards, so that a slow drift favours nobody."""
        entrants = self.entrants()
        for entrant in entrants if number % 2 else entrants[::-1]:
            yield Step("final", number, threads, entrant)


@dataclass(frozen=True)
class Step:
    kind: str
    number: int
    threads: int = FEW
    entrant: str = ""

    @property
    def name(self) -> str:
        if self.kind == "trial":
            return f"trial {self.number}"
        return f"{self.entrant}, {self.threads} threads, round {self.number}"


def remaining(plan: Plan, rows: Sequence[Mapping[str, object]]) -> list[Step]:
    done = {row.get("step") for row in rows}
    return [step for step in plan.steps() if step.name not in done]
