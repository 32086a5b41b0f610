from __future__ import annotations

import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lutra_models.catalog import load, meet
from lutra_models.errors import NotFound
from lutra_models.knobs import Configuration
from lutra_models.server import Policy

from tests.support.reported.postgresql import a_server

GB = 2**30


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from((1, 2, 4, 16, 64)),
    st.integers(20, 2000),
    st.sampled_from(("15", "16", "18")),
    st.sampled_from((0.3, 0.8, 1.0)),
)
def test_the_rule_based_configuration_keeps_every_rule(
    gb: int, connections: int, version: str, fraction: float
) -> None:
    server, policy = a_server(version, gb, max_connections=connections), Policy(memory_fraction=fraction)
    space = meet(server).space(policy)
    ruled = meet(server).rule_based(policy)
    assert space.parse(ruled) == ruled
    assert meet(server).memory_refusal(policy, ruled) is None


@settings(max_examples=60, deadline=None)
@given(
    gb=st.sampled_from((1, 8)),
    shared_buffers=st.integers(16, 2**20),
    work_mem=st.integers(64, 2**20),
    workers=st.integers(0, 40),
    parallel=st.integers(0, 40),
    gather=st.integers(0, 40),
    restart=st.booleans(),
)
def test_however_a_server_is_set_its_values_are_in_range_and_the_rules_let_both_starts_pass(
    gb: int, shared_buffers: int, work_mem: int, workers: int, parallel: int, gather: int, restart: bool
) -> None:
    server = a_server(
        memory_gb=gb,
        shared_buffers=shared_buffers,
        work_mem=work_mem,
        max_worker_processes=workers,
        max_parallel_workers=parallel,
        max_parallel_workers_per_gather=gather,
    )
    policy = Policy(restart=restart)
    space, live = meet(server).space(policy), meet(server).values
    assert space.parse(live.restrict(space.names)) == live.restrict(space.names)
    ruled = meet(server).rule_based(policy)
    assert space.parse(ruled) == ruled


@pytest.mark.parametrize("gb", [4, 16, 64])
def test_the_rule_based_configuration_fits_the_limit_where_the_current_one_does(gb: int) -> None:
    server = a_server(memory_gb=gb)
    ruled = meet(server).rule_based(Policy())
    assert meet(server).memory(Policy(), ruled).total_bytes <= meet(server).memory_limit(Policy()) == int(gb * GB * 0.8)
    assert ruled["shared_buffers"] == gb * GB // 4 // 8192


@pytest.mark.parametrize("version", ["15", "16", "18"])
def test_a_fresh_server_on_a_4_gb_host_is_within_the_limit(version: str) -> None:
    server = a_server(version, memory_gb=4)
    assert meet(server).worst_case({}).total_bytes < meet(server).memory_limit(Policy())


def test_the_sum_is_its_terms_each_with_a_formula_and_an_assumption() -> None:
    found = meet(a_server()).worst_case({"work_mem": 8192})
    assert found.total_bytes == sum(t.bytes for t in found.terms)
    assert all(t.formula and t.assumption for t in found.terms)
    by_name = {t.name: t.bytes for t in found.terms}
    assert by_name["shared_buffers"] == 128 * 2**20
    assert by_name["sorts and hashes of connections"] == 100 * 8 * 2**20 * 3
    assert by_name["wal_buffers"] == 4 * 2**20
    assert by_name["logical decoding"] == 0


def test_autovacuum_follows_maintenance_work_mem_up_to_a_gigabyte_before_17() -> None:
    def autovacuum(version: str) -> int:
        terms = meet(a_server(version)).worst_case({"maintenance_work_mem": 4 * 2**20}).terms
        return next(t.bytes for t in terms if t.name == "autovacuum")

    assert autovacuum("16") == 3 * (GB + 4 * 2**20)
    assert autovacuum("18") == 3 * (4 * GB + 4 * 2**20)


def test_asynchronous_reads_reserve_memory_for_every_process_since_18() -> None:
    def reserved(version: str, **settings: int) -> int:
        terms = meet(a_server(version, **settings)).worst_case({}).terms
        return next(t.bytes for t in terms if t.name == "asynchronous I/O")

    assert reserved("16") == 0
    assert reserved("18") == (100 + 16 + 8 + 10 + 40) * 64 * (144 + 24 * 16)
    assert reserved("18", io_max_concurrency=256, io_max_combine_limit=128) == 174 * 256 * (144 + 24 * 128)


def test_above_the_limit_is_refused_with_the_largest_part() -> None:
    refusal = meet(a_server()).memory_refusal(Policy(), {"work_mem": 1 << 20})
    assert refusal is not None
    assert refusal.code == "memory_budget_exceeded"
    assert "sorts and hashes of connections" in refusal.message
    assert "the limit of 6,554 MB" in refusal.message


def test_where_the_current_sum_is_above_the_limit_it_is_the_bound() -> None:
    server = a_server(memory_gb=1)
    live = meet(server)
    assert live.worst_case({}).total_bytes > live.memory_limit(Policy())
    assert live.memory_refusal(Policy(), live.values) is None
    assert live.memory_refusal(Policy(), {"work_mem": 2048}) is None
    refusal = live.memory_refusal(Policy(), {"work_mem": 4097})
    assert refusal is not None
    assert "of the current settings" in refusal.message


@settings(max_examples=50, deadline=None)
@given(st.integers(512, 262144), st.integers(16384, 524288))
def test_the_rule_and_the_sum_agree(work_mem: int, shared_buffers: int) -> None:
    live, candidate = meet(a_server()), {"work_mem": work_mem, "shared_buffers": shared_buffers}
    for policy in (Policy(), Policy(memory_count="worst_case")):
        fits = live.memory(policy, candidate).total_bytes <= live.memory_limit(policy)
        assert (live.memory_refusal(policy, candidate) is None) == fits


def test_rules_travel_to_other_processes_and_are_small() -> None:
    server = a_server()
    rules = meet(server).space(Policy()).rules
    sent = pickle.dumps(rules)
    assert len(sent) < 10_000
    bad = Configuration({"work_mem": 1 << 20})
    assert [r(bad) for r in pickle.loads(sent)] == [r(bad) for r in rules]


def test_an_unknown_engine_is_not_found() -> None:
    with pytest.raises(NotFound, match="unknown engine 'oracle'; known: "):
        load("oracle")
