"""One optimiser in a process of its own, with the packages that it needs: asked and told in lines of JSON.

`PYTHON -m benchmarks.lab.race.peer`. The first line that it reads is the problem: `optimiser`, `seed`, `budget`,
`goal`, `knobs` and `default`; it answers with `version`. Then `{"tell": {…}, "value": 812.5}` has no answer, and
`{"ask": true}` is answered with `configuration`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lutra_models.knobs import Choice, Configuration, Knob, KnobSpace, Value
from lutra_models.metrics import Goal
from lutra_models.serial import knob_from_dict

from benchmarks.tuning.contenders import RANDOM, Contender
from benchmarks.tuning.peers import PEERS, version
from benchmarks.tuning.warm_tasks import OBJECTIVE

BUILT_IN = "built in"


@dataclass(frozen=True)
class Problem:
    """All that a peer reads of a tuning task. The default lies within the ranges, where the server's may not."""

    space: KnobSpace
    default: Configuration
    goal: Goal

    @property
    def sign(self) -> int:
        return 1 if self.goal == "maximize" else -1


PLAYERS: Mapping[str, Contender] = {c.name: c for c in (RANDOM, *PEERS)}


class Player:
    """A contender over a problem; what it asks for is made legal, and what it is told is a whole configuration."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        space = KnobSpace([knob_from_dict(k) for k in told["knobs"]])
        default = Configuration({k.name: inside(k, told["default"][k.name]) for k in space})
        self.contender = PLAYERS[told["optimiser"]]
        self._problem = Problem(space, default, told["goal"])
        self._optimiser = self.contender.make(self._problem, told["seed"], told["budget"])
        self._first = True

    @property
    def version(self) -> str:
        return version(self.contender.packages) if self.contender.packages else BUILT_IN

    def ask(self) -> Configuration:
        asked = self._problem.space.normalise(self._optimiser.ask())
        return Configuration({k.name: inside(k, asked[k.name]) for k in self._problem.space})

    def tell(self, configuration: Mapping[str, Value], value: float) -> None:
        """The first is the default's, for which it did not ask."""
        unasked, self._first = self._first, False
        if unasked and not self.contender.learns_default:
            return
        within = Configuration({k.name: inside(k, configuration[k.name]) for k in self._problem.space})
        self._optimiser.tell(within, {OBJECTIVE: value})


def inside(knob: Knob, value: Any) -> Value:
    """The nearest value of the range: a peer knows no values apart from it."""
    domain = knob.domain
    if isinstance(domain, Choice):
        return str(value) if str(value) in domain.options else domain.options[0]
    clipped = domain.clip(min(max(float(value), domain.low), domain.high))
    return int(clipped) if domain.integer else float(clipped)


def main() -> None:
    player: Player | None = None
    for line in sys.stdin:
        message = json.loads(line)
        if player is None:
            player = Player(message)
            answer: dict[str, Any] = {"version": player.version}
        elif "ask" in message:
            answer = {"configuration": dict(player.ask())}
        else:
            player.tell(message["tell"], message["value"])
            continue
        print(json.dumps(answer), file=sys.__stdout__, flush=True)


if __name__ == "__main__":
    sys.stdout = sys.stderr  # a package that prints does not speak for us
    main()
