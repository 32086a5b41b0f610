"""Hosts of 1, 2 and 4 GiB with stock settings: the memory rule leaves room, and takes none away."""

from __future__ import annotations

from dataclasses import replace

import pytest
from lutra_models.catalog import meet
from lutra_models.knobs import Configuration
from lutra_models.server import Policy, Server

from tests.support.reported.mysql import a_mysqld
from tests.support.reported.postgresql import a_server

ENGINES = ("15", "18", "mysql", "mariadb")
PEAKS = (0, 2, 50)
STRICT = Policy(memory_count="worst_case")


def stock(engine: str, gb: float, peak: int = 50) -> Server:
    if engine in ("mysql", "mariadb"):
        return a_mysqld(engine, gb, 2, peak_connections=peak)
    return a_server(engine, gb, 2, peak_connections=peak)


def under(server: Server, active: Configuration) -> Server:
    """The same server once `active` is."""
    settings = {n: replace(s, value=str(active[n])) if n in active else s for n, s in server.settings.items()}
    return replace(server, settings=settings)


@pytest.mark.parametrize("peak", PEAKS)
@pytest.mark.parametrize("gb", [1, 2, 4])
@pytest.mark.parametrize("engine", ENGINES)
def test_the_rule_based_start_and_the_servers_own_settings_pass(engine: str, gb: int, peak: int) -> None:
    live = meet(stock(engine, gb, peak))
    space, ruled = live.space(Policy()), live.rule_based(Policy())
    assert space.parse(ruled) == ruled
    assert ruled != live.values.restrict(space.names)
    assert space.refusal(live.values.restrict(space.names)) is None


@pytest.mark.parametrize("gb", [1, 2, 4])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_lower_configuration_does_not_lower_the_limit_for_the_next_one(engine: str, gb: int) -> None:
    server = stock(engine, gb)
    began = meet(server).values
    least = meet(server).space(Policy()).rules[0].least  # type: ignore[attr-defined]
    later = meet(under(server, began.replace(least)))
    for policy in (Policy(), STRICT):
        assert later.memory_refusal(policy, began, [began]) is None
    assert later.memory_refusal(Policy(), began) is None


def test_a_part_that_surely_counts_cannot_grow_where_the_sum_is_above_the_limit() -> None:
    """Room for sorts that nobody may run is no room for a buffer pool that is always resident."""
    live = meet(stock("15", 1))
    assert live.memory(Policy(), {}).total_bytes > live.memory_limit(Policy())
    traded = {"work_mem": 2048, "shared_buffers": 40000}
    assert live.memory(Policy(), traded).total_bytes < live.memory(Policy(), {}).total_bytes
    refusal = live.memory_refusal(Policy(), traded)
    assert refusal is not None
    assert "shared_buffers would" in refusal.message


def test_a_limit_below_what_servers_are_made_for_does_not_rise_to_their_defaults() -> None:
    server = under(stock("15", 0.25), Configuration({"work_mem": 1024}))
    assert meet(server).memory_refusal(Policy(), {"work_mem": 4096}) is not None


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_in_use_counts_the_connections_seen_and_names_all_that_may_be_open(engine: str) -> None:
    live = meet(stock(engine, 4))
    found = live.memory(Policy(), {})
    most = 100 if engine[0] == "1" else 151
    assert (found.connections.counted, found.connections.seen, found.connections.most) == (72, 50, most)
    assert found.worst_case_bytes == live.worst_case({}).total_bytes == sum(t.worst_case_bytes for t in found.terms)
    assert all(t.bytes <= t.worst_case_bytes for t in found.terms)
    assert live.memory(STRICT, {}).connections.counted == most


@pytest.mark.parametrize("engine", ENGINES)
def test_while_nothing_was_seen_every_connection_counts(engine: str) -> None:
    connections = meet(stock(engine, 4, peak=0)).memory(Policy(), {}).connections
    assert connections.counted == connections.most


@pytest.mark.parametrize("engine", ENGINES)
def test_more_connections_never_need_less(engine: str) -> None:
    sums = [meet(stock(engine, 4, peak)).memory(Policy(), {}).total_bytes for peak in (1, 20, 60, 500)]
    assert sums == sorted(sums)
    assert sums[-1] <= meet(stock(engine, 4)).worst_case({}).total_bytes
