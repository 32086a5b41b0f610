"""A study's session, made of its rows alone."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.lab.intervals import Recorded, forecasts
from benchmarks.lab.session import Session, observation, trials
from benchmarks.lab.studies import named
from tests.support.reported.mysql import a_mysqld

pytestmark = pytest.mark.thorough

GB = 2**30


def a_session(name: str = "mariadb-write_only-qps-durable") -> Session:
    study = named(name)
    return Session(study, a_mysqld(study.engine, 4, 2, rotational=True), {"driver": "sysbench", "threads": 16})


def a_row(session: Session, origin: str, qps: float, **settings: Any) -> dict[str, Any]:
    configuration = session.default.replace(settings)
    metrics = {"qps": qps, "p99_ms": 50.0, "host.disk_writes_per_s": 800.0}
    return {
        "kind": "trial",
        "origin": origin,
        "configuration": dict(configuration),
        "asked": {},
        "metrics": metrics,
        "failure": None,
    }


def test_the_first_trial_is_the_default_and_the_second_the_rule_based_start() -> None:
    session = a_session()
    assert session.recommend([]).configuration == session.default
    second = session.recommend([a_row(session, "current", 900.0)])
    assert (second.origin, second.configuration) == ("rule_based", session.rule_based)


def test_the_rule_based_start_is_tried_once_even_where_the_server_rounds_it() -> None:
    session = a_session()
    assert session.history([a_row(session, "current", 900.0)]).warm_starts == (session.rule_based,)
    assert session.history([a_row(session, "rule_based", 950.0)]).warm_starts == ()


def test_changes_are_counted_from_the_default_as_in_a_session_of_the_service() -> None:
    session = a_session()
    rows = [a_row(session, "current", 900.0), a_row(session, "rule_based", 1800.0, innodb_io_capacity=400)]
    assert session.history(rows).baseline == session.default


@pytest.mark.slow
def test_the_same_rows_ask_the_same_question() -> None:
    rows = [a_row(a_session(), "current", 900.0), a_row(a_session(), "rule_based", 1800.0, innodb_io_capacity=400)]
    assert a_session().history(rows).key == a_session().history(rows).key
    assert a_session().recommend(rows) == a_session().recommend(rows)


def test_durability_moves_only_where_the_study_relaxes_it() -> None:
    assert "innodb_flush_log_at_trx_commit" not in a_session().space
    assert "innodb_flush_log_at_trx_commit" in a_session("mariadb-write_only-qps-relaxed").space


def test_how_data_files_are_written_stays_what_the_small_disk_can_count() -> None:
    assert "innodb_flush_method" not in a_session("mariadb-write_only-qps-relaxed").space
    assert "innodb_flush_method" not in a_session("mysql-write_only-qps-relaxed").space


def test_a_better_p99_must_keep_the_defaults_throughput() -> None:
    session = a_session("mariadb-write_only-p99-durable")
    assert session.history([]).limits == ()
    (limit,) = session.history([a_row(session, "current", 900.0), a_row(session, "improvement", 700.0)]).limits
    assert (limit.metric, limit.at_least) == ("qps", 900.0)
    assert a_session().history([a_row(session, "current", 900.0)]).limits == ()


def test_the_two_hand_tuned_settings_are_the_only_ones_that_differ_from_the_default() -> None:
    changed = a_session().default.changes_to(a_session().two_knobs)
    assert set(changed) == {"innodb_buffer_pool_size", "innodb_log_file_size"}
    assert 2.5 * GB < changed["innodb_buffer_pool_size"][1] <= 0.7 * 4 * GB


def test_a_failed_trial_is_a_failed_observation() -> None:
    session = a_session()
    row = {**a_row(session, "improvement", 1.0), "metrics": {}, "failure": "did_not_start: exit 1"}
    assert observation(row).failure == "did_not_start: exit 1"
    assert set(observation(a_row(session, "current", 5.0)).metrics) == {"qps", "p99_ms"}


def test_only_trials_are_learned_from() -> None:
    rows = [{"kind": "about"}, a_row(a_session(), "current", 900.0), {"kind": "final"}]
    assert trials(rows) == rows[1:2]


def test_every_recorded_trial_is_predicted_from_those_before_it() -> None:
    session = a_session()
    sizes = (2**27, 2**28, 2**29, 2**30, 3 * 2**29)
    rows = [a_row(session, "improvement", 500.0 + n, innodb_buffer_pool_size=size) for n, size in enumerate(sizes)]
    gone = [{**row, "configuration": {**row["configuration"], "no_longer_searched": 1}} for row in rows]
    about = {"host": {"memory_bytes": 4 * GB}}
    found = list(forecasts(Recorded("a", session.study, about, gone), session.server))
    assert [(f["known"], f["metric"]) for f in found] == [(3, "qps"), (3, "p99_ms"), (4, "qps"), (4, "p99_ms")]
    assert [f["measured"] for f in found] == [503.0, 50.0, 504.0, 50.0]
    assert all(f["low"] <= f["median"] <= f["high"] for f in found)
