"""A small fleet behind a running service: databases of two engines and three kinds of load, each tuned for some trials.

Every database is a function of its settings with noise; sessions, models and the memory are the service's own.
"""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from lutra_service.db.schema.engine import make_engine
from lutra_service.db.schema.tables import (
    DatabaseRow,
    RecommendationRow,
    ReportRow,
    RequestRow,
    SessionRow,
    SettingsRow,
    SnapshotRow,
    WorkloadRow,
)
from lutra_service.db.schema.tables import Table as Rows
from sqlalchemy import Connection, insert, select

from tests.support.reported.redis import VERSION, a_redis
from tests.support.service.hosted import Agent, Api, Document
from tests.support.service.measured_tables import tpcc
from tests.support.service.served import Served

GB = 1 << 30
ENDLESS = 1000
"""Trials: more than any test waits for."""
BETWEEN_S = 0.3
"""Between two trials of a session that others work beside: what is computed for it goes before all else."""
QUICK = {"everywhere": 32, "near": 32, "climbers": 1, "asked": 8}
CHAMPION = {"surrogate": {"name": "numpy"}, "search": QUICK, "calibration": {"worse": 20, "better": 20, "noise": 20}}
"""Its intervals are many times as wide as they need be: few sessions tell."""
BETTER = {"surrogate": {"name": "numpy"}, "search": QUICK}
ABSURD = {
    "surrogate": {"name": "numpy", "wary": {"shift": -9.0, "sigma": 0.01}, "noise_sigma": 0.01, "steps": 15},
    "search": QUICK,
    "targets": {"noise": 3.0, "least_noise": 0.7},
    "calibration": {"worse": 20, "better": 20, "noise": 20},
}
"""Settings say nothing of each other, readings nothing of themselves, and anything may happen."""


def ordering(s: Document) -> float:
    """Writes: the log's room counts, and buffers count the more the more room there is."""
    room, buffers = math.log2(float(s["max_wal_size"]) / 256), math.log2(float(s["shared_buffers"]) / 2048)
    return 700 + 60 * room + 12 * room * buffers + 80 * float(s["checkpoint_completion_target"])


def reporting(s: Document) -> float:
    """Reads: memory for sorting counts, and what a page read at random is believed to cost."""
    return 240 + 25 * math.log2(float(s["work_mem"]) / 1024) - 18 * abs(float(s["random_page_cost"]) - 1.5)


def caching(s: Document) -> float:
    """Keys in memory: threads for the network count, and how hard memory is tidied."""
    return 52_000 + 4_000 * math.log2(float(s["io-threads"]) + 1) - 90 * abs(float(s["hz"]) - 40)


@dataclass(frozen=True)
class Member:
    name: str
    qps_of: Callable[[Document], float]
    engine: str = "postgresql"
    scale: float = 1.0
    memory_gb: int = 8
    trials: int = 7

    @property
    def movable(self) -> list[str]:
        """The settings that its sessions search: few, so that few trials teach something."""
        return SETTINGS[self.engine]

    def metrics(self, settings: Document, chance: random.Random) -> dict[str, float]:
        """QPS, the p99 that belongs to it, and counters that tell the kinds of load apart."""
        qps = self.scale * self.qps_of(settings) * math.exp(chance.gauss(0.0, 0.02))
        reads, writes = COUNTERS[self.qps_of]
        return {
            "qps": qps,
            "p99_ms": 9_000 * self.scale / qps * math.exp(chance.gauss(0.0, 0.04)),
            "blks_hit_per_s": reads * qps * chance.uniform(0.6, 1.6),
            "temp_bytes_per_s": reads * 2e3 * chance.uniform(0.5, 1.8),
            "wal_bytes_per_s": writes * qps * 300 * chance.uniform(0.6, 1.6),
            "checkpoints_per_h": 1 + writes * 12 * chance.uniform(0.6, 1.6),
        }


SETTINGS = {
    "postgresql": ["shared_buffers", "max_wal_size", "checkpoint_completion_target", "work_mem", "random_page_cost"],
    "redis": ["io-threads", "hz", "active-defrag-cycle-max"],
}
COUNTERS = {ordering: (20.0, 4.0), reporting: (900.0, 0.05), caching: (2.0, 0.2)}
"""Pages that a query reads, and rows that it writes."""
MEMBERS = (
    Member("shop", ordering),
    Member("till", ordering, scale=0.8, memory_gb=4),
    Member("warehouse", reporting),
    Member("books", reporting, scale=1.4, memory_gb=16),
    Member("sessions-cache", caching, "redis"),
)


class Steward:
    """The agent of one member, and what its server answers."""

    def __init__(self, served: Served, member: Member) -> None:
        api = served.api
        self.member, self.chance = member, random.Random(member.name)
        body = {"name": member.name, "engine": member.engine, "policy": {"movable": member.movable}}
        self.database = api.take("POST", "/v1/databases", body)["id"]
        path = f"/v1/databases/{self.database}/tokens"
        token = api.take("POST", path, {"name": "its agent", "scopes": ["agent"]})["token"]
        self.agent = Agent(served.client, token, self.database)
        self.agent.facts = {"host": {"memory_bytes": member.memory_gb * GB, "cores": 4}}
        if member.engine != "postgresql":
            self.agent.settings = dict(a_redis(member.memory_gb, engine=member.engine).settings)
            self.agent.facts |= {"engine": member.engine, "engine_version": VERSION}
        self.agent.send()

    def open(self, trials: int, seed: int = 7) -> str:
        body = {
            "objective": {"metric": "qps", "goal": "maximize"},
            "mode": "lab",
            "approval": "automatic",
            "max_trials": trials,
            "verification_rounds": 0,
            "seed": seed,
        }
        made: Document = self.agent.take("POST", f"/v1/databases/{self.database}/sessions", body)
        return str(made["id"])

    def step(self, wait: int = 60) -> bool:
        """Carry out the next directive, if one comes."""
        directive = self.agent.directive(wait=wait)
        if directive is None:
            return False
        self.agent.carry_out(directive, **self.member.metrics(directive["settings"], self.chance))
        return True

    def tune(self, api: Api) -> str:
        session = self.open(self.member.trials)
        while api.take("GET", f"/v1/sessions/{session}")["state"] == "running":
            self.step()
        return session

    @contextmanager
    def at_work(self) -> Iterator[str]:
        """A session that is carried out from a thread, and does not end before the block does."""
        session, ended = self.open(ENDLESS, seed=11), threading.Event()

        def work() -> None:
            while not ended.wait(BETWEEN_S):
                self.step(wait=1)

        with ThreadPoolExecutor(1) as pool:
            working = pool.submit(work)
            try:
                yield session
            finally:
                ended.set()
        working.result()
        told = self.agent.take("GET", f"/v1/sessions/{session}")
        assert told["state"] == "running", told


@dataclass(frozen=True)
class Fleet:
    """Its databases' stewards by name, and the ids of its model versions: the champion and two candidates."""

    served: Served
    members: Mapping[str, Steward]
    champion: str
    better: str
    absurd: str


def a_fleet(served: Served) -> Fleet:
    """Every member tuned once, and a public table imported."""
    api = served.api
    champion = _registered(api, "as promoted in spring", CHAMPION)
    api.take("POST", f"/v1/models/{champion}/promote")
    members = {member.name: Steward(served, member) for member in MEMBERS}
    for steward in members.values():
        steward.tune(api)
    mapping = served.directory / "mapping.toml"
    mapping.write_text('metrics.tps = "qps"')
    server = ("--engine", "postgresql", "--engine-version", "16", "--memory", "32GB", "--cores", "8")
    table = str(tpcc(served.directory / "tpcc.csv", rows=40))
    wanted = ("--metric", "qps", "--goal", "maximize", "--mapping", str(mapping))
    served.run("import", table, "--name", "tpcc at azure", *server, *wanted)
    candidates = (_registered(api, *one) for one in (("absurd priors", ABSURD), ("narrower intervals", BETTER)))
    absurd, better = candidates
    return Fleet(served, members, champion, better, absurd)


def _registered(api: Api, name: str, options: Document) -> str:
    return str(api.take("POST", "/v1/models", {"name": name, "options": options})["id"])


COPIED: tuple[type[Rows], ...] = (
    DatabaseRow,
    SettingsRow,
    SessionRow,
    SnapshotRow,
    WorkloadRow,
    RecommendationRow,
    RequestRow,
    ReportRow,
)
IDS = {"id", "database_id", "session_id", "recommendation_id", "parent_id", "snapshot_id"}
NAMES = {"name", "identifier"}
FOREIGN = "u"
"""No id of the service's own has this letter."""


def grow(fleet: Fleet, times: int) -> None:
    """Copies of all that is stored of each database and of each import, `times` as many in all."""
    engine = make_engine(fleet.served.env["LUTRA_DATABASE_URL"])
    with engine.begin() as connection:
        for rows in COPIED:
            stored = [dict(row) for row in connection.execute(select(rows.__table__)).mappings()]
            for copy in range(1, times):
                _store(connection, rows, [_renamed(row, f"{FOREIGN}{copy:02d}") for row in stored])
    engine.dispose()


def _store(connection: Connection, rows: type[Rows], copies: list[dict[str, Any]]) -> None:
    numbered = rows is ReportRow
    fresh = [{k: v for k, v in row.items() if not (numbered and k == "id")} for row in copies]
    if fresh:
        connection.execute(insert(rows.__table__), fresh)


def _renamed(row: dict[str, Any], number: str) -> dict[str, Any]:
    """An id keeps its form: the last of its random characters become the copy's number."""
    ids = {k: v[: -len(number)] + number for k, v in row.items() if k in IDS and isinstance(v, str)}
    return row | ids | {k: f"{v} {number}" for k, v in row.items() if k in NAMES and v is not None}
