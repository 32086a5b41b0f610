from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lutra_models.server import Host, ServerSetting
from lutra_models.wire import PROTOCOL, Report
from pydantic import ValidationError

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def fields(**changes: Any) -> dict[str, Any]:
    return {
        "agent": "host-1",
        "epoch": "e1",
        "sequence": 0,
        "sent_at": NOW,
        "engine": "postgresql",
        "engine_version": "18.1",
        "host": Host(memory_bytes=1 << 30, cores=2),
        "settings_hash": "abc",
        "window": {"start": NOW - timedelta(seconds=10), "end": NOW},
        "metrics": {"qps": 1.5, "a_new_counter": 3},
        **changes,
    }


def test_a_report_survives_the_network() -> None:
    report = Report(**fields(settings={"work_mem": ServerSetting("4096", "kB", kind="integer", low=64)}))
    assert Report.model_validate_json(report.model_dump_json(exclude_defaults=True)) == report
    assert report.protocol == PROTOCOL


def test_a_text_of_a_report_is_one_line_and_an_earlier_service_is_sent_none() -> None:
    report = Report(**fields(texts={"tables.off_names": "a\x1b[2J\n\u202eb"}))
    assert report.texts == {"tables.off_names": "a?[2J??b"}
    assert "texts" not in Report(**fields()).model_dump(mode="json")


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf"), 1e308, -0.5, "1", True, None])
def test_a_metric_is_a_finite_number_that_is_not_negative(bad: Any) -> None:
    with pytest.raises(ValidationError, match="qps"):
        Report(**fields(metrics={"qps": bad}))


@pytest.mark.parametrize(
    "changes",
    [
        {"window": {"start": NOW, "end": NOW + timedelta(seconds=1)}},
        {"window": {"start": NOW, "end": NOW}},
        {"window": None},
        {"sent_at": datetime(2026, 1, 1)},
        {"sequence": -1},
        {"agent": "no spaces"},
        {"agent": "x" * 65},
        {"protocol": 2},
        {"password": "hunter2"},
        {"metrics": {"p99_ms": 3.0}},
        {"metrics": {"1; drop table": 3.0}},
        {"metrics": {}, "texts": {"a.names": "t"}, "window": None},
        {"texts": {"1; drop table": "t"}},
        {"texts": {"a.names": "x" * 201}},
        {"texts": {"a.names": 3}},
        {"texts": {f"a.n{n}": "t" for n in range(51)}},
        {"engine_version": "9" * 100},
        {"host": {"memory_bytes": 0, "cores": 2}},
    ],
)
def test_an_incoherent_report_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Report(**fields(**changes))


def test_a_p99_names_its_source_and_what_it_is_of() -> None:
    report = Report(**fields(metrics={"p99_ms": 3.0}, p99_source="driver", p99_of="transaction"))
    assert report.p99_of == "transaction"


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_parsing_is_total_on_arbitrary_json(value: Any) -> None:
    with pytest.raises(ValidationError):
        Report.model_validate(value)
