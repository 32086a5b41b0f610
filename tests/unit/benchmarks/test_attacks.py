"""The parts of the attacks that judge: a harness that sees nothing keeps every promise."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from lutra_agent.commands.agent_file import parse
from lutra_agent.config.types import Config
from lutra_models.maintenance import WEEKDAYS, MaintenanceWindow

from benchmarks.attacks import hostile_oracle, plugin
from benchmarks.attacks.fuzz_checks import Checks
from benchmarks.attacks.fuzz_requests import Call, Sent
from benchmarks.attacks.fuzz_values import Values
from benchmarks.attacks.fuzz_world import Owned, World
from benchmarks.attacks.hostile_clock import JumpingClock
from benchmarks.attacks.hostile_directives import KINDS, Liar
from benchmarks.attacks.hostile_oracle import Moment
from benchmarks.attacks.verdicts import Verdict, conclude
from tests.support.reported.postgresql import a_server

pytestmark = pytest.mark.thorough

AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
MARK = "foreign-1234"


def world() -> World:
    """Without a service: what the checks read of it."""
    made = World.__new__(World)
    answer = {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}}
    operation = {"responses": {"200": {"content": {"application/json": {"schema": answer}}}, "404": {"content": {}}}}
    made.document = {"paths": {"/v1/databases/{database}": {"get": operation}}}
    made.mark, made.own, made.foreign = MARK, Owned({"database": ["db_own"]}), Owned({"database": ["db_theirs"]})
    return made


def kinds_of(
    status: int, body: Any, scope: str = "read", foreign: bool = False, kind: str = "application/json"
) -> list[str]:
    made = world()
    template = "/v1/databases/{database}"
    call = Call("get", template, made.document["paths"][template]["get"])
    sent = Sent(call, "GET", "/v1/databases/db_x", {}, None, foreign)
    answer = httpx.Response(status, content=json.dumps(body).encode(), headers={"content-type": kind})
    return [found for found, _ in Checks(made, scope).faults(sent, answer)]


def test_an_answer_as_the_document_says_is_no_fault() -> None:
    assert kinds_of(200, {"id": "db_own"}) == []


@pytest.mark.parametrize(
    ("status", "body", "more", "found"),
    [
        (500, {}, {}, "5xx"),
        (202, {"id": "x"}, {}, "undocumented status"),
        (200, {"id": 7}, {}, "answer breaks its schema"),
        (200, {"id": "x"}, {"kind": "text/csv"}, "undocumented content type"),
        (200, {"id": "x"}, {"scope": "none"}, "let in without a token"),
        (200, {"id": "x"}, {"foreign": True}, "foreign database reached"),
        (200, {"id": MARK}, {}, "foreign name in the answer"),
        (200, {"id": "db_theirs"}, {}, "foreign id in the answer"),
    ],
)
def test_each_kind_of_fault_is_seen(status: int, body: Any, more: dict[str, Any], found: str) -> None:
    assert kinds_of(status, body, **more) == [found]


def test_values_without_oddities_fit_their_schema() -> None:
    schema = {
        "type": "object",
        "required": ["n"],
        "properties": {"n": {"type": "integer", "minimum": 3, "maximum": 5}, "s": {"enum": ["a", "b"]}},
    }
    values = Values({}, random.Random(1), odd_share=0.0)
    for _ in range(50):
        made = values.of(schema)
        assert 3 <= made["n"] <= 5
        assert made.get("s", "a") in ("a", "b")


def test_a_changed_document_leaves_the_right_one_as_it_was() -> None:
    right = {"a": {"b": [1, 2, 3]}}
    values = Values({}, random.Random(1))
    changed = [values.changed(right) for _ in range(50)]
    assert right == {"a": {"b": [1, 2, 3]}}
    assert sum(repr(one) != repr(right) for one in changed) > 40


def test_every_kind_of_hostile_directive_can_be_made() -> None:
    liar = Liar(a_server(), random.Random(1), lambda: AT)
    for _, make, _ in KINDS:
        assert json.dumps(make(liar)["settings"])
    made = [liar.directive() for _ in range(300)]
    assert {kind for kind, _ in made} == {kind for kind, _, _ in KINDS}


def test_a_sleep_moves_the_jumping_clock_by_at_least_its_length() -> None:
    clock = JumpingClock(AT)
    before = clock.monotonic()
    clock.sleep(10)
    assert clock.monotonic() - before >= 10
    assert clock.now() >= AT + timedelta(seconds=10)


def config(tmp_path: Path) -> Config:
    service = {"url": "http://127.0.0.1:1", "database": "db_1"}
    database = {"engine": "postgresql", "host": "127.0.0.1", "port": 5432, "dbname": "postgres"}
    return parse({"service": service, "database": database, "agent": {"state_dir": str(tmp_path)}})


def outcome(state: str, after_s: float = 0.0, **more: Any) -> Mapping[str, Any]:
    at = (AT + timedelta(seconds=after_s)).isoformat()
    return {"directive": "rec_1", "state": state, "at": at, "active": {"work_mem": 8192}, **more}


def late(tmp_path: Path, *outcomes: Mapping[str, Any]) -> list[str]:
    found = replace(config(tmp_path))
    return list(hostile_oracle.late(found, list(outcomes), {"work_mem": {4096}}, AT + timedelta(hours=3)))


def test_a_provisional_change_that_ends_in_time_is_no_fault(tmp_path: Path) -> None:
    confirm_by = (AT + timedelta(seconds=900)).isoformat()
    assert late(tmp_path, outcome("applied", confirm_by=confirm_by), outcome("reverted", 910)) == []


def test_a_provisional_change_without_an_end_and_a_late_one_are_faults(tmp_path: Path) -> None:
    confirm_by = (AT + timedelta(seconds=900)).isoformat()
    assert len(late(tmp_path, outcome("applied", confirm_by=confirm_by))) == 1
    assert len(late(tmp_path, outcome("applied", confirm_by=confirm_by), outcome("reverted", 5000))) == 1


def test_a_change_to_a_new_value_that_needs_no_confirmation_is_a_fault_and_one_to_an_old_value_is_none(
    tmp_path: Path,
) -> None:
    assert len(late(tmp_path, outcome("applied"))) == 1
    assert late(tmp_path, outcome("applied", active={"work_mem": 4096})) == []


def test_a_value_that_no_outcome_explains_is_a_fault() -> None:
    moments = [Moment(AT, {"work_mem": 8192, "jit": "off"}, "start")]
    found = list(hostile_oracle.unexplained(moments, [dict(outcome("applied"))], {}))
    assert len(found) == 1
    assert "jit" in found[0]


def test_a_restart_outside_the_maintenance_windows_is_a_fault_and_an_undo_waits_for_none() -> None:
    night = (MaintenanceWindow(WEEKDAYS, "02:00", 60),)
    noon = (MaintenanceWindow(WEEKDAYS, "11:30", 60),)
    known = {"work_mem": {4096}}
    made = dict(outcome("applied", restarted=True, active={"work_mem": 8192}))
    undone = dict(outcome("reverted", 60, restarted=True))
    assert len(list(hostile_oracle.restarts_outside([made, undone], known, night))) == 1
    assert list(hostile_oracle.restarts_outside([made, undone], known, noon)) == []
    rollback = made | {"active": {"work_mem": 4096}, "confirm_by": None}
    assert list(hostile_oracle.restarts_outside([rollback], known, night)) == []
    to_new = made | {"confirm_by": None}
    assert len(list(hostile_oracle.restarts_outside([to_new], known, night))) == 1


def test_a_broken_promise_ends_with_status_1_and_is_written_down(tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    with pytest.raises(SystemExit) as ended:
        conclude("strangers", [Verdict("memory", "90 MB", "< 50 MB", False)], {}, out)
    assert ended.value.code == 1
    assert json.loads(out.read_text())["verdicts"][0]["kept"] is False


@pytest.mark.parametrize(("burns", "kept"), [(110.0, True), (180.0, False)])
def test_a_candidate_that_slows_recommendations_breaks_its_promise(burns: float, kept: bool) -> None:
    found = {
        "quiet": [100.0, 100.0, 100.0],
        "loud": [("sleeps", 105.0), ("burns", burns)],
        "errors": [],
        "ended": "the computation was lost: it gave no answer within 60 s",
    }
    assert plugin.ratios(found)["burns"] == burns / 100
    assert [v.kept for v in plugin.judged(found)] == [kept, True, True]
    assert [v.kept for v in plugin.judged({**found, "ended": "None", "errors": ["500"]})][1:] == [False, False]
