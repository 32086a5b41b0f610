"""The first lines of a session's answer on servers made wrong: as many answers as there are faults."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from lutra_models.assessment import assess
from lutra_models.catalog import LiveSettings
from lutra_models.gp import recommend
from lutra_models.history import History
from lutra_models.metrics import P99, Objective
from lutra_models.server import Policy
from lutra_models.symptoms import Diagnosis

FIRST = 3
_NUMBER = re.compile(r"\d[\d.,]*")
_SPACE = re.compile(r"\s+")


def answer(live: LiveSettings, policy: Policy, found: Diagnosis) -> list[str]:
    """What a session's first answer says, by what one look has found: findings, then the verdict, then each change."""
    evidence = assess(live, policy, found)
    asked = {m.setting for f in evidence.findings for m in f.moves if m.after is not None}
    space = live.space(policy)
    wider = live.space(replace(policy, movable=frozenset({*space.names, *(asked & live.values.keys())})))
    history = History(wider, Objective(P99.name, "minimize"), current=live.values, evidence=evidence)
    made = recommend(history, rng=np.random.default_rng(0), safe=True, exploration=0)
    told = made.basis.sentence.split("\n") if made.basis is not None else []
    changes = [
        f"{r.knob} {live.text(r.knob, r.before)} → {live.text(r.knob, r.after)}"
        for r in made.reasons
        if r.before is not None
    ]
    return [*told, *changes]


def distinct(answers: Iterable[Sequence[str]]) -> int:
    """How many of the answers begin with other lines. Numbers do not make a line another one."""
    return len({first(lines) for lines in answers})


def alike(answers: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """The names of those that begin with the same lines, group by group."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, lines in answers.items():
        groups.setdefault(first(lines), []).append(name)
    return [names for names in groups.values() if len(names) > 1]


def first(lines: Sequence[str]) -> tuple[str, ...]:
    """The first lines without their numbers."""
    return tuple(_SPACE.sub(" ", _NUMBER.sub("#", line)).strip() for line in lines[:FIRST])
