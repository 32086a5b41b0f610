from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from lutra_agent.cli import main

from tests.support.agents import write_toml

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


def test_an_agent_is_paused_whatever_its_password_file_says(tmp_path: Path) -> None:
    ended = CliRunner().invoke(main, ["pause", *written(tmp_path, password_file=str(tmp_path / "absent"))])
    assert ended.exit_code == 0
    assert (tmp_path / "state" / "paused").exists()
