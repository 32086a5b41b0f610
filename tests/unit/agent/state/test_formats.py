"""What lies in the state folder, byte by byte: an upgraded agent has to understand the files of a release."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from lutra_agent.admission import bounds, past_configurations
from lutra_agent.files.saved_file import SavedFile
from lutra_agent.guardrails.evaluate import WindowReading
from lutra_agent.state.change_events import (
    Answered,
    Applied,
    Begun,
    Confirmed,
    Reported,
    Restarting,
    UndoBegun,
    UndoProgressed,
    WindowPassed,
)
from lutra_agent.state.change_store import ChangeStore
from lutra_agent.state.snapshot import BASELINE, Snapshot, store_snapshots
from lutra_agent.state.store import State
from lutra_models.server import SERVER
from lutra_models.wire import Outcome

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(minutes=5)
BEFORE = Snapshot({"x": None}, {"x": "1"}, SavedFile(Path("/d/f"), b"x", 0o600, (1, 2)), Path("/d"))
KEPT = (
    '{"texts":{"x":null},"active":{"x":"1"},'
    '"file":{"path":"/d/f","content":"eA==","mode":384,"owner":[1,2]},"data_dir":"/d"}'
)


def outcome(directive: str, state: str, confirm_by: str = "null") -> str:
    return (
        f'{{"directive":"{directive}","state":"{state}","code":null,"message":"","active":{{}},"restarted":false,'
        f'"confirm_by":{confirm_by},"at":"2026-03-01T12:00:00Z"}}'
    )


def record(directive: str, stage: str, **fields: str) -> str:
    """Its fields in their order, with what they are where nothing is said of them."""
    nothing = {
        "names": "[]",
        "before": "{}",
        "restarted": "false",
        "confirm_by": "null",
        "windows": "0",
        "watch_until": "null",
        "undo": "null",
        "measured": "false",
        "outcome": "null",
        "unreported": "[]",
        "texts": "{}",
    }
    text = ",".join(f'"{name}":{value}' for name, value in {**nothing, **fields}.items())
    return f'{{"directive":"{directive}","stage":"{stage}",{text}}}'


def test_the_records_of_changes_keep_their_format(tmp_path: Path) -> None:
    changes, file = ChangeStore(State(tmp_path)), tmp_path / "changes.json"
    alive = {"names": '["x"]', "before": f'{{"server":{KEPT}}}'}
    refused = Outcome(directive="rec_0", state="refused", at=NOON)
    applied = Outcome(directive="rec_1", state="applied", at=NOON, confirm_by=LATER)
    confirmed = Outcome(directive="rec_1", state="confirmed", at=NOON)

    def found(*records: str) -> bool:
        return file.read_text() == f'{{"records":[{",".join(records)}]}}'

    changes.write(Answered(refused, measured=True))
    changes.write(Reported((refused,)))
    first = record("rec_0", "done", measured="true", outcome=outcome("rec_0", "refused"))
    assert found(first)
    changes.write(Begun("rec_1", ("x",), {SERVER: BEFORE}))
    assert found(first, record("rec_1", "applying", **alive))
    changes.write(Restarting("rec_1"))
    assert found(first, record("rec_1", "restarting", **alive, restarted="true"))
    changes.write(Applied(applied))
    changes.write(WindowPassed("rec_1", NOON))
    text, alive["restarted"] = outcome("rec_1", "applied", '"2026-03-01T12:05:00Z"'), "true"
    more = {"windows": "1", "outcome": text, "unreported": f"[{text}]"}
    assert found(first, record("rec_1", "provisional", **alive, confirm_by='"2026-03-01T12:05:00Z"', **more))
    changes.write(Confirmed(confirmed, NOON, LATER))
    more["outcome"], more["unreported"] = outcome("rec_1", "confirmed"), f"[{text},{outcome('rec_1', 'confirmed')}]"
    assert found(first, record("rec_1", "watching", **alive, watch_until='"2026-03-01T12:05:00Z"', **more))
    changes.write(UndoBegun("rec_1", "guardrail", "why"))
    changes.write(UndoProgressed("rec_1", "restarted"))
    undo = '{"code":"guardrail","reason":"why","progress":"restarted"}'
    assert found(first, record("rec_1", "undoing", **alive, undo=undo, **more))


def test_each_other_file_keeps_its_format(tmp_path: Path) -> None:
    state = State(tmp_path)
    store_snapshots(state, BASELINE, {SERVER: BEFORE})
    bounds.record_change(state, True, NOON)
    past_configurations.remember(state, {"x": "1"}, lab=False)
    assert {p.name: p.read_text() for p in tmp_path.glob("*.json")} == {
        "baseline.json": KEPT,
        "pace.json": '[["2026-03-01T12:00:00+00:00",true]]',
        "history.json": '[{"active":{"x":"1"},"lab":false}]',
    }


def test_a_reading_of_the_guardrails_is_stored_as_ever() -> None:
    document = {"start": "2026-03-01T12:00:00+00:00", "end": "2026-03-01T12:00:00+00:00", "values": {"qps": 5.0}}
    assert WindowReading(NOON, NOON, {"qps": 5.0}).to_dict() == document
    assert WindowReading.from_dict(document).to_dict() == document
