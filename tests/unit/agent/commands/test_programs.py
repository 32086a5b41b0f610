"""What `lutra-agent check` says of programs that the agent's file names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lutra_agent.commands.agent_file import parse
from lutra_agent.commands.check import missing_programs

FILE: dict[str, dict[str, Any]] = {
    "service": {"url": "http://127.0.0.1:9", "database": "db_1"},
    "database": {"engine": "postgresql", "host": "127.0.0.1", "port": 5432, "user": "lutra", "dbname": "shop"},
}


def missing(**sections: Any) -> list[str]:
    return list(missing_programs(parse({**FILE, **sections})))


def test_a_driver_whose_program_is_not_there_is_named_with_its_loads() -> None:
    found = missing(
        agent={"mode": "lab"},
        driver={
            "kind": "pgbench",
            "bin": "/nowhere/pgbench",
            "loads": [{"name": "few"}, {"name": "many", "clients": 9}],
        },
    )
    assert [line.partition(":")[0] for line in found] == ["driver", "driver.loads, few", "driver.loads, many"]
    assert all("'/nowhere/pgbench'" in line and "install it" in line for line in found)


def test_a_driver_of_ones_own_is_looked_for_by_its_command(tmp_path: Path) -> None:
    own = tmp_path / "load"
    driver = {"kind": "command", "command": [str(own)]}
    assert len(missing(agent={"mode": "lab"}, driver=driver)) == 1
    own.write_text("#!/bin/sh\n")
    assert len(missing(agent={"mode": "lab"}, driver=driver)) == 1, "it is not to be run"
    own.chmod(0o755)
    assert missing(agent={"mode": "lab"}, driver=driver) == []


def test_the_restart_commands_are_looked_for() -> None:
    restart = {"command": ["/nowhere/systemctl", "restart"], "start_command": ["sh", "-c", "true"]}
    found = missing(restart=restart)
    assert len(found) == 1
    assert found[0].startswith("restart.command: this account cannot find a program '/nowhere/systemctl'")
    assert missing() == []
