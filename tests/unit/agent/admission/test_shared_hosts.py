"""Simulated hosts that a server shares: whatever is proposed, no change that is applied takes the margin.

Others come and go every day at the same hours. A day was seen of them, by a window each four hours; some come for the
first time between a proposal and its directive, and are seen once. The server comes to hold all that its settings
count, while others come again as they were seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from lutra_agent.admission.bounds import Bounds
from lutra_agent.admission.past_configurations import PastConfigurations
from lutra_agent.admission.preconditions import make_plan
from lutra_agent.errors import ApplyRefused
from lutra_agent.metrics.host import HostProbe
from lutra_agent.state.maxima import OthersMemory
from lutra_agent.state.store import State
from lutra_models.catalog import LiveSettings, meet
from lutra_models.knobs import Number, Value
from lutra_models.server import Host, Policy, Server
from lutra_models.wire import Directive

from tests.support.fakes.clock import START
from tests.support.reported.mysql import a_mysqld
from tests.support.reported.postgresql import GB, a_server
from tests.support.reported.redis import a_redis

MB = 1 << 20
HOURS = range(0, 24, 4)
SESSIONS = 200
PROPOSALS = 2
POLICY = Policy(durability=True)
pytestmark = pytest.mark.slow
CACHES = {"postgresql": "shared_buffers", "redis": "maxmemory", "valkey": "maxmemory"}


@dataclass
class Machine:
    """Memory, of which the kernel holds a part, and control groups: each limit holds the server and some of the others.

    `others` are their bytes and the hours at which they run; `inside` are those in the server's group.
    """

    root: Path
    memory: int
    kernel: int
    limit: int | None
    version: int
    others: list[tuple[int, frozenset[int], bool]] = field(default_factory=list)

    def free(self, hour: int, server: int) -> int:
        """What the narrower of the machine and the group leaves."""
        held = sum(size for size, hours, _ in self.others if hour in hours)
        inside = sum(size for size, hours, within in self.others if hour in hours and within)
        machine = self.memory - self.kernel - held - server
        return machine if self.limit is None else min(machine, self.limit - inside - server)

    def probe(self, hour: int, server: int) -> HostProbe:
        held = sum(size for size, hours, _ in self.others if hour in hours)
        inside = sum(size for size, hours, within in self.others if hour in hours and within)
        cached = 100 * MB
        files = {
            "proc/meminfo": f"MemTotal: {self.memory >> 10} kB\n"
            f"MemAvailable: {max(0, self.memory - self.kernel - held - server) >> 10} kB\n",
            "proc/7/status": f"RssAnon: {server >> 10} kB\nRssShmem: 0 kB\n",
            "proc/7/cmdline": "served\0",
            "proc/7/cgroup": "0::/pod/db\n" if self.version == 2 else "4:memory:/pod/db\n",
        }
        if self.limit is not None and self.version == 2:
            files["sys/fs/cgroup/pod/memory.max"] = f"{self.limit}\n"
            files["sys/fs/cgroup/pod/memory.current"] = f"{inside + server + cached}\n"
            files["sys/fs/cgroup/pod/memory.stat"] = f"inactive_file {cached}\n"
        elif self.limit is not None:
            files["sys/fs/cgroup/memory/pod/memory.limit_in_bytes"] = f"{self.limit}\n"
            files["sys/fs/cgroup/memory/pod/memory.usage_in_bytes"] = f"{inside + server + cached}\n"
            files["sys/fs/cgroup/memory/pod/memory.stat"] = f"total_inactive_file {cached}\n"
        for name, text in files.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text)
        return HostProbe(self.root, ("served",))


@dataclass
class Session:
    """One server on one machine, as its agent sees it hour by hour."""

    rng: Random
    machine: Machine
    server: Server
    seen: OthersMemory
    filled: float
    day: int = 0
    least_left: int = 1 << 60
    """To the server, of all that was seen."""

    @property
    def held(self) -> int:
        return int(self.counted(meet(self.server)) * self.filled)

    @staticmethod
    def counted(live: LiveSettings, configuration: Mapping[str, Value] | None = None) -> int:
        return live.memory(POLICY, configuration or {}).total_bytes

    def look(self, hour: int) -> LiveSettings:
        self.least_left = min(self.least_left, self.machine.free(hour, 0))
        facts = self.machine.probe(hour, self.held).facts(7)
        facts = self.seen.with_seen(facts, START + timedelta(days=self.day, hours=hour))
        self.server = replace(self.server, host=facts)
        return meet(self.server)

    def watch_a_day(self) -> LiveSettings:
        found = [self.look(hour) for hour in HOURS]
        self.day += 1
        return found[-1]

    def admitted(self, live: LiveSettings, settings: Mapping[str, Value]) -> bool:
        expires = START + timedelta(days=self.day + 9)
        directive = Directive(
            id="rec_1", recommendation="rec_1", settings=dict(settings), restart_allowed=True, expires_at=expires
        )
        bounds = Bounds("lab", False, self.rng.choice([0.8, 0.95]), durability=True, by_catalogue=False)
        try:
            source: Any = SimpleNamespace(name="server", catalogue=self.server.engine)
            return bool(make_plan(directive, live, (source,), bounds, START, PastConfigurations()).changes)
        except ApplyRefused:
            return False


def opened(rng: Random, folder: Path) -> Session:
    memory = rng.choice([1, 2, 4, 16]) * GB
    limit = None if rng.random() < 0.3 else memory // rng.choice([1, 2])
    machine = Machine(folder / "root", memory, memory // rng.choice([10, 30]), limit, rng.choice([1, 2]))
    machine.others = [another(rng, limit or memory) for _ in range(rng.randrange(1, 5))]
    return Session(rng, machine, a_server_of(rng, memory), OthersMemory(State(folder / "state")), rng.uniform(0.2, 1))


def another(rng: Random, memory: int) -> tuple[int, frozenset[int], bool]:
    begins = rng.choice(HOURS)
    active = frozenset((begins + k) % 24 for k in range(0, rng.choice([4, 8, 24]), 4))
    return int(memory * rng.uniform(0.02, 0.4)), active, rng.random() < 0.7


def a_server_of(rng: Random, memory: int) -> Server:
    gb, peak = memory / GB, rng.choice([5, 20])
    engine = rng.choice(["postgresql", "mysql", "mariadb", "redis", "valkey"])
    if engine == "postgresql":
        return a_server("16", gb, peak_connections=peak, shared_buffers=rng.choice(["32MB", "128MB"]))
    if engine in ("mysql", "mariadb"):
        pool = rng.choice(["64MB", "128MB"])
        return a_mysqld(engine, gb, peak_connections=peak, innodb_buffer_pool_size=pool)
    return a_redis(gb, settings={"maxmemory": "50mb"}, engine=engine)


def proposed(session: Session, live: LiveSettings) -> dict[str, Value]:
    """A rule's values, a raise by a factor as a symptom's cure has it, or one that no service would make."""
    rng, engine = session.rng, session.server.engine
    cache = CACHES.get(engine, "innodb_buffer_pool_size")
    kind = rng.choice(["rules", "doubled", "drawn", "hostile"])
    policy = replace(
        POLICY, movable=frozenset(n for n, r in live.rows.items() if r.tune and POLICY.admits(r.risk)) | {cache}
    )
    if kind == "rules":
        return dict(live.rule_based(policy))
    space = live.space(policy)
    numbers = {k.name: k.domain for k in space if isinstance(k.domain, Number) and k.name in space.rules[0].names}  # type: ignore[attr-defined]
    names = {cache, *rng.sample(sorted(numbers), min(3, len(numbers)))}
    found: dict[str, Value] = {}
    for name in names & numbers.keys():
        domain, now = numbers[name], live.values[name]
        assert not isinstance(now, str)
        wished = {"doubled": max(now, 1) * 2, "drawn": rng.uniform(domain.low, domain.high), "hostile": domain.high}
        found[name] = domain.clip(wished[kind])
    return found


def applied(live: LiveSettings, settings: Mapping[str, Value]) -> Server:
    texts = {n: replace(live.server.settings[n], value=str(v)) for n, v in settings.items()}
    return replace(live.server, settings={**live.server.settings, **texts})


@pytest.mark.parametrize("part", range(4))
def test_no_applied_change_takes_the_margin_of_a_shared_host(tmp_path: Path, part: int) -> None:
    grown = refused = 0
    for number in range(part * SESSIONS // 4, (part + 1) * SESSIONS // 4):
        session = opened(Random(number), tmp_path / str(number))
        machine, rng = session.machine, session.rng
        for _ in range(PROPOSALS):
            settings = proposed(session, session.watch_a_day())
            if rng.random() < 0.3:  # somebody comes, before the directive does
                machine.others.append(another(rng, machine.memory // 2))
                session.look(rng.choice([h for h in HOURS if h in machine.others[-1][1]]))
            if len(machine.others) > 1 and rng.random() < 0.2:
                machine.others.pop(rng.randrange(len(machine.others)))
            if machine.others and rng.random() < 0.3:
                session.watch_a_day()
            live = session.look(rng.choice(HOURS))
            before = session.counted(live)
            if not session.admitted(live, settings):
                refused += 1
                continue
            session.server = applied(live, settings)
            after, session.filled = session.counted(meet(session.server)), 1.0
            if after > before:
                grown += 1
                host: Host = session.server.host
                least = max(session.least_left, min(machine.free(hour, 0) for hour in HOURS)) - after
                assert least >= host.margin_bytes, (number, session.server.engine, settings, least, host)
    assert grown >= SESSIONS // 10, "hardly any change was applied"
    assert refused >= SESSIONS // 10, "hardly anything was refused"
