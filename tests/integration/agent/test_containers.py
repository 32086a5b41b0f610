"""A container's server on a published port, on a host that has its own under the same path, port and account."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from lutra_agent.clock import SystemClock
from lutra_agent.commands.check import examine
from lutra_agent.commands.rollback import roll_back
from lutra_agent.config.types import Config
from lutra_agent.engines.common.telemetry import Reading
from lutra_agent.errors import ApplyRefused, DatabaseUnavailable, DidNotStart
from lutra_agent.files.accounts import acting_for
from lutra_agent.metrics.measure import Measure
from lutra_agent.runtime.compose import local_database
from lutra_agent.runtime.local_database import LocalDatabase
from lutra_agent.state.snapshot import BASELINE, stored_snapshots
from lutra_lab.servers.base import ScratchServer
from lutra_models.wire import Directive, Outcome

from tests.support.agent.processes import config
from tests.support.pytest_plugins.suites import on_first
from tests.support.servers.container import Container, beside, mounted_beside, on_a_volume
from tests.support.servers.engines import missing, scratch
from tests.support.servers.families import known_of
from tests.support.servers.subjects import engine_of, variables

pytestmark = [pytest.mark.engine, pytest.mark.slow]

SERVERS = ("postgres15", "mysql", "mariadb", "redis", "valkey")
NOBODY = 65534


class Ground:
    """`host` is this host's own server; the agent is connected to the container's, and told the host's commands."""

    def __init__(self, host: ScratchServer, container: Container, folder: Path) -> None:
        self.host, self.container, self.folder = host, container, folder
        self.started = folder / "started"
        self.facts = known_of(host)
        self.before = self.everything()

    def config(self) -> Config:
        commands = {"command": ["touch", str(self.started)], "start_command": ["touch", str(self.started)]}
        named = {"timeout_s": 2, "data_dir": str(self.host.data_dir)}
        return config(
            self.host,
            "http://127.0.0.1:9",
            self.folder / "state",
            "lab",
            database={"port": self.container.port},
            restart={**commands, **named},
        )

    def everything(self) -> tuple[dict[str, str], dict[str, bytes]]:
        """What the host's own server says, and its settings files byte by byte."""
        names = ("postgresql.auto.conf", "postgresql.conf", "mysqld-auto.cnf", "server.conf", "*.cnf")
        files = {str(file): file.read_bytes() for name in names for file in self.host.directory.rglob(name)}
        return variables(self.host), files

    def same(self) -> bool:
        return self.everything() == self.before and not self.started.exists()


@pytest.fixture(params=[beside, pytest.param(mounted_beside, marks=pytest.mark.thorough)], ids=["namespaces", "mounts"])
def ground(server: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ground]:
    with request.param(server) as (host, container):
        yield Ground(host, container, tmp_path)


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@contextmanager
def opened(made: Config) -> Iterator[LocalDatabase]:
    database = local_database(made, SystemClock())
    try:
        yield database
    finally:
        database.engine.health.close()


def directive(identifier: str, settings: Mapping[str, Any]) -> Directive:
    fields = {"id": identifier, "recommendation": identifier, "settings": dict(settings), "restart_allowed": True}
    return Directive.model_validate({**fields, "expires_at": datetime.now(UTC) + timedelta(hours=1)})


def of_container(ground: Ground) -> dict[str, str]:
    return variables(ground.container.seen)


def test_the_hosts_own_server_is_neither_read_nor_written_in_place_of_a_containers(ground: Ground) -> None:
    made, theirs = ground.config(), of_container(ground)
    found = examine(made)
    assert any("the agent does not use this host's files and processes" in line for line in found.missing)
    assert (found.server.host.disk_bytes, found.server.host.device, found.server.host.file_system) == (None,) * 3
    with opened(made) as database:
        measure = Measure(database.engine.telemetry, database.probe, database.clock, database.place)
        readings = measure.sample().readings
        assert not [n for n in readings.get("host", Reading()).counters if n.startswith("disk")]
        assert ("host" in readings) is (database.place().process == ground.container.first.pid)
        assert database.executor.execute(directive("rec_0", ground.facts.with_restart)).state == "refused"
        outcome = changed(ground, database)
        kept = stored_snapshots(database.state, BASELINE)
        assert kept is None or {s.file for s in kept.values()} == {None}
    assert ground.same()
    if outcome.state == "applied":
        assert "".join(roll_back(made, BASELINE, restart=True))
    assert of_container(ground) == theirs
    assert ground.same()


def changed(ground: Ground, database: LocalDatabase) -> Outcome:
    """Applied where the server keeps it by itself, or forgets it with its next start as all that is live does."""
    outcome = database.executor.execute(directive("rec_1", ground.facts.at_once))
    if ground.host.engine == "mariadb":
        assert "not proven to be a file of the server that answers" in outcome.message
        assert outcome.state == "refused"
    else:
        assert (outcome.state, outcome.message) == ("applied", "")
    return outcome


def test_a_container_that_is_gone_is_waited_for_and_the_hosts_own_server_left_alone(ground: Ground) -> None:
    made = ground.config()
    with opened(made) as database:
        outcome = changed(ground, database)
        ground.container.kill()
        with pytest.raises(DatabaseUnavailable):
            database.read_server()
        change = database.changes.load().watched
        if change is not None:
            with pytest.raises((DidNotStart, ApplyRefused)):
                database.executor.undo(change, "guardrail", "unreachable")
            with pytest.raises((DidNotStart, ApplyRefused)):
                database.executor.recover()
    if outcome.state == "applied":
        with pytest.raises((DidNotStart, ApplyRefused)):
            list(roll_back(made, BASELINE, restart=True))
    assert ground.same()


@pytest.mark.parametrize("name", ["postgres15", "mysql"])
def test_a_containers_server_is_known_by_the_folder_that_the_host_gives_it(name: str) -> None:
    with on_a_volume(name) as container:
        engine = engine_of(container.seen)
        place = engine.health.place()
        engine.health.close()
        assert place.folder == container.seen.data_dir
        assert place.process in {p.pid for p in (container.first, *container.first.children())}


@pytest.mark.parametrize("name", ["mariadb", "redis"])
def test_a_containers_server_whose_folder_has_no_name_of_its_own_is_changed_by_statements_alone(name: str) -> None:
    with on_a_volume(name) as container:
        engine = engine_of(container.seen)
        place, backing = engine.health.place(), engine.own.backing
        assert backing is not None
        file = backing.settings_file()
        engine.health.close()
        assert (place.here, file) == (False, None)


@pytest.mark.parametrize("name", on_first(("postgres15", "mysql", "mariadb", "redis")))
def test_an_account_that_may_read_nothing_of_the_server_still_knows_it_for_this_hosts_own(
    name: str, tmp_path: Path
) -> None:
    with scratch(name) as server:
        engine = engine_of(server)
        place = engine.health.place()
        assert (place.process, place.folder, place.doubt) == (server.pid, server.data_dir, "")
        assert engine.health.name_in(server.data_dir)
        engine.health.close()
        with acting_for(of_nobody(tmp_path)):
            alike = engine.health.place()
        engine.health.close()
        assert (alike.process, alike.folder) == (server.pid, server.data_dir)


def of_nobody(folder: Path) -> Path:
    if os.geteuid() != 0:
        missing("the rights of root")
    os.chown(folder, NOBODY, NOBODY)
    return folder
