"""8,000 servers that answer oddly: no traceback, no window lost for what it does not need, each problem named once."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from lutra_agent.engines.postgresql.server import place
from lutra_lab.servers.mariadb import HISTOGRAM
from lutra_lab.servers.postgresql import ScratchPostgres

from tests.support.odd.connections import PROGRAMS, section
from tests.support.odd.worlds import heard, world
from tests.support.pytest_plugins.suites import examples
from tests.support.servers.engines import STATEMENTS, scratch

pytestmark = [pytest.mark.engine, pytest.mark.slow]

OPTIONS: Mapping[str, Mapping[str, str]] = {
    "postgres18": {},
    "postgres15": STATEMENTS,
    "mariadb": HISTOGRAM,
    "mysql": {},
    "redis": {},
    "redis8": {},
    "valkey": {},
    "pika": {},
}
EACH = 8_000 // len(OPTIONS)
SHOWN = 3


@pytest.mark.parametrize("name", OPTIONS)
@examples(25, EACH)
def test_whatever_a_server_answers_costs_no_more_than_what_it_says(
    name: str, examples: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scratch(name, **OPTIONS[name]) as server:
        if isinstance(server, ScratchPostgres) and OPTIONS[name]:
            server.sql("CREATE EXTENSION pg_stat_statements")
        database = section(server)
        told = heard(database)
    monkeypatch.setattr(place, "PROGRAMS", PROGRAMS)
    monkeypatch.setattr(logging.getLogger("lutra_agent"), "propagate", False)  # what servers say is no text for pytest
    password = tmp_path / "password"
    password.touch(mode=0o600)
    password.write_text("not-for-others")
    database, found = replace(database, password_file=password), list[str]()
    for number in range(examples):
        made = world(number, database, told)
        about = "; ".join(map(str, made.server.oddities))
        found += [f"world {number} ({about}): {objection}" for objection in made.objections()]
    shown = "\n\n".join([f"{len(found)} objections", *found[:SHOWN]])
    assert not found, shown.encode(errors="backslashreplace").decode()
