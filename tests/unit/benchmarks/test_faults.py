from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from lutra_models.symptoms.rows import rows

from benchmarks.faults.__main__ import main
from benchmarks.faults.fault import Fault
from benchmarks.faults.faults import FAULTS
from benchmarks.faults.report import ROWS, write
from benchmarks.faults.run import place
from benchmarks.tuning.rows import Results

pytestmark = pytest.mark.thorough

EVERY = [(usual, fault) for usual, faults in FAULTS.items() for fault in faults]


def row(**more: Any) -> dict[str, Any]:
    line = ["danger", "writes_not_forced", 1.0, "fsync is off."]
    made = {"fault": "fsync off", "server": "postgres15", "family": "safety", "place": 1, "gone": True, "lines": [line]}
    return {**made, **more}


def test_every_cause_is_a_finding_and_every_fault_has_a_name_of_its_own() -> None:
    known = {r.name for r in rows()}
    assert {(fault.name, cause) for _, fault in EVERY for cause in fault.causes - known} == set()
    names = [(fault.server or usual, fault.name) for usual, fault in EVERY]
    assert len(names) == len(set(names))


def test_a_fault_without_a_cause_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing: causes"):
        Fault("nothing", "safety", frozenset())


def test_the_first_finding_that_names_it_counts() -> None:
    assert place((), frozenset({"fsync"})) is None


def test_a_report_counts_what_was_named_in_the_first_three_lines(tmp_path: Path) -> None:
    file = Results(tmp_path / ROWS, ("fault",))
    file.add(row())
    file.add(row(fault="seen late", place=4, gone=None))
    file.add(row(fault="missed", place=None, gone=None, lines=[]))
    text = write(tmp_path).read_text()
    assert "| postgres15 | 3 | 1 | 1 | 1 |" in text
    assert "| postgres15 | safety | missed | not |  | nothing |" in text


def test_answers_that_begin_alike_are_counted_once_whatever_their_numbers(tmp_path: Path) -> None:
    file = Results(tmp_path / ROWS, ("fault",))
    file.add(row(answer=["Danger: fsync is off.", "Proposed: 1 change."]))
    file.add(row(fault="locks", answer=["Outside the settings: 3.8 of 4 wait.", "Proposed: 2 changes."]))
    file.add(row(fault="more locks", answer=["Outside the settings: 15 of 16 wait.", "Proposed: 12 changes."]))
    file.add(row(fault="of an earlier version"))
    told = CliRunner().invoke(main, ["lines", "--results", str(tmp_path)]).output.splitlines()
    assert told == [
        "postgres15: 2 of 3 answers begin with lines of their own",
        "    alike: locks, more locks",
    ]
