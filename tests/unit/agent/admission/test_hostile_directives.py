"""Made-up directives, judged by rules that this file writes down once more."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lutra_models.catalog import meet
from lutra_models.server import SERVER, Policy

from tests.support.agent.directed import ALWAYS, CONFIRM_S, MEMORY_FRACTION, NEVER_TODAY, Directed, directed
from tests.support.fakes.engine import HOST, SETTINGS
from tests.support.pytest_plugins.suites import examples

HOSTILE = [
    -1,
    0,
    1,
    2,
    64,
    4 << 20,
    (1 << 31) - 1,
    1 << 62,
    0.1,
    1e299,
    "off",
    "on",
    "local",
    "2TB",
    "'; DROP",
    "",
    "x" * 999,
]
SANE: dict[str, list[Any]] = {
    "work_mem": [512, 4096, 8192, 65536, 262144],
    "random_page_cost": [1.0, 1.1, 2.5, 4.0, 6.0],
    "max_wal_size": [256, 1024, 4096],
    "jit": ["on", "off"],
    "synchronous_commit": ["on", "off", "local"],
    "shared_buffers": [16384, 65536, 262144, 524288],
    "max_connections": [100, 150, 200, 500],
    "wal_buffers": [32, 512, 2048],
}
RESTARTING = {n for n, s in SETTINGS.items() if s.applies == "restart"}


def values(name: str) -> st.SearchStrategy[Any]:
    return st.sampled_from(SANE.get(name, [1])) | st.sampled_from(HOSTILE)


@st.composite
def directives(draw: st.DrawFn) -> dict[str, Any]:
    names = draw(st.lists(st.sampled_from([*SANE, "port", "archive_command"]), max_size=5, unique=True))
    flags = {f: draw(st.booleans()) for f in ("restore", "rollback", "measure", "restart_allowed")}
    return {"settings": {n: draw(values(n)) for n in names}, **flags}


steps = st.one_of(
    directives(),
    st.just("confirm"),
    st.just("take back"),
    st.just("an older configuration"),
    st.sampled_from([(), (ALWAYS,), (NEVER_TODAY,)]),
)


class Oracle:
    """What the agent's file forbids: too much memory, lost commits, odd values, restarts outside its windows."""

    def __init__(self, live: Directed) -> None:
        self.live = live
        self.confirmed = [live.active()]
        server = live.engine.server(HOST)
        names = frozenset(SETTINGS)
        space = meet(server).space(Policy(movable=names, durability=True))
        self.domains = {k.name: k.domain for k in space}
        self.limit = max(MEMORY_FRACTION * HOST.memory_bytes, meet(server).worst_case({}).total_bytes)

    def judge(self, restarts: int, open_before: bool) -> None:
        active = self.live.active()
        server = self.live.engine.server(HOST)
        read = meet(server).values
        assert meet(server).worst_case({}).total_bytes <= self.limit
        assert active["synchronous_commit"] == "on"
        for name, domain in self.domains.items():
            assert read[name] in domain or active[name] in {c[name] for c in self.confirmed}, name
        change = self.live.changes.watched
        if active not in self.confirmed:
            assert change is not None
            assert change.confirm_by is not None
            assert (change.confirm_by - self.live.clock.now()).total_seconds() <= CONFIRM_S
            assert change.before[SERVER].active in self.confirmed
        if self.live.control.restarts > restarts and not open_before:
            assert active in self.confirmed

    def confirm(self) -> None:
        self.live.confirm()
        self.confirmed.append(self.live.active())


@pytest.mark.slow
@examples(40, 150)
def test_nothing_is_ever_active_that_the_agents_file_forbids(examples: int) -> None:
    @settings(max_examples=examples)
    @given(st.lists(steps, max_size=25), st.sampled_from([(), (ALWAYS,), (NEVER_TODAY,)]), st.integers(0, 10))
    def nothing_forbidden_is_active(asked: list[Any], own: tuple[Any, ...], nth: int) -> None:
        with tempfile.TemporaryDirectory() as folder:
            live = directed(Path(folder), own_windows=own)
            oracle = Oracle(live)
            for step in asked:
                took(live, oracle, step, nth)

    nothing_forbidden_is_active()


def took(live: Directed, oracle: Oracle, step: Any, nth: int) -> None:
    restarts = live.control.restarts
    open_before = ALWAYS in live.windows and live.own_windows != (NEVER_TODAY,)
    if step == "confirm":
        oracle.confirm()
    elif step == "take back":
        older(live, oracle.confirmed[-1])
    elif step == "an older configuration":
        older(live, oracle.confirmed[nth % len(oracle.confirmed)])
    elif isinstance(step, dict):
        live.do(**step)
    else:
        live.windows = step
    oracle.judge(restarts, open_before)


def older(live: Directed, active: dict[str, str]) -> None:
    settings = meet(live.engine.server(HOST))
    live.do({n: settings.parse(n, v) for n, v in active.items()}, restore=True, rollback=True)
