"""The agent looks at its host again before it carries out a raise: others may have come since it was proposed."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from lutra_agent.state.maxima import DAYS, NAME, OthersMemory
from lutra_agent.state.store import State
from lutra_models.server import Host

from tests.support.agent.directed import Directed, directed
from tests.support.fakes.clock import START
from tests.support.fakes.engine import HOST

GB = 1 << 30
RAISE = {"shared_buffers": 3 * GB // 2 // 8192}


@pytest.fixture
def bench(tmp_path: Path) -> Directed:
    return directed(tmp_path)


def crowd(bench: Directed, others: int) -> None:
    bench.host = replace(HOST, others_bytes=others, resident_bytes=0)


def test_a_raise_is_refused_where_others_hold_the_memory_by_now(bench: Directed) -> None:
    crowd(bench, 7 * GB)
    outcome = bench.do(RAISE)
    assert (outcome.state, outcome.code) == ("refused", "memory_budget_exceeded")
    assert "that other programs leave: of the 8,192 MB on this host they use up to 7,168 MB" in outcome.message
    assert "give this host more memory or fewer programs" in outcome.message
    assert bench.engine.statements == []
    crowd(bench, GB)
    assert bench.do(RAISE).state == "applied"


def test_what_takes_no_more_than_now_is_done_however_much_others_hold(bench: Directed) -> None:
    crowd(bench, 8 * GB)
    assert bench.do({"jit": "off"}).state == "applied"


def test_an_earlier_value_is_a_raise_unless_it_is_restored(bench: Directed) -> None:
    assert bench.do(RAISE).state == "applied"
    bench.confirm()
    assert bench.do({"shared_buffers": 16384}).state == "applied"
    bench.confirm()
    crowd(bench, 7 * GB)
    assert bench.do(RAISE).code == "memory_budget_exceeded"
    assert bench.do(RAISE, rollback=True).state == "applied"


def test_where_nobody_knows_of_others_the_agents_share_is_the_limit(bench: Directed) -> None:
    assert bench.do(RAISE).state == "applied"
    bench.confirm()
    assert bench.do({"shared_buffers": 4 << 20}).code == "memory_budget_exceeded"


def test_a_raise_beyond_what_the_container_gives_is_refused(bench: Directed) -> None:
    bench.host = replace(HOST, shm_bytes=64 << 20)
    outcome = bench.do({"work_mem": 16384})
    assert (outcome.state, outcome.code) == ("refused", "limit_exceeded")
    assert "/dev/shm: 64 MB" in outcome.message
    assert "--shm-size" in outcome.message
    bench.host = replace(HOST, shm_bytes=GB)
    assert bench.do({"work_mem": 16384}).state == "applied"


def host(others: int | None) -> Host:
    return Host(memory_bytes=8 * GB, cores=4, others_bytes=others)


def test_what_others_held_at_most_counts_for_days_and_over_a_restart_of_the_agent(tmp_path: Path) -> None:
    state = State(tmp_path / "state")
    seen = OthersMemory(state)
    assert seen.with_seen(host(3 * GB), START).others_bytes == 3 * GB
    assert seen.with_seen(host(GB), START + timedelta(hours=1)).others_bytes == 3 * GB
    later = START + timedelta(days=DAYS - 1)
    assert OthersMemory(state).with_seen(host(GB), later).others_bytes == 3 * GB
    assert OthersMemory(state).with_seen(host(GB), later + timedelta(days=1)).others_bytes == GB


def test_small_moves_move_nothing(tmp_path: Path) -> None:
    seen = OthersMemory(State(tmp_path / "state"))
    found = {seen.with_seen(host(3 * GB + k), START).others_bytes for k in (1, 4096, 200 << 20)}
    assert found == {3 * GB + GB // 4}
    assert seen.with_seen(host(8 * GB), START).others_bytes == 8 * GB


def test_what_was_not_seen_is_not_kept(tmp_path: Path) -> None:
    state = State(tmp_path / "state")
    assert OthersMemory(state).with_seen(host(None), START) == host(None)
    assert state.load(NAME) is None


@pytest.mark.parametrize(
    "content", [[], "x", {"a": 1, "1": -1, "2": "3", "99999999999": 5}, {str(START.toordinal() + 1): 7 * GB}]
)
def test_a_damaged_file_counts_for_nothing(tmp_path: Path, content: object) -> None:
    state = State(tmp_path / "state")
    (state.folder / f"{NAME}.json").write_text(json.dumps(content))
    assert OthersMemory(state).with_seen(host(GB), START).others_bytes == GB
