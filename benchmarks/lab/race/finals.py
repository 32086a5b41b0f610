"""The finalists in turns: which measurements are left, as a pure function of those that are there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lutra_models.digest import fingerprint
from lutra_models.knobs import Configuration

from benchmarks.lab.race.loads import Contest
from benchmarks.lab.session import Row

STARTS = ("default", "rule_based")


@dataclass(frozen=True)
class Turn:
    """One measurement of a finalist; `at` says how the number of clients compares with that of the trials."""

    at: str
    clients: int
    round: int
    entrant: str

    @property
    def step(self) -> str:
        return f"{self.entrant}, {self.clients} clients, round {self.round}"


def field(finalists: Mapping[str, Configuration]) -> str:
    """A digest of who takes part with what: readings of another field were not taken in these turns."""
    return fingerprint({name: c.digest for name, c in sorted(finalists.items())})


def turns(contest: Contest, entrants: Sequence[str], rounds: int) -> Iterator[Turn]:
    """Every other round goes backwards, so that a slow drift favours nobody."""
    for at, clients in contest.at().items():
        for number in range(1, rounds + 1):
            for entrant in entrants if number % 2 else entrants[::-1]:
                yield Turn(at, clients, number, entrant)


def remaining(contest: Contest, entrants: Sequence[str], rounds: int, rows: Sequence[Row], now: str) -> list[Turn]:
    """`now` is the field."""
    done = {row["step"] for row in rows if row.get("field") == now}
    return [turn for turn in turns(contest, entrants, rounds) if turn.step not in done]
