from __future__ import annotations

import json
from dataclasses import replace

from lutra_agent.commands.symptoms import show
from lutra_models.symptoms import Diagnosis

from tests.unit.symptoms.cases import CASES

FORCED = next(c for c in CASES if c.name == "checkpoints_forced")


def test_a_person_reads_the_sentence_and_under_it_the_cure() -> None:
    lines = show(FORCED.diagnosis(FORCED.shown), as_json=False).splitlines()
    assert lines[0] == "1 windows, 3600 s"
    told = lines.index(next(line for line in lines if line.startswith("1.00  checkpoints_forced: 38 of 41")))
    assert lines[told + 1].startswith("      max_wal_size 1GB → 10GB (reload): so that 15 min of WAL fit")


def test_a_person_reads_whom_a_cure_does_not_reach() -> None:
    own = {n: replace(s, unreached="role reporting") for n, s in FORCED.server.settings.items()}
    case = replace(FORCED, server=replace(FORCED.server, settings=own))
    told = show(case.diagnosis(case.shown), as_json=False)
    assert "takes longer (not for role reporting, with a value of their own)" in told


def test_nothing_is_said_too() -> None:
    assert show(Diagnosis((), 3, 30.0), as_json=False) == "3 windows, 30 s\nnothing that a symptom describes"


def test_a_program_reads_one_document() -> None:
    found = json.loads(show(FORCED.diagnosis(FORCED.shown), as_json=True))
    assert found["symptoms"][0]["cures"][0]["after"] == 10240
