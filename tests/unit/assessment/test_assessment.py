"""What symptoms, rules and what is set on purpose say of a live server together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from lutra_models.assessment import assess, rule_rows
from lutra_models.assessment.rows import expected_gain, from_document
from lutra_models.catalog import meet
from lutra_models.evidence import Evidence, Move, harm
from lutra_models.knobs import Value
from lutra_models.server import Policy, Server
from lutra_models.symptoms import MeasuredWindow, diagnose
from lutra_models.symptoms.rows import rows

from tests.support.reported.mysql import a_mysqld
from tests.support.reported.postgresql import GB, a_server

HOUR = 3600.0
FORCED = {"checkpointer.requested_per_s": 38 / HOUR, "checkpointer.timed_per_s": 3 / HOUR, "wal.bytes_per_s": 6e6}
BY_THE_CLOCK = {"checkpointer.requested_per_s": 0.0, "checkpointer.timed_per_s": 12 / HOUR, "wal.bytes_per_s": 1e4}
TUNED = {
    "data_checksums": "on",
    "shared_buffers": "6GB",
    "work_mem": "32MB",
    "effective_cache_size": "18GB",
    "checkpoint_timeout": "15min",
    "random_page_cost": 1.1,
}


def evidence(
    server: Server,
    metrics: Mapping[str, float] | None = None,
    policy: Policy | None = None,
    began: Mapping[str, Value] | None = None,
) -> Evidence:
    live, allowed = meet(server), policy or Policy()
    windows = [] if metrics is None else [MeasuredWindow(HOUR, metrics)]
    return assess(live, allowed, diagnose(live, allowed, windows), began)


def moves(found: Evidence, ground: str) -> dict[str, Move]:
    return {m.setting: m for f in found.findings if f.ground == ground for m in f.moves}


def test_a_stock_postgresql_is_told_what_the_rules_know_each_with_its_reason_and_what_speaks_against_it() -> None:
    found = moves(evidence(a_server("15", 24)), "rule")
    assert {"shared_buffers", "max_wal_size", "checkpoint_timeout", "effective_cache_size", "work_mem"} <= found.keys()
    assert found["shared_buffers"].after == 6 * GB // 8192
    assert found["shared_buffers"].restart
    assert not found["max_wal_size"].restart
    assert all(m.against and m.setting in m.sentence for m in found.values())
    assert "128 MB" in found["shared_buffers"].sentence


def test_rules_that_nobody_would_see_are_not_told() -> None:
    tidy = {"commit_siblings", "max_parallel_workers", "autovacuum_work_mem", "bgwriter_delay", "maintenance_work_mem"}
    assert not tidy & moves(evidence(a_server("15", 24)), "rule").keys()
    wanted = moves(evidence(a_mysqld("mariadb", 24)), "rule").keys()
    assert wanted == {"innodb_buffer_pool_size", "innodb_log_file_size"}
    assert moves(evidence(a_mysqld("mysql", 24)), "rule").keys() == {
        "innodb_buffer_pool_size",
        "innodb_redo_log_capacity",
    }


def test_a_setting_within_a_factor_of_two_of_its_rule_is_left() -> None:
    found = moves(evidence(a_server("15", 4)), "rule")
    assert "effective_cache_size" not in found  # 4 GB, and the rule says 3 GB


def test_what_was_set_on_purpose_is_left() -> None:
    found = evidence(a_server("15", 24, shared_buffers="1GB"))
    assert "shared_buffers" in found.deliberate
    assert "shared_buffers" not in moves(found, "rule")
    assert "max_wal_size" in moves(found, "rule")


def test_the_default_in_a_file_is_no_purpose() -> None:
    found = evidence(a_server("15", 24, shared_buffers="128MB", max_wal_size="1GB"))
    assert found.deliberate == ()
    assert {"shared_buffers", "max_wal_size"} <= moves(found, "rule").keys()


def test_on_a_tuned_server_no_rule_speaks() -> None:
    assert evidence(a_server("15", 24, **TUNED)).findings == ()


def test_who_has_a_value_of_their_own_keeps_no_change_back_and_is_told() -> None:
    server = a_server("15", 24, max_connections=20, checkpoint_timeout="1s")
    own = {n: replace(s, unreached="role reporting") for n, s in server.settings.items()}
    found = evidence(replace(server, settings=own), FORCED)
    told = {m.setting: m.against for f in found.findings for m in f.moves}
    assert {"max_wal_size", "work_mem", "checkpoint_timeout"} <= told.keys()
    assert all(a.endswith("it does not reach role reporting, which have their own values") for a in told.values())


def test_on_a_tuned_server_the_one_thing_that_is_wrong_is_all_that_is_said() -> None:
    found = evidence(a_server("15", 24, **TUNED, max_wal_size="512MB"), FORCED)
    (only,) = found.findings
    assert (only.ground, only.name) == ("fault", "checkpoints_forced")
    (move,) = only.moves
    assert move.setting == "max_wal_size"
    assert "38 of 41 checkpoints" in move.sentence
    assert "somebody set it to 512MB" in move.against


def test_what_was_changed_on_advice_is_no_purpose_and_is_not_asked_for_again() -> None:
    stock = meet(a_server("15", 24)).values
    advised = a_server("15", 24, **TUNED, max_wal_size="8GB", effective_io_concurrency=200, jit="off")
    found = evidence(
        replace(advised, settings={**advised.settings, "shared_buffers": a_stock("shared_buffers")}), began=stock
    )
    assert found.deliberate == ()
    assert moves(found, "rule").keys() == {"shared_buffers"}


def test_of_what_was_set_on_advice_nobody_says_that_somebody_set_it() -> None:
    advised = a_server("15", 24, **TUNED, max_wal_size="512MB")
    (by_hand,) = evidence(advised, FORCED).findings[0].moves
    (on_advice,) = (
        m
        for m in evidence(advised, FORCED, began=meet(a_server("15", 24)).values).findings[0].moves
        if m.setting == "max_wal_size"
    )
    assert "somebody set it" in by_hand.against
    assert "somebody set it" not in on_advice.against


def test_no_more_settings_are_far_from_their_rule_than_were_compared() -> None:
    """What somebody set far outside of what serves the host is another thing."""
    found = evidence(a_server("15", 24, random_page_cost=1000))
    grounds = Counter(f.ground for f in found.findings)
    assert grounds["outlying"] == 1
    assert 0 < grounds["rule"] <= found.rules


def a_stock(name: str):  # type: ignore[no-untyped-def]
    return a_server("15", 24).settings[name]


def test_a_symptom_comes_before_the_rule_for_its_setting_and_goes_as_far_as_that() -> None:
    slow = {**FORCED, "checkpointer.requested_per_s": 5 / HOUR, "wal.bytes_per_s": 1e6}
    found = evidence(a_server("15", 24), slow)
    (move,) = moves(found, "fault").values()
    assert "max_wal_size" not in moves(found, "rule")
    assert move.after == 8192
    assert "the rule for this hardware" in move.sentence


def test_a_symptom_that_it_is_enough_keeps_a_rule_back() -> None:
    assert "max_wal_size" not in moves(evidence(a_server("15", 24), BY_THE_CLOCK), "rule")


def test_where_the_host_speaks_for_it_the_symptom_only_speaks_against_it() -> None:
    hits = {"database.blks_hit_per_s": 1e4, "database.blks_read_per_s": 0.0}
    found = moves(evidence(a_server("15", 24), hits), "rule")
    assert "100 % of page reads" in found["shared_buffers"].against


def test_a_disk_of_which_nothing_is_known_is_not_taken_for_a_fast_one() -> None:
    found = moves(evidence(a_server("15", 24, rotational=None)), "rule")
    assert not {"random_page_cost", "effective_io_concurrency"} & found.keys()


def test_all_that_the_rules_want_together_keeps_the_policy_and_the_memory_limit() -> None:
    for memory in (1, 2, 4, 24):
        for server in (a_server("15", memory), a_mysqld("mariadb", memory), a_mysqld("mysql", memory)):
            live, policy = meet(server), Policy(pins={})
            wanted = {n: m.after for n, m in moves(evidence(server), "rule").items() if m.after is not None}
            space = live.space(policy)
            assert space.refusal(live.values.restrict(space.names).replace(wanted)) is None
    pinned = Policy(pins={"shared_buffers": "128MB"})
    assert "shared_buffers" not in moves(evidence(a_server("15", 24), policy=pinned), "rule")


def test_what_was_evaluated_is_counted() -> None:
    found = evidence(a_server("15", 24), FORCED)
    assert 0 < evidence(a_server("15", 24)).evaluated < found.evaluated, "some read settings alone"
    assert (found.windows, found.seconds) == (1, HOUR)
    assert found.rules == len(rule_rows("postgresql"))


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"setting": "nonsense"}, "no rule"),
        ({"stock": "nonsense"}, "unknown names"),
        ({"why": "because of {nonsense:bytes}"}, "not a number"),
    ],
)
def test_a_row_that_contradicts_the_catalogue_is_refused(changed: dict[str, str], says: str) -> None:
    row = {"engine": "postgresql", "setting": "jit", "stock": "'on'", "why": "so", "against": "not", **changed}
    with pytest.raises(ValueError, match=says):
        from_document({"rule": [row]})


def test_what_is_worth_most_comes_first_and_not_what_shows_most() -> None:
    stops = {"bgwriter.maxwritten_clean_per_s": 5.0, "bgwriter.buffers_clean_per_s": 500.0}
    jit = {"statements.jit_ms_per_s": 900.0, "statements.exec_ms_per_s": 1000.0, "statements.calls_per_s": 900.0}
    forced = {**FORCED, "checkpointer.requested_per_s": 18 / HOUR, "checkpointer.timed_per_s": 12 / HOUR}
    found = evidence(a_server("15", 24), {**forced, **stops, **jit}).findings
    faults = {f.name: f for f in found if f.ground == "fault"}
    assert faults["jit_costs"].strength > faults["checkpoints_forced"].strength
    order = [f.name for f in found]
    assert order.index("checkpoints_forced") < order.index("background_writer_stops") < order.index("jit_costs")
    places = [(harm(f.ground), -f.worth) for f in found]
    assert places == sorted(places)


def test_every_symptom_is_of_a_group_of_which_a_gain_is_expected() -> None:
    assert all(0 < expected_gain(row.group) < 1 for row in rows())
    weakest = min(expected_gain(row.group) for row in rows() if row.kind == "fault")
    assert expected_gain("rule") * 0.5 < weakest * 0.4, "a symptom that is acted on comes before a rule"


def test_what_may_go_with_the_cure_of_another_symptom_waits_for_it() -> None:
    images = {"wal.full_page_images_per_s": 700.0, "replication.standbys": 0.0}
    both = evidence(a_server("15", 24, **TUNED, max_wal_size="512MB"), {**FORCED, **images})
    assert {"checkpoints_forced", "wal_uncompressed"} <= {f.name for f in both.findings}
    assert moves(both, "fault").keys() == {"max_wal_size"}
    seldom = {**BY_THE_CLOCK, "checkpointer.timed_per_s": 4 / HOUR, "wal.bytes_per_s": 6e6}
    alone = evidence(a_server("15", 24, **TUNED), {**seldom, **images})
    assert moves(alone, "fault").keys() == {"wal_compression"}


def test_just_after_a_checkpoint_page_images_say_nothing() -> None:
    live = meet(a_server("15", 24, **TUNED))
    busy = {"wal.full_page_images_per_s": 700.0, "wal.bytes_per_s": 6e6, "replication.standbys": 0.0}
    once = {**busy, "checkpointer.requested_per_s": 1 / 60, "checkpointer.timed_per_s": 0.0}
    assert diagnose(live, Policy(), [MeasuredWindow(60.0, once)]).symptoms == ()


STRANGE: dict[str, dict[str, str | int | float]] = {
    "postgresql": {"commit_siblings": 900, "random_page_cost": 1000, "cpu_tuple_cost": 10, "wal_buffers": "32kB"},
    "mariadb": {"tmp_table_size": 1024, "sort_buffer_size": "32kB"},
    "mysql": {"innodb_buffer_pool_size": "16M", "sort_buffer_size": "32kB"},
}


def changed_by_hand(engine: str, memory: float = 16, **settings: str | int | float) -> Server:
    server = a_server("15", memory, **settings) if engine == "postgresql" else a_mysqld(engine, memory, **settings)
    return replace(
        server,
        settings={n: replace(s, source="dynamic") if n in settings else s for n, s in server.settings.items()},
    )


def strange(server: Server, policy: Policy | None = None) -> dict[str, Move]:
    found = evidence(server, policy=policy)
    return {m.setting: m for f in found.findings for m in f.moves if "far outside" in m.sentence}


@pytest.mark.parametrize("engine", STRANGE)
def test_what_somebody_set_far_outside_of_what_serves_such_a_host_is_told_whatever_the_load_shows(engine: str) -> None:
    tuned = TUNED if engine == "postgresql" else {}
    told = strange(changed_by_hand(engine, **{**tuned, **STRANGE[engine]}))
    assert told.keys() == STRANGE[engine].keys()
    assert all("somebody set it to" in m.against for m in told.values())
    assert strange(changed_by_hand(engine, **{**tuned, **{n: m.after for n, m in told.items()}})) == {}


def test_a_value_far_outside_goes_as_far_as_another_setting_lets_it() -> None:
    """Two files for each table, of those that the server may open."""
    server = changed_by_hand("mariadb", table_open_cache=10, open_files_limit=760)
    [move] = [m for f in evidence(server).findings for m in f.moves if m.setting == "table_open_cache"]
    assert move.after == 299
    assert "open_files_limit = 760" in str(move.obstacle)
    assert "only a part of the recommended value: table_open_cache needs two files" in move.against


@pytest.mark.parametrize("misses", [50, 84, 1500])
def test_a_value_far_outside_is_proposed_however_weakly_a_symptom_speaks_of_it(misses: int) -> None:
    """Of 4,571 uses of a table in a minute; at 1,500 the symptom is as loud as the rule."""
    counts = {"caches.table_hits": 4571 - misses, "caches.table_misses": misses, "caches.table_overflows": misses}
    found = evidence(changed_by_hand("mariadb", table_open_cache=10), {f"{n}_per_s": c / 60 for n, c in counts.items()})
    proposed = [f for f in found.findings for m in f.moves if m.setting == "table_open_cache" and m.after]
    assert max(f.strength for f in proposed) >= 0.6


@pytest.mark.parametrize(
    "deliberate",
    [
        {"work_mem": "2GB"},  # much memory is the memory limit's affair
        {"autovacuum_vacuum_scale_factor": 0},  # 0 switches something off
        # rows alone say when, as many have it for large tables
        {"autovacuum_vacuum_scale_factor": 0, "autovacuum_vacuum_threshold": 100_000},
        {"autovacuum_analyze_scale_factor": 0, "autovacuum_analyze_threshold": 100_000},
        {"autovacuum_vacuum_insert_scale_factor": 0, "autovacuum_vacuum_insert_threshold": 5_000_000},
        {"from_collapse_limit": 100},  # not searched unless named: rather on purpose
        {"commit_delay": 0, "max_wal_size": "160MB"},  # outside, and not far
    ],
)
def test_what_may_well_be_meant_is_not_strange(deliberate: dict[str, Any]) -> None:
    assert strange(changed_by_hand("postgresql", 64, **{**TUNED, **deliberate})) == {}


def test_what_is_strange_keeps_the_policy_and_gives_way_to_symptoms() -> None:
    server = changed_by_hand("postgresql", **{**TUNED, **STRANGE["postgresql"]})
    policy = Policy(pins={"random_page_cost": 1000.0}, movable=frozenset({"random_page_cost", "wal_buffers"}))
    assert strange(server, policy).keys() == {"wal_buffers"}
    forced = changed_by_hand("postgresql", 24, **TUNED, max_wal_size="64MB")
    (only,) = evidence(forced, FORCED).findings
    assert (only.ground, only.name) == ("fault", "checkpoints_forced")


@pytest.mark.parametrize("engine", STRANGE)
def test_every_setting_at_either_end_of_what_the_server_takes_leads_to_a_value_in_its_range(engine: str) -> None:
    fresh = changed_by_hand(engine)
    for name, setting in fresh.settings.items():
        for end in (e for e in (setting.low, setting.high) if e is not None):
            value = int(end) if setting.kind == "integer" else min(end, 1e12)
            at_its_end = {**fresh.settings, name: replace(setting, value=str(value), source="dynamic")}
            for told, move in strange(replace(fresh, settings=at_its_end)).items():
                assert told == name
                assert move.after != move.before


def test_the_range_of_a_share_of_memory_is_told_in_whole_megabytes() -> None:
    server = changed_by_hand("mariadb", 23.54, innodb_buffer_pool_size="16M")
    told = strange(server)["innodb_buffer_pool_size"].sentence
    assert "16MB is far outside 128MB to 19284MB, the sensible range for such a host" in told


def test_an_accepted_risk_is_no_finding_and_no_rule_asks_for_its_cure_instead() -> None:
    live, policy = meet(a_server("15", 24)), Policy()
    forced = diagnose(live, policy, [MeasuredWindow(HOUR, FORCED)])
    before = assess(live, policy, forced)
    assert "checkpoints_forced" in {f.name for f in before.findings}
    assert {"max_wal_size", "shared_buffers"} <= {m.setting for f in before.findings for m in f.moves}
    after = assess(live, policy, forced, accepted={"checkpoints_forced"})
    assert "checkpoints_forced" not in {f.name for f in after.findings}
    asked = {m.setting for f in after.findings for m in f.moves}
    assert "max_wal_size" not in asked
    assert "shared_buffers" in asked
