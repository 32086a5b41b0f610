"""Two things that are wrong at once: both are named, and the worse one first."""

from __future__ import annotations

from dataclasses import replace

import pytest
from lutra_models.catalog import meet
from lutra_models.evidence import harm
from lutra_models.symptoms import Diagnosis, MeasuredWindow, diagnose
from lutra_models.symptoms.rows import HARMS, from_document, rows

from tests.support.reported.mysql import a_mysqld
from tests.support.reported.redis import a_redis
from tests.unit.symptoms.case import Case, Numbers, pg
from tests.unit.symptoms.cases import CASES
from tests.unit.symptoms.test_texts import row

LOCKED: Numbers = {"activity.active": 20, "activity.waiting_lock": 19}

PAIRS: tuple[tuple[str, str, str, Numbers], ...] = (
    # who is woken at night looks after clients first, whatever could be lost
    ("postgresql", "all_wait_for_locks", "writes_not_forced", {}),
    ("postgresql", "blocked_by_idle_session", "archive_keeps_nothing", {}),
    ("postgresql", "connections_exhausted", "slot_holds_log", {}),
    ("postgresql", "commits_wait_for_standby", "pages_may_tear", {}),
    ("postgresql", "queue_behind_exclusive_lock", "one_row_contended", {}),
    ("mariadb", "server_locked", "commits_not_on_disk", {}),
    ("mysql", "all_wait_for_locks", "pages_may_tear", {}),
    ("redis", "writes_refused_memory", "log_not_synced", {}),
    ("redis", "clients_paused", "nothing_persisted", {}),
    # then after what loses data or stops the server
    ("postgresql", "writes_not_forced", "sorts_spill", {}),
    ("postgresql", "connections_near_limit", "version_unsupported", {}),
    ("postgresql", "writes_not_forced", "sessions_hidden", {}),
    ("postgresql", "archiving_fails", "passwords_in_clear", {}),
    ("postgresql", "wraparound_near", "errors_not_logged", {}),
    ("postgresql", "data_disk_fills", "open_to_network", {}),
    ("postgresql", "slot_holds_log", "row_locks", {}),
    ("mysql", "commits_not_on_disk", "every_statement_logged", {}),
    ("redis", "memory_full", "dangerous_commands_allowed", {}),
    # then after the time that is lost now, by how much
    ("postgresql", "tables_read_whole", "every_statement_logged", {}),
    ("postgresql", "scans_without_index", "every_statement_logged", {}),
    ("postgresql", "row_locks", "work_mem_tiny", {}),
    # sessions that stand still before what only takes longer
    ("postgresql", "row_locks", "checkpoints_forced", {"activity.active": 9, "activity.waiting_lock": 8.6}),
    ("postgresql", "one_row_contended", "checkpoints_forced", {}),
    ("postgresql", "checkpoints_forced", "row_locks", {"activity.active": 2.2, "activity.waiting_lock": 1}),
    ("postgresql", "sorts_spill", "indexes_unused", {}),
    ("postgresql", "planner_switches_off", "log_verbose", {}),
    # a cause before its consequences
    ("postgresql", "planner_switches_off", "spills_beyond_memory", {}),
    ("postgresql", "jit_for_every_query", "jit_costs", {}),
    ("postgresql", "autovacuum_off", "tables_bloated", {}),
    ("postgresql", "all_wait_for_locks", "connections_exhausted", LOCKED),
    ("postgresql", "commits_wait_for_standby", "row_locks", {}),
)


FRESH = {
    "postgresql": pg(),
    "mysql": a_mysqld("mysql"),
    "mariadb": a_mysqld("mariadb"),
    "redis": a_redis(),
}


def case(engine: str, name: str) -> Case:
    return next(c for c in CASES if c.name == name and c.server.engine == engine)


def together(worse: Case, other: Case, more: Numbers) -> Diagnosis:
    """The server of the one with what the other one has set, in an hour that shows both."""
    usual = FRESH[worse.server.engine].settings
    odd = {n: s for n, s in other.server.settings.items() if n not in usual or usual[n].value != s.value}
    server = replace(worse.server, settings={**worse.server.settings, **odd})
    metrics = {**other.of(other.shown).metrics, **worse.of(worse.shown).metrics, **more}
    window = MeasuredWindow(worse.seconds, metrics, {**other.texts, **worse.texts})
    return diagnose(meet(server), worse.policy, [window])


@pytest.mark.parametrize(("engine", "worse", "other", "more"), PAIRS, ids=[f"{e}-{a}-{b}" for e, a, b, _ in PAIRS])
def test_of_two_that_show_at_once_the_worse_comes_first(engine: str, worse: str, other: str, more: Numbers) -> None:
    found = [s.name for s in together(case(engine, worse), case(engine, other), more).symptoms]
    assert {worse, other} <= {*found}
    assert found.index(worse) < found.index(other), found


@pytest.mark.parametrize("engine", FRESH)
def test_no_note_comes_before_what_is_wrong(engine: str) -> None:
    notes = [c for c in CASES if c.server.engine == engine and c.row.kind in ("note", "enough")]
    wrong = [c for c in CASES if c.server.engine == engine and c.row.kind == "danger"]
    for note, other in zip(notes, wrong, strict=False):
        kinds = [s.kind for s in together(other, note, {}).symptoms]
        assert kinds == sorted(kinds, key=harm)


def test_a_consequence_names_what_it_may_come_of() -> None:
    found = together(case("postgresql", "commits_wait_for_standby"), case("postgresql", "row_locks"), {})
    waits = next(s for s in found.symptoms if s.name == "row_locks")
    assert waits.causes == ("commits_wait_for_standby",)
    assert waits.sentence.count("It may be a consequence of commits_wait_for_standby: look at that first.") == 1


def test_what_brings_about_another_one_is_as_urgent_as_that() -> None:
    alone = {s.name: s.urgency for s in case("postgresql", "jit_for_every_query").diagnosis({}).symptoms}
    found = together(case("postgresql", "jit_for_every_query"), case("postgresql", "jit_costs"), {})
    urgency = {s.name: s.urgency for s in found.symptoms}
    assert urgency["jit_for_every_query"] == max(alone["jit_for_every_query"], urgency["jit_costs"])


def test_one_of_many_sessions_is_less_urgent_than_all_of_them() -> None:
    blocked = case("postgresql", "blocked_by_idle_session")
    one, all_of_them = (blocked.seen({**blocked.shown, "blocking.waiting": n}) for n in (1, 8))
    assert one is not None
    assert all_of_them is not None
    assert one.urgency < all_of_them.urgency
    assert one.strength == all_of_them.strength


@pytest.mark.parametrize("name", ["transactions_left_open", "prepared_transaction_forgotten"])
def test_what_grows_with_its_age_is_a_note_first(name: str) -> None:
    one = case("postgresql", name)
    age = next(m.metric for n, m in one.row.measured.items() if n in one.row.measure.names)
    kinds = [None if (s := one.seen({**one.shown, age: seconds})) is None else s.kind for seconds in (0.5, 2, 3600)]
    assert kinds == [None, "note", one.row.kind]


def test_an_unlogged_table_is_a_danger_where_others_depend_on_its_rows() -> None:
    one = case("postgresql", "tables_unlogged")
    kinds = [s.kind for n in (0, 1) if (s := one.seen({**one.shown, "housekeeping.unlogged_linked": n}))]
    assert kinds == ["note", "danger"]


def test_every_row_has_something_at_stake() -> None:
    assert {r.harm for r in rows()} == {*HARMS}
    assert {r.harm for r in rows() if r.kind == "outage"} == {"work"}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"harm": "ruin"}, "harm 'ruin' is not one of"),
        ({"noted": "2"}, "noted from 2.0 on, which lies beyond begins 1.0"),
    ],
)
def test_a_row_that_contradicts_itself_is_refused(more: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_document(row(**more))


SAID: tuple[tuple[str, str, str, Numbers], ...] = (
    ("redis", "writes_refused_memory", "memory_full", {"memory.used_bytes": 2**30}),
    ("redis", "memory_full", "nothing_may_be_evicted", {"keys.expiring": 0}),
    ("redis", "writes_refused_snapshot", "snapshot_fails", {}),
    ("redis", "backlog_short", "backlog_tiny", {}),
    ("redis", "backlog_small", "backlog_short", {}),
    ("mariadb", "binlogs_fill_disk", "binlogs_kept_for_ever", {}),
)


@pytest.mark.parametrize(("engine", "whole", "part", "more"), SAID, ids=[f"{e}-{a}-{b}" for e, a, b, _ in SAID])
def test_what_another_symptom_says_in_full_is_not_told_a_second_time(
    engine: str, whole: str, part: str, more: Numbers
) -> None:
    saying, said = case(engine, whole), case(engine, part)
    assert part in {s.name for s in said.diagnosis(said.shown).symptoms}
    names = {s.name for s in together(saying, said, more).symptoms}
    assert whole in names
    assert part not in names


def test_whatever_says_another_symptom_in_full_is_at_least_as_harmful() -> None:
    kinds = {r.name: r.kind for r in rows()}
    for one in rows():
        assert all(harm(kinds[whole]) <= harm(one.kind) for whole in one.said_by), one.name


def test_what_others_take_is_a_note_unless_it_is_nearly_all() -> None:
    one = next(c for c in CASES if c.name == "others_take_the_host")
    kinds = [None if (s := one.seen({"host.taken_share": share})) is None else s.kind for share in (0.4, 0.71, 0.95)]
    assert kinds == [None, "note", "elsewhere"]
