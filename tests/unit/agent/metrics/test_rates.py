from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st
from lutra_agent.engines.common.telemetry import Reading, Sample
from lutra_agent.metrics.rates import Discarded, Span, span

from tests.support.fakes.clock import START

count = st.floats(min_value=0, max_value=1e15)
readings = st.dictionaries(
    st.sampled_from(["database", "wal", "io"]),
    st.builds(
        Reading,
        st.dictionaries(st.sampled_from("abc"), count),
        st.dictionaries(st.sampled_from("xy"), count),
        st.sampled_from(["", "2026"]),
    ),
)


def sample(seconds: float, wall: float | None = None, **found: Reading) -> Sample:
    return Sample(START + timedelta(seconds=seconds if wall is None else wall), seconds, found)


def rates(before: Sample, after: Sample) -> dict[str, float]:
    found = span(before, after)
    assert isinstance(found, Span)
    return found.rates


def test_counters_become_rates_and_gauges_their_mean_and_what_they_are_now() -> None:
    found = rates(
        sample(0, database=Reading({"commits": 100}, {"backends": 4, "off": 1})),
        sample(10, database=Reading({"commits": 600}, {"backends": 8, "off": 1})),
    )
    assert found == {
        "database.commits_per_s": 50,
        "database.backends": 6,
        "database.backends_now": 8,
        "database.off": 1,
    }


@given(readings, readings, st.floats(0.1, 100))
def test_a_rate_is_never_negative_and_a_reset_never_gives_one(
    before: dict[str, Reading], after: dict[str, Reading], seconds: float
) -> None:
    found = span(Sample(START, 0, before), Sample(START + timedelta(seconds=seconds), seconds, after))
    assert isinstance(found, Discarded) or all(v >= 0 for v in found.rates.values())


def test_texts_are_those_of_the_end() -> None:
    found = span(
        sample(0, tables=Reading({"rows": 5}, texts={"names": "old"})),
        sample(10, tables=Reading({"rows": 3}, texts={"names": "new"}), slots=Reading(texts={"names": "s"})),
    )
    assert isinstance(found, Span)
    assert found.texts == {"tables.names": "new", "slots.names": "s"}


def test_a_counter_that_goes_back_costs_its_collectors_rates_alone() -> None:
    found = span(
        sample(0, wal=Reading({"bytes": 5}), database=Reading({"commits": 10}, {"backends": 4})),
        sample(10, wal=Reading({"bytes": 15}), database=Reading({"commits": 3}, {"backends": 6})),
    )
    assert isinstance(found, Span)
    assert found.rates == {"wal.bytes_per_s": 1, "database.backends": 6}
    assert found.problems == ("database: commits decreased from 10 to 3",)


def test_a_reset_that_the_counters_do_not_show_costs_its_collectors_rates_alone() -> None:
    found = span(
        sample(0, wal=Reading({"bytes": 5}, epoch="monday"), io=Reading({"reads": 1})),
        sample(10, wal=Reading({"bytes": 9}, epoch="tuesday"), io=Reading({"reads": 21})),
    )
    assert isinstance(found, Span)
    assert found.rates == {"io.reads_per_s": 2}
    assert found.problems == ("wal: the counters were reset, or count other objects (monday → tuesday)",)


def test_another_run_of_the_server_discards_the_window() -> None:
    found = span(sample(0, server=Reading(epoch="monday")), sample(10, server=Reading(epoch="tuesday")))
    assert isinstance(found, Discarded)
    assert "tuesday" in found.reason


def test_a_collector_that_was_missing_once_is_absent_and_the_others_are_there() -> None:
    found = rates(
        sample(0, wal=Reading({"bytes": 5})), sample(10, wal=Reading({"bytes": 15}), io=Reading({"reads": 5}))
    )
    assert found == {"wal.bytes_per_s": 1}


def test_a_jump_of_the_clock_discards_the_window() -> None:
    assert isinstance(span(sample(0), sample(10, wall=3600)), Discarded)
    assert isinstance(span(sample(0), sample(10, wall=-5)), Discarded)
    assert isinstance(span(sample(5), sample(5)), Discarded)
