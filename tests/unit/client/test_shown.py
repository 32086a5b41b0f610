"""What a recommendation says on a terminal of what it should give."""

from __future__ import annotations

from typing import Any

from lutra_client.commands import shown

STEP = {"text": "SET GLOBAL work_mem = 8192", "file": "", "section": ""}
LINE = {"text": "loose_work_mem = 8192\x1b[2J", "file": "database.include_file", "section": "mariadb"}
PREDICTED = {"median": 45.7, "low": 18.3, "high": 160.7, "level": 0.9, "far": False}


def change(setting: str, applies: str = "immediate", *steps: dict[str, str]) -> dict[str, Any]:
    return {"setting": setting, "before_text": "4MB", "after_text": "8MB", "applies": applies, "do_steps": [*steps]}


def point(added: str, share: float, low: float) -> dict[str, Any]:
    return {"added": [added] if added else [], "share": share, "low": low, "high": 2 - low}


def told(now: dict[str, float] | None = None, **more: Any) -> str:
    found: Any = {"id": "rec_1", "state": "proposed", "origin": "evidence", "predictions": {}, "curve": []}
    empty = ("looked_at", "reasons", "changes", "leans_on", "memory", "warnings", "waits")
    empty += ("failed", "failure", "error", "reason", "judgement")
    return shown.recommendation({**dict.fromkeys(empty), **found, **more}, now)


def test_a_share_of_the_gain_is_told_only_where_the_model_can_tell_it_from_none() -> None:
    guess = [point("", 0, -18.3), point("jit", 0.85, -6.4), point("work_mem", 0.98, -1.9), point("wal", 1, 1)]
    assert "gain" not in told(curve=guess, changes=[change("jit")])
    known = [point("", 0, 0), point("jit", 0.85, 0.6), point("work_mem", 0.98, 0.9), point("wal", 1, 1)]
    assert "of that gain: 85% by 1 of the settings (jit); 98% by 2 of the settings (jit, work_mem)" in told(
        curve=known, changes=[change("jit")]
    )
    assert "gain" not in told(curve=[point("", 0, 0), point("jit", 1, 1)], changes=[change("jit")])
    assert "gain" not in told(curve=known, changes=[])


def test_a_cause_is_told_once() -> None:
    failure = {"code": "guardrail", "message": "qps: qps is 0", "by": "agent"}
    found = told(state="reverted", failure=failure, error="guardrail: qps: qps is 0", reason="qps: qps is 0")
    assert found.count("qps is 0") == 1
    assert "reason: not before the sale" in told(state="rejected", reason="not before the sale")


def test_what_is_expected_stands_beside_what_is_measured_now() -> None:
    found = told({"p99_ms": 44.0}, predictions={"p99_ms": PREDICTED, "qps": PREDICTED})
    assert "expected: p99_ms 45.7 (18.3 to 160.7, 90%)" in found
    assert "measured now: p99_ms 44 (medians of the newest windows)" in found
    assert "measured now" not in told(predictions={"qps": PREDICTED})


def test_whoever_makes_the_change_by_hand_reads_what_to_execute() -> None:
    lines = told(changes=[change("work_mem", "immediate", STEP, LINE), change("jit", "restart")]).splitlines()
    begin = lines.index("statements:")
    assert lines[begin + 1 :] == [
        "  SET GLOBAL work_mem = 8192;",
        "  # database.include_file",
        "  [mariadb]",
        "  loose_work_mem = 8192?[2J",
        "  # then a restart",
    ]
    assert "executed" not in told(changes=[change("work_mem", "immediate", STEP)], state="confirmed")
    assert "executed" not in told(changes=[change("work_mem")])


def test_a_service_says_nothing_that_a_terminal_obeys() -> None:
    bad = "\x1b]0;owned\x07"
    assert told(id=f"rec_1{bad}", state=f"proposed{bad}", origin=f"evidence{bad}").startswith("rec_1?]0;owned?  propo")
    lines = {"id": f"ts_1{bad}", "state": bad, "objective": {"goal": bad, "metric": bad}, "effective_mode": bad}
    lines["mode"] = f"lab{bad}"
    found: Any = {**lines, "trials_done": 1, "max_trials": 2, "message": bad, "leaning": {"sentence": bad}}
    assert all(line.isprintable() for line in (*told(origin=bad).split("\n"), *shown.session(found).split("\n")))


def test_each_finding_has_a_line_of_its_own_and_what_it_asks_for_comes_before_the_rules() -> None:
    looked_at = {"sentence": "Outage: a.\nFault: b.\nProposed: 2 changes.", "notes": []}
    reasons = [{"setting": n, "sentence": "so", "against": ""} for n in ("work_mem", "jit")]
    lines = told(looked_at=looked_at, reasons=reasons, changes=[change("jit"), change("work_mem")]).splitlines()
    assert lines[1:4] == ["Outage: a.", "Fault: b.", "Proposed: 2 changes."]
    assert [line.split()[0] for line in lines if "→" in line] == ["work_mem", "jit"]
