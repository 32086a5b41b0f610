"""Tables and records are declared beside each other; here they are compared, column by column."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum

import pytest
from lutra_models.errors import DecisionCode, Failure, Party
from lutra_models.evidence import Basis, Change, TurnedDown
from lutra_models.lifecycle import Origin, RecommendationKind, RecommendationState
from lutra_service.db.repositories.repository import Repository
from lutra_service.db.schema.outcome import ChangeOutcome
from lutra_service.db.schema.recommendation import (
    Decision,
    Delivery,
    Measurement,
    Proposal,
    Recommendation,
    Request,
)
from lutra_service.db.schema.rows import FORMS, Column, rows_of
from lutra_service.db.schema.tables import UtcDateTime
from lutra_service.db.store import UnitOfWork
from sqlalchemy import JSON, Boolean, Float, Integer, String

SEARCHED = {"recommendations": {"digest", "turned_down_at"}}
"""Columns that follow from others; records have no such field."""
SQL = {str: String, int: Integer, bool: Boolean, float: Float, datetime: UtcDateTime, dict: JSON, list: JSON}
NOW = datetime(2027, 3, 1, 18, tzinfo=UTC)


def repositories() -> list[type[Repository[typing.Any]]]:
    assert UnitOfWork, "its module imports them all"
    return [made for made in Repository.__subclasses__() if hasattr(made, "record")]


def columns_of(record: type) -> Iterator[tuple[Column, bool]]:
    """Each with whether its value may be missing."""
    rows = rows_of(record)
    yield from ((column, column.is_nullable) for column in rows.columns.values())
    for part in rows.parts.values():
        yield from ((column, column.is_nullable or part.is_nullable) for column in part.columns)


def plain(column: Column) -> type:
    """The Python type of what is stored."""
    kind = typing.get_origin(column.type) or column.type
    if column.type in FORMS:
        return dict
    if kind is typing.Literal or (isinstance(kind, type) and issubclass(kind, StrEnum)):
        return str
    return kind


@pytest.mark.parametrize("repository", repositories(), ids=lambda made: made.__name__)
def test_a_record_has_the_columns_of_its_table(repository: type[Repository[typing.Any]]) -> None:
    table = repository.row.__table__
    fields = {c.name: (c, may_lack) for c, may_lack in columns_of(repository.record)}
    assert fields.keys() == {c.name for c in table.columns} - SEARCHED.get(table.name, set())
    for name, (column, may_lack) in fields.items():
        stored = table.columns[name]
        assert isinstance(stored.type, SQL[plain(column)]), name
        assert stored.nullable == may_lack or stored.primary_key, name


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
