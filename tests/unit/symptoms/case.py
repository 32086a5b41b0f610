"""What a symptom's case is: a server and an hour that show it, what ends it, and what is then offered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lutra_models.catalog import meet
from lutra_models.server import Policy, Server
from lutra_models.symptoms import Diagnosis, MeasuredWindow, Symptom, SymptomRow, diagnose, of_engine

from tests.support.reported.mysql import a_mysqld
from tests.support.reported.postgresql import a_server

MB = 2**20
HOUR = 3600.0
RELOAD = "SELECT pg_reload_conf();"
Numbers = Mapping[str, float]


@dataclass(frozen=True)
class Case:
    """`shown` are counts over the window for counters, and gauges; `silent` are changes each of which ends the symptom.

    `just` is one that leaves it a little on the quiet side of its bound. `quiet` are servers without it. `cures` are
    the values that are offered, `executes` the statements for a person. `texts` are the names that windows bring.
    """

    name: str
    server: Server
    shown: Numbers = field(default_factory=dict)
    just: Numbers = field(default_factory=dict)
    silent: Sequence[Numbers] = ()
    cures: Mapping[str, Any] = field(default_factory=dict)
    says: str = ""
    seconds: float = HOUR
    policy: Policy = field(default_factory=Policy)
    quiet: Sequence[Server] = ()
    executes: Sequence[str] = ()
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def row(self) -> SymptomRow:
        found = {r.name: r for r in of_engine(self.server.engine) if r.covers(self.server.engine, self.server.version)}
        return found[self.name]

    def of(self, counted: Numbers) -> MeasuredWindow:
        counters = {m.metric for m in self.row.measured.values() if m.how in ("count", "rate")}
        metrics = {
            f"{n}_per_s" if n in counters else n: v / (self.seconds if n in counters else 1) for n, v in counted.items()
        }
        return MeasuredWindow(self.seconds, metrics, self.texts)

    def diagnosis(self, counted: Numbers, policy: Policy | None = None) -> Diagnosis:
        return diagnose(meet(self.server), policy or self.policy, [self.of(counted)])

    def seen(self, counted: Numbers) -> Symptom | None:
        return next((s for s in self.diagnosis(counted).symptoms if s.name == self.name), None)


def pg(version: str = "15", **more: Any) -> Server:
    return a_server(version, **more)


def maria(**more: Any) -> Server:
    return a_mysqld("mariadb", **more)


def my(**more: Any) -> Server:
    return a_mysqld("mysql", **more)
