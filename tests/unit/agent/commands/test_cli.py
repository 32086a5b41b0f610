from __future__ import annotations

import logging
import socket
from importlib import import_module
from importlib.metadata import EntryPoints
from pathlib import Path

import pytest
from click.testing import CliRunner
from lutra_agent.commands.cli import Shown, main
from lutra_agent.config.types import DatabaseConfig

from tests.support.agent.processes import write_toml
from tests.support.servers.listeners import Heard, listening

DATABASE = {"engine": "postgresql", "host": "/nowhere", "port": 5432, "dbname": "postgres"}


def written(folder: Path, **database: object) -> list[str]:
    """The arguments that name an agent's file."""
    service = {"url": "http://127.0.0.1:9", "database": "db_1"}
    document = {"service": service, "database": {**DATABASE, **database}, "agent": {"state_dir": str(folder / "state")}}
    return ["--config", str(write_toml(folder / "agent.toml", document))]


@pytest.mark.parametrize("command", ["run", "check", "tune", "rollback"])
def test_a_password_that_cannot_be_read_at_the_start_is_said_on_one_line(tmp_path: Path, command: str) -> None:
    ended = CliRunner().invoke(main, [command, *written(tmp_path, password_file=str(tmp_path / "absent"))])
    assert (ended.exit_code, ended.output) == (1, f"Error: {tmp_path / 'absent'}: No such file or directory\n")


def test_a_look_without_its_password_judged_nothing(tmp_path: Path) -> None:
    ended = CliRunner().invoke(main, ["symptoms", *written(tmp_path, password_file=str(tmp_path / "absent"))])
    assert ended.exit_code == 2
    assert ended.output.endswith(f"{tmp_path / 'absent'}: No such file or directory\n")


def test_an_agent_is_paused_whatever_its_password_file_says(tmp_path: Path) -> None:
    ended = CliRunner().invoke(main, ["pause", *written(tmp_path, password_file=str(tmp_path / "absent"))])
    assert ended.exit_code == 0
    assert (tmp_path / "state" / "paused").exists()


def test_a_state_folder_that_cannot_be_made_is_said_on_one_line_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(path: Path, **options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", denied)
    monkeypatch.setattr("os.geteuid", lambda: 998)
    ended = CliRunner().invoke(main, ["pause", *written(tmp_path)])
    folder = tmp_path / "state"
    said = f"{folder}: Permission denied (user id 998); as root: install -d -o 998 -m 0700 {folder}"
    assert (ended.exit_code, ended.output) == (1, f"Error: agent.state_dir: {said}\n")


def test_a_state_folder_of_another_account_is_said_on_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = written(tmp_path)
    monkeypatch.setattr("os.access", lambda path, mode: Path(path).name != "state")
    ended = CliRunner().invoke(main, ["pause", *arguments])
    assert ended.exit_code == 1
    assert "this account may not read and write it" in ended.output


def test_a_file_that_the_account_may_not_read_is_named_without_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    import_module("lutra_agent.engines.postgresql.engine")  # what is imported under the patch would keep it
    monkeypatch.setattr("lutra_agent.files.atomic.read_regular", denied)
    ended = CliRunner().invoke(main, ["rollback", *written(tmp_path)])
    assert ended.exit_code == 1
    assert ended.output.startswith("Error: [Errno 13] Permission denied:")
    assert str(tmp_path / "state") in ended.output


def test_the_lab_is_another_distributions_and_says_how_to_install_it_where_it_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert "\n  lab " in CliRunner().invoke(main, ["--help"]).output
    monkeypatch.setattr("lutra_agent.commands.cli.entry_points", lambda **_: EntryPoints())
    assert "\n  lab " not in CliRunner().invoke(main, ["--help"]).output
    ended = CliRunner().invoke(main, ["lab", "--help"])
    assert (ended.exit_code, "pip install lutra-lab" in ended.output) == (2, True)


def test_what_a_database_says_is_no_command_for_the_terminal(tmp_path: Path) -> None:
    def talk(heard: Heard, connection: socket.socket) -> None:
        while heard.receive(connection):
            connection.sendall(b"-ERR \x1b]0;owned\x07\x1b[2Jhello\r\n")

    with listening(talk) as heard:
        arguments = written(tmp_path, engine="redis", host="127.0.0.1", port=heard.port)
        text = Path(arguments[1]).read_text().replace('dbname = "postgres"\n', "")
        Path(arguments[1]).write_text(text)
        ended = CliRunner().invoke(main, ["check", *arguments])
    assert ended.exit_code == 1
    assert "?]0;owned??[2Jhello" in ended.output
    assert "\x1b" not in ended.output


def test_a_line_of_the_log_is_no_command_for_the_terminal() -> None:
    record = logging.LogRecord("x", logging.ERROR, "", 1, "it says %s", ("\x1b[2J →",), None)
    shown = Shown()
    shown.of = f"{DatabaseConfig('postgresql', 'db1', 5432)}: "
    assert shown.format(record).endswith("ERROR postgresql at db1:5432: x: it says ?[2J →")
