"""A record is declared once: its table's columns, and how it is stored and read, follow from its fields."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pytest
from lutra_models.errors import DecisionCode, Failure, Party
from lutra_models.evidence import Basis, Change, TurnedDown
from lutra_models.lifecycle import Origin, RecommendationKind, RecommendationState
from lutra_service.db.schema.outcome import ChangeOutcome
from lutra_service.db.schema.recommendation import (
    Decision,
    Delivery,
    Measurement,
    Proposal,
    Recommendation,
    Request,
)
from lutra_service.db.schema.rows import rows_of

NOW = datetime(2027, 3, 1, 18, tzinfo=UTC)


def whole() -> Recommendation:
    """With every part."""
    told = TurnedDown((Change("work_mem", 4096, 8192),), "rejected", NOW, Basis("15.6", 2**30, 4), "too much")
    return Recommendation(
        "rec_1",
        "db_1",
        RecommendationKind.SEARCH,
        RecommendationState.REVERTED,
        Request("key", 1, "1.0", {"work_mem": 4096}, NOW),
        proposal=Proposal({"work_mem": 8192}, Origin.EVIDENCE, changes=[{"setting": "work_mem"}], proposed_at=NOW),
        decision=Decision(NOW, "tok_1", NOW, "too much", told),
        delivery=Delivery(NOW, "agent/1", NOW, ChangeOutcome({"state": "applied"})),
        measurement=Measurement({"qps": 1.0}),
        failure=Failure(DecisionCode.ROLLED_BACK, "why", Party.OPERATOR),
    )


def test_what_is_written_of_a_recommendation_is_read_again() -> None:
    rows = rows_of(Recommendation)
    asked = replace(whole(), proposal=None, decision=None, delivery=None, measurement=None)
    for record in (whole(), asked):
        assert rows.read(rows.written(rows.fields(record))) == record


def test_a_part_is_written_whole_and_none_of_its_columns_alone() -> None:
    rows = rows_of(Recommendation)
    assert rows.written({"delivery": Delivery(handed_out_at=NOW)}) == {
        "handed_out_at": NOW,
        "handed_to": None,
        "applied_at": None,
        "outcome": None,
        "withdrawn_at": None,
        "withdrawn_by": None,
    }
    with pytest.raises(ValueError, match="handed_to is not a field of Recommendation"):
        rows.written({"handed_to": "agent/1"})


def test_a_text_without_a_length_is_refused() -> None:
    @dataclass(frozen=True)
    class Note:
        words: str

    ((column, may_lack),) = rows_of(Note).all_columns()
    with pytest.raises(ValueError, match="words: a text has a length"):
        column.stored.column(column.name, column.type, may_lack)
