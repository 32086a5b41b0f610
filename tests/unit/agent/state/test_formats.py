"""What lies in the state folder, byte by byte: an upgraded agent has to understand an earlier one's files."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from lutra_agent.admission import pace, past_configurations
from lutra_agent.files.saved_file import SavedFile
from lutra_agent.guardrails.evaluate import WindowReading
from lutra_agent.state.journal import Journal
from lutra_agent.state.outbox import Outbox
from lutra_agent.state.provisional import Provisional
from lutra_agent.state.restore_progress import RestoreProgress
from lutra_agent.state.snapshot import BASELINE, Snapshot, store_snapshot
from lutra_agent.state.store import State
from lutra_models.wire import Outcome

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
BEFORE = Snapshot({"x": None}, {"x": "1"}, SavedFile(Path("/d/f"), b"x", 0o600, (1, 2)), Path("/d"))
KEPT = (
    '{"texts":{"x":null},"active":{"x":"1"},'
    '"file":{"path":"/d/f","content":"eA==","mode":384,"owner":[1,2]},"data_dir":"/d"}'
)
TOLD = (
    '{"directive":"rec_1","state":"applied","code":null,"message":"","active":{},"restarted":false,'
    '"confirm_by":null,"at":"2026-03-01T12:00:00Z"}'
)


def test_each_file_says_what_earlier_agents_made_it_say(tmp_path: Path) -> None:
    state = State(tmp_path)
    outcome = Outcome(directive="rec_1", state="applied", at=NOON)
    journal = Journal.begin(state, "rec_1", ("x",), BEFORE)
    journal.restarting()
    journal.failed("did_not_start", "why")
    Provisional("rec_1", ("x",), BEFORE.to_dict(), True, NOON, NOON).keep(state)
    store_snapshot(state, BASELINE, BEFORE)
    progress = RestoreProgress(state)
    state.record_outcome(outcome)
    Outbox(state).add_outcome(outcome)
    pace.record(state, True, NOON)
    past_configurations.remember(state, {"x": "1"}, lab=False)
    stages = []
    for note in (progress.note_started, progress.note_restarted):
        note()
        stages.append((tmp_path / "way_back.json").read_text())
    assert stages == ['{"stage":"begun"}', '{"stage":"arrived"}']
    assert {p.name: p.read_text() for p in tmp_path.glob("*.json") if p.name != "way_back.json"} == {
        "journal.json": '{"directive":"rec_1","names":["x"],"snapshot":' + KEPT + ","
        '"restarting":true,"failed":"why","code":"did_not_start"}',
        "provisional.json": '{"directive":"rec_1","names":["x"],"snapshot":' + KEPT + ',"restarted":true,'
        '"applied_at":"2026-03-01T12:00:00+00:00","confirm_by":"2026-03-01T12:00:00+00:00","windows":0,'
        '"watched_until":null}',
        "baseline.json": KEPT,
        "answers.json": '{"rec_1":{"outcome":' + TOLD + ',"reported":false}}',
        "outcomes.json": "[" + TOLD + "]",
        "pace.json": '[["2026-03-01T12:00:00+00:00",true]]',
        "history.json": '[{"active":{"x":"1"},"lab":false}]',
    }


def test_a_reading_of_the_guardrails_is_stored_as_ever() -> None:
    document = {"start": "2026-03-01T12:00:00+00:00", "end": "2026-03-01T12:00:00+00:00", "values": {"qps": 5.0}}
    assert WindowReading(NOON, NOON, {"qps": 5.0}).to_dict() == document
    assert WindowReading.from_dict(document).to_dict() == document
