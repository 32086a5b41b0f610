"""A study's session as the recommender sees it: pure functions of the server at its default and of the rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from lutra_models import gp
from lutra_models.advice import Recommendation
from lutra_models.catalog import LiveSettings, meet
from lutra_models.gp.fitted.snapshot import Snapshot
from lutra_models.history import History, Observation
from lutra_models.knobs import Configuration, KnobSpace, Value
from lutra_models.metrics import Limit
from lutra_models.server import Policy, Server

from benchmarks.lab.labs import LABS
from benchmarks.lab.steps import AFTER
from benchmarks.lab.studies import P99, Study

Row = dict[str, Any]
TARGETS = ("qps", "tps", "p99_ms")


@dataclass(frozen=True)
class Session:
    """`server` at its default; `context` is the load's. `past`: what sessions on other databases taught."""

    study: Study
    server: Server
    context: Mapping[str, Value]
    seed: int = 0
    past: tuple[Snapshot, ...] = ()

    @property
    def policy(self) -> Policy:
        return Policy(pins=LABS[self.study.engine].pins, durability=not self.study.durable)

    @cached_property
    def live(self) -> LiveSettings:
        return meet(self.server)

    @cached_property
    def space(self) -> KnobSpace:
        return self.live.space(self.policy)

    @cached_property
    def default(self) -> Configuration:
        return self.space.normalise(self.live.values)

    @cached_property
    def two_knobs(self) -> Configuration:
        texts = LABS[self.study.engine].two_knobs(self.server.host.memory_bytes)
        return self.default.replace({n: self.live.parse(n, v) for n, v in texts.items()})

    @cached_property
    def rule_based(self) -> Configuration:
        return self.space.normalise(self.live.rule_based(self.policy))

    def history(self, rows: Iterable[Row]) -> History:
        """`rows` are trials, in their order."""
        rows = list(rows)
        tried_rules = any(row["origin"] == "rule_based" for row in rows)
        host = self.server.host
        facts = {"memory_bytes": host.memory_bytes, "cores": host.cores}
        return History(
            self.space,
            self.study.objective,
            limits=self.limits(rows),
            observations=[observation(row) for row in rows],
            current=Configuration(rows[-1]["configuration"]) if rows else self.default,
            baseline=self.default,
            warm_starts=[] if tried_rules else [self.rule_based],
            server_rounding=answers(rows),
            context={"engine": self.server.engine, "engine_version": self.server.version, **facts, **self.context},
        )

    def limits(self, rows: Sequence[Row]) -> tuple[Limit, ...]:
        """A better p99 must not cost throughput: the first trial's, which is the default's, is the least."""
        if self.study.objective != P99 or not rows or "qps" not in rows[0]["metrics"]:
            return ()
        return (Limit("qps", at_least=rows[0]["metrics"]["qps"]),)

    def recommend(self, rows: Sequence[Row]) -> Recommendation:
        return gp.recommend(self.history(rows), self.past, rng=self._rng(len(rows)))

    def handover(self, rows: Sequence[Row]) -> Recommendation:
        """What the recommender stands for after these trials."""
        return gp.fit(self.history(rows), self.past, rng=self._rng(len(rows))).best()

    def taught(self, rows: Sequence[Row]) -> Snapshot:
        """What these trials teach other databases."""
        return gp.fit(self.history(rows), rng=self._rng(len(rows))).snapshot

    def entrant(self, name: str, rows: Sequence[Row]) -> Configuration:
        """What `name` stands for in the final rounds; `rows` are the study's trials."""
        if name in AFTER:
            return self.handover(rows[: AFTER[name]]).configuration
        known: dict[str, Configuration] = {
            "default": self.default,
            "two_knobs": self.two_knobs,
            "rule_based": self.rule_based,
        }
        return known[name]

    def _rng(self, trial: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, trial])


def trials(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if row["kind"] == "trial"]


def answers(rows: Iterable[Row]) -> dict[str, list[tuple[Value, Value]]]:
    """What the server made another value of."""
    found: dict[str, list[tuple[Value, Value]]] = {}
    for row in rows:
        for name, asked in row["asked"].items():
            found.setdefault(name, []).append((asked, row["configuration"][name]))
    return found


def observation(row: Row) -> Observation:
    if row["failure"]:
        return Observation.failed(row["configuration"], row["failure"])
    return Observation(row["configuration"], {n: row["metrics"][n] for n in TARGETS if n in row["metrics"]})
