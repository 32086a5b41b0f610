from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from lutra_agent.commands import symptoms
from lutra_agent.commands.agent_file import parse
from lutra_agent.commands.cli import main
from lutra_agent.commands.symptoms import report, show
from lutra_agent.config.types import Config
from lutra_agent.errors import ConfigError, DatabaseUnavailable
from lutra_models.symptoms import Diagnosis

from tests.unit.symptoms.cases import CASES

FORCED = next(c for c in CASES if c.name == "checkpoints_forced")
NOW = datetime(2026, 3, 1, tzinfo=UTC)
FILE = """
[service]
url = "http://127.0.0.1:9"
database = "db_1"
[database]
engine = "postgresql"
host = "/nowhere"
port = 5432
dbname = "postgres"
"""


def told(found: Diagnosis, as_json: bool = False) -> str:
    return show(report(found, config(), NOW), as_json)


def config(**accepted: dict[str, str]) -> Config:
    database = {"engine": "postgresql", "host": "/nowhere", "port": 5432, "dbname": "postgres"}
    service = {"url": "http://127.0.0.1:9", "database": "db_1"}
    return parse({"service": service, "database": database, "accepted": accepted})


def test_a_person_reads_the_sentence_and_under_it_the_cure() -> None:
    lines = told(FORCED.diagnosis(FORCED.shown)).splitlines()
    assert lines[0] == "1 windows, 3600 s"
    at = lines.index(next(line for line in lines if line.startswith("1.00  fault checkpoints_forced: 38 of 41")))
    assert lines[at + 1].startswith("      max_wal_size 1GB → 10GB (reload): so that 15 min of WAL fit")


def test_a_person_reads_whom_a_cure_does_not_reach() -> None:
    own = {n: replace(s, unreached="role reporting") for n, s in FORCED.server.settings.items()}
    case = replace(FORCED, server=replace(FORCED.server, settings=own))
    said = told(case.diagnosis(case.shown))
    assert "takes longer (not for role reporting, which have their own values)" in said


def test_nothing_is_said_too() -> None:
    assert told(Diagnosis((), 3, 30.0)) == "3 windows, 30 s\nno symptoms"


def test_a_program_reads_one_document() -> None:
    found = json.loads(told(FORCED.diagnosis(FORCED.shown), as_json=True))
    assert found["symptoms"][0]["cures"][0]["after"] == 10240


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "agent.toml"
    made.write_text(FILE)
    return made


def run(file: Path, *words: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["symptoms", "--config", str(file), "--seconds", "1", *words])
    return result.exit_code, result.output


def test_a_script_is_told_by_the_exit_status_and_by_a_report(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = replace(FORCED.diagnosis(FORCED.shown), not_judged=())
    monkeypatch.setattr(symptoms, "look", lambda *_: found)
    assert run(file, "--fail-on", "fault")[0] == 1
    assert run(file)[0] == (1 if any(s.kind in ("outage", "danger") for s in found.symptoms) else 0)
    status, output = run(file, "--json", "--fail-on", "0.9", "--junit", str(tmp_path / "report.xml"))
    assert (status, json.loads(output)["symptoms"][0]["name"]) == (1, found.symptoms[0].name)
    suite = ElementTree.fromstring((tmp_path / "report.xml").read_text())
    assert suite.find(f"testcase[@name='{FORCED.name}']/failure") is not None
    status, output = run(file, "--fail-on", "bad")
    assert status == 2
    assert "--fail-on: 'bad' is neither a strength from 0 to 1 nor one of outage" in output


def test_what_could_not_be_looked_at_is_not_clean(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> Diagnosis:
        raise DatabaseUnavailable("connection refused")

    monkeypatch.setattr(symptoms, "look", away)
    assert run(file) == (2, "Error: nothing could be judged: connection refused\n")
    file.write_text("no table")
    assert run(file)[0] == 2


def test_the_agents_file_accepts_a_risk_for_a_reason_and_a_time(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symptoms, "look", lambda *_: replace(FORCED.diagnosis(FORCED.shown), not_judged=()))
    until = (datetime.now(UTC) + timedelta(days=9)).date()
    risk = f'[accepted.checkpoints_forced]\nbecause = "a load test"\nuntil = {until}\n'
    file.write_text(FILE + risk + risk.replace("checkpoints_forced", "chekpoints"))
    _, output = run(file)
    assert f"      accepted until {until} 00:00 UTC: a load test" in output
    assert "accepted.chekpoints: this engine has no symptom with this name" in output
    file.write_text(FILE + risk.replace(str(until), "2026-01-01"))
    assert "a load test" not in run(file)[1]


@pytest.mark.parametrize(
    ("table", "fault"),
    [
        ({"because": "b"}, "accepted.x.until is missing: a day such as 2027-03-31"),
        ({"until": "2027-01-01"}, "accepted.x.because is missing: why the risk is taken"),
        ({"because": "b", "until": "soon"}, "accepted.x.until: expected a day such as 2027-03-31, got 'soon'"),
        ({"because": "b", "until": "2027-01-01", "kind": "bad"}, "accepted.x.kind: 'bad' is not one of outage"),
        ({"because": "b", "until": "2027-01-01", "til": "1"}, "unknown: accepted.x.til (did you mean until?)"),
    ],
)
def test_a_risk_without_its_reason_or_its_time_is_refused(table: dict[str, str], fault: str) -> None:
    with pytest.raises(ConfigError) as refused:
        config(x=table)
    assert fault in str(refused.value)
