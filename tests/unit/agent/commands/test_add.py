"""`lutra add`: which service it talks to, the files that it writes, and the agent's process and unit."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from lutra_agent.commands.add import account, process, run, service
from lutra_agent.commands.add.cli import add
from lutra_agent.commands.add.folder import Account, Added, folder_of, folders, toml
from lutra_agent.errors import ConfigError
from lutra_client import contexts

from tests.support.cli import faults_of_unit
from tests.support.waiting import until

SYSTEMCTL = """#!/bin/sh
echo "$@" >> {calls}
case "$*" in *MainPID*) echo {pid};; esac
"""


@pytest.fixture(autouse=True)
def home(own_environment: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    for name in ("LUTRA_URL", "LUTRA_TOKEN", "LUTRA_CA_FILE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_the_service_in_use_is_the_context_of_the_clients_program(monkeypatch: pytest.MonkeyPatch) -> None:
    context = SimpleNamespace(url="https://lutra.example", token="lutra_x", ca_file=None)
    found = SimpleNamespace(load=lambda: lambda: context)
    monkeypatch.setattr(service, "entry_points", lambda group: [found] if group == service.CONTEXT else [])
    assert service.service_in_use().config.url == "https://lutra.example"


def test_the_clients_program_brings_its_saved_contexts(home: Path) -> None:
    contexts.save(contexts.Context("home", "https://home.example", "lutra_home", None))
    assert service.service_in_use().config.url == "https://home.example"
    contexts.file().chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600"):
        service.service_in_use()


def test_without_that_program_the_environment_names_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "entry_points", lambda group: [])
    with pytest.raises(ConfigError, match="lutra up"):
        service.service_in_use()
    monkeypatch.setenv("LUTRA_TOKEN", "lutra_x")
    assert service.service_in_use().config.url == service.URL
    monkeypatch.setenv("LUTRA_URL", "http://elsewhere.example")
    with pytest.raises(ConfigError, match="use https"):
        service.service_in_use()


@pytest.mark.parametrize("name", ["", "..", "a/b", "-x", "a b", "x" * 65])
def test_a_name_that_a_folder_cannot_have_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="--name"):
        folder_of(name)


@given(st.text(st.characters(codec="utf-8")), st.integers(1, 65535), st.booleans())
def test_the_agents_file_says_what_was_written(text: str, port: int, flag: bool) -> None:
    table = {"host": text, "port": port, "password_in_clear": flag}
    assert tomllib.loads(toml({"database": table})) == {"database": table}


def test_what_is_kept_of_a_database_is_read_back_and_is_the_accounts_alone() -> None:
    folder = folder_of("shop")
    assert folder.read() is None
    kept = Added("redis://h", {"url": "u"}, "tok_1", Account({"user": "lutra"}, ("DROP",)), Account({"user": "x"}))
    folder.write(kept)
    folder.write_secret(folder.password, "secret")
    assert folder.read() == kept
    assert list(folders()) == [folder]
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.path.iterdir()} == {0o600}
    folder.remove()
    assert list(folders()) == []


def test_a_number_that_another_process_took_is_not_the_agents() -> None:
    folder = folder_of("shop")
    folder.write(Added("redis://h"))
    folder.process.write_text(f'{{"pid": {os.getpid()}, "started": 1.0}}')
    assert process.running(folder) is None
    assert not process.stop(folder)


def test_an_agent_that_cannot_start_leaves_its_reason_in_the_log() -> None:
    folder = folder_of("shop")
    folder.write(Added("redis://h"))
    folder.write_config("no toml")
    process.start(folder, {})
    assert not process.is_outdated(folder)
    until(lambda: process.running(folder) is None)
    assert "is not TOML" in process.last_lines(folder)
    folder.write_config("other")
    assert process.is_outdated(folder)


def test_an_agent_of_another_version_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folder_of("shop")
    folder.write(Added("redis://h"))
    folder.write_config("no toml")
    process.start(folder, {})
    monkeypatch.setattr(process, "__version__", "9.9")
    assert process.is_outdated(folder)
    until(lambda: process.running(folder) is None)


def test_where_the_user_has_a_systemd_the_agent_is_a_unit_of_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs, calls = home / "bin", home / "calls"
    programs.mkdir()
    (programs / "systemctl").write_text(SYSTEMCTL.format(calls=calls, pid=0))
    (programs / "systemctl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    folder = folder_of("shop")
    folder.write(Added("redis://h"))
    folder.write_config("")
    process.start(folder, {"PGSSLMODE": 'a "quoted" 50%'})
    unit = home / "systemd" / "user" / "lutra-agent-shop.service"
    text = unit.read_text()
    assert f'ExecStart="{sys.executable}" "-m" "lutra_agent" "run" "--config" "{folder.config}"' in text
    assert 'Environment="PGSSLMODE=a \\"quoted\\" 50%%"' in text
    assert "--user restart lutra-agent-shop.service" in calls.read_text()
    assert faults_of_unit(unit) == ""
    (unit.parent / "wrong.service").write_text(text.replace("Restart=", "Restrat="))
    assert shutil.which("systemd-analyze") is None or "Restrat" in faults_of_unit(unit.parent / "wrong.service")
    assert process.running(folder) is None
    process.stop(folder)
    assert not unit.exists()
    assert "--user disable --now --no-block lutra-agent-shop.service" in calls.read_text()


def test_ctrl_c_says_that_the_same_command_continues(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "add", interrupted)
    ended = CliRunner().invoke(add, ["redis://host"])
    assert (ended.exit_code, ended.stdout) == (130, "")
    assert ended.stderr == "\nstopped; what is done stays, and the same command continues where this one ended\n"


def test_an_account_that_ctrl_c_left_half_made_is_taken_back() -> None:
    done: list[str] = []

    def execute(statement: str, _: str) -> None:
        if statement == "GRANT":
            raise KeyboardInterrupt
        done.append(statement)

    plan: Any = SimpleNamespace(make=("CREATE", "GRANT"), drop=("DROP",), section={}, notes=())
    accounts: Any = SimpleNamespace(execute=execute)
    given_: Any = None
    with pytest.raises(KeyboardInterrupt):
        account._made(given_, accounts, plan, folder_of("shop"), "secret")
    assert done == ["CREATE", "DROP"]


def test_whoever_waits_for_the_first_report_sees_that_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    moments = iter(range(0, 1000, 4))
    answers = iter([None] * 6 + ["2026-03-01T00:00:00Z"])
    service_: Any = SimpleNamespace(database=lambda _: {"last_report_at": next(answers)})
    clock: Any = SimpleNamespace(monotonic=lambda: float(next(moments)), sleep=lambda _: None)
    person: Any = SimpleNamespace(tell=told.append)
    monkeypatch.setattr(process, "running", lambda _: True)
    run._await_report(service_, "db_", None, folder_of("shop"), person, clock)
    assert told == [f"waiting for the first report, for {s} s so far" for s in (12, 24)]
