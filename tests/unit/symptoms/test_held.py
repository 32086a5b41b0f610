"""Dead rows that somebody may still read: the holder is named, and no setting is offered for what it cannot move."""

from __future__ import annotations

import pytest
from lutra_models.catalog import meet
from lutra_models.server import Policy
from lutra_models.symptoms import Symptom, diagnose

from tests.support.reported.postgresql import a_server
from tests.unit.symptoms.case import Numbers
from tests.unit.symptoms.cases import CASES
from tests.unit.symptoms.postgresql import HELD_BY_NOBODY

WRAPAROUND = next(c for c in CASES if c.name == "wraparound_near")
HELD = next(c for c in CASES if c.name == "dead_rows_held")
OLD = {"vacuum.oldest_xid_age": 1.2e9}


def wraparound(more: Numbers) -> Symptom:
    found = WRAPAROUND.seen({**HELD_BY_NOBODY, **OLD, **more})
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("kind", "named", "release"),
    [
        ("session_xids", "an open transaction", "pg_stat_activity"),
        ("prepared_xids", "a prepared transaction", "ROLLBACK PREPARED"),
        ("slot_xids", "a replication slot", "drop the slot"),
        ("standby_xids", "a standby with hot_standby_feedback", "pg_stat_replication"),
    ],
)
def test_the_holder_is_named_with_the_way_to_end_it(kind: str, named: str, release: str) -> None:
    found = HELD.seen({**HELD.shown, "horizon.prepared_xids": 0, f"horizon.{kind}": 40_000})
    assert found is not None
    assert (named in found.sentence, release in found.sentence) == (True, True)
    assert (found.kind, found.cures) == ("elsewhere", ())


@pytest.mark.parametrize(
    ("held", "named"),
    [
        ({"horizon.prepared_xids": 1.1e9, "horizon.server_xids": 1.1e9}, "a prepared transaction"),
        ({"horizon.slot_catalog_xids": 1.1e9, "horizon.server_xids": 1.1e9}, "a replication slot (catalog_xmin)"),
        ({"horizon.server_xids": 7e8}, "a transaction in another database"),
    ],
)
def test_near_wraparound_no_setting_is_offered_while_somebody_holds_what_would_be_frozen(
    held: Numbers, named: str
) -> None:
    found = wraparound(held)
    assert found.cures == ()
    assert f"Vacuum cannot freeze rows that {named} still needs" in found.sentence
    assert [c.setting for c in wraparound({"horizon.server_xids": 5e8}).cures] == ["autovacuum_vacuum_cost_limit"]


def test_where_the_holders_are_not_known_it_is_told_and_no_setting_is_offered() -> None:
    shown = HELD.of({**HELD.shown, **OLD, "horizon.xids": 0})
    unknown = {n: v for n, v in shown.metrics.items() if not n.startswith("horizon.")}
    found = {s.name: s for s in diagnose(meet(a_server()), Policy(), [type(shown)(60.0, unknown)]).symptoms}
    assert not {n for n in found if n.startswith("autovacuum_")} - {"autovacuum_keeps_up"}
    assert found["wraparound_near"].cures == ()
    assert "The holder is unknown here" in found["wraparound_near"].sentence
