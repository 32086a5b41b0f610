"""Faults on real servers of every family, beside a real agent process.

Whatever breaks, the server comes up and every setting, and the settings file, is as before.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from lutra_lab.servers.base import ScratchServer

from tests.support.agent.broken import Scene
from tests.support.agent.processes import TOKEN
from tests.support.fakes.service import FakeService, serving
from tests.support.pytest_plugins.suites import on_first
from tests.support.servers.disks import fill, tiny_disk
from tests.support.servers.engines import OTHER_STORES, made, scratch
from tests.support.servers.families import known
from tests.support.servers.loads import loaded
from tests.support.servers.rights import account
from tests.support.servers.subjects import ENGINES
from tests.support.waiting import until

pytestmark = [pytest.mark.engine, pytest.mark.slow]

ARMED = {"limit": 1000.0, "hold_s": 2}
"""So many times what it was before, which no load holds: it fires on any machine, and only where it is switched on."""
SMALL: dict[str, dict[str, str]] = {"mysql": {"innodb_redo_log_capacity": "8M"}}
"""Options of a server that is to fit on a small disk."""


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeService]:
    monkeypatch.setenv("LUTRA_AGENT_TOKEN", TOKEN)
    with serving(FakeService()) as found:
        yield found


@pytest.fixture(scope="module", params=on_first([*ENGINES, *OTHER_STORES]))
def server(request: pytest.FixtureRequest) -> Iterator[ScratchServer]:
    with scratch(request.param) as found:
        yield found


@pytest.fixture
def scene(server: ScratchServer, service: FakeService, tmp_path: Path) -> Scene:
    return Scene(server, service, tmp_path)


@pytest.mark.parametrize("statements", [1, 2])
def test_an_agent_killed_between_two_statements_goes_back_when_it_is_started_again(
    scene: Scene, statements: int
) -> None:
    with scene.halted(statements, scene.subject.at_once) as agent:
        assert not scene.as_before()
        agent.kill()
    with scene.agent():
        assert scene.back().code == "internal_error"


def test_a_server_killed_between_two_statements_is_started_as_it_was(scene: Scene) -> None:
    with scene.halted(1, scene.subject.at_once) as agent:
        scene.server.crash()
        agent.go()
        assert scene.back().code == "database_unavailable"


@pytest.mark.parametrize("stops_it", [False, True], ids=["server still up", "server already down"])
def test_an_agent_killed_during_a_restart_goes_back_when_it_is_started_again(scene: Scene, stops_it: bool) -> None:
    scene.service.offer("rec_1", {**scene.subject.at_once, **scene.subject.with_restart}, restart_allowed=True)
    with scene.agent(restart={"command": scene.hanging_restart(stops_it)}) as process:
        until((scene.folder / "hanging").exists)
        process.send_signal(signal.SIGKILL)
        process.wait()
    os.kill(int((scene.folder / "hanging").read_text()), signal.SIGKILL)
    with scene.agent():
        assert scene.back().code == ("did_not_start" if stops_it else "internal_error")


@pytest.mark.parametrize("on_its_way", ["down", "up"])
def test_a_server_killed_during_its_restart_comes_back_as_it_was(scene: Scene, on_its_way: str) -> None:
    scene.service.offer("rec_1", {**scene.subject.at_once, **scene.subject.with_restart}, restart_allowed=True)
    with scene.agent(restart={"command": scene.killing_restart(on_its_way)}):
        until((scene.folder / "killed").exists)
        assert scene.back().code == "did_not_start"


def test_a_value_that_prevents_the_boot_is_undone_with_the_service_away(scene: Scene) -> None:
    wanted = {**scene.subject.at_once, **scene.subject.prevents_boot}
    scene.ran_with(wanted)
    with scene.halted(1, wanted, measure=True, restore=True) as agent:
        scene.service.refuse = 503
        agent.go()
        until(scene.as_before)
        assert not scene.outcomes()
        scene.service.refuse = None
        assert scene.back().code == "did_not_start"
    report = scene.service.report_of("rec_1")
    assert (report.measures, report.failure) == ("rec_1", "did_not_start")


def test_a_guard_that_fires_with_the_service_away_takes_the_change_back_and_is_told_later_once(scene: Scene) -> None:
    scene.service.then("rec_1", scene.service.leave, qps=ARMED)
    with scene.agent("reload_only", guard={"confirm_windows": 100}), loaded(scene.subject.load, rest_s=0.1):
        until(lambda: scene.service.busy)
        scene.service.offer("rec_1", dict(scene.subject.at_once))
        [applied] = until(scene.outcomes)
        assert applied.active == scene.subject.at_once
        until(scene.file_as_before)
        until(scene.as_before)
        scene.service.refuse = None
        assert scene.back().code == "guardrail"
        told = scene.windows()
        until(lambda: scene.windows() >= told + 2)
    assert [o.state for o in scene.outcomes()] == ["applied", "reverted"]
    [event] = [e for e in scene.events() if e.directive is not None]  # it may fire again
    assert (event.guard, event.directive) == ("qps", "rec_1")
    assert event.held_s >= 2


@contextmanager
def on_a_small_disk(engine: str, folder: Path) -> Iterator[tuple[ScratchServer, Path]]:
    """A server whose settings file lies on a small disk, and that disk.

    A MariaDB with no room for its temporary tables cannot start at all: its include file alone lies there.
    """
    if engine != "mariadb":
        with tiny_disk(folder, "400m") as disk, made(engine, disk / "server", **SMALL.get(engine, {})) as server:
            yield server, disk
        return
    with scratch(engine) as server:
        include = server.describe()["include_file"]
        first = Path(str(include)).parent / "first.sql"
        text = first.read_text()
        with tiny_disk(first.parent, "64k") as disk:
            first.write_text(text)
            disk.chmod(0o755)
            yield server, disk


@pytest.mark.parametrize("halfway", [False, True])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_disk_that_is_full_while_the_settings_file_is_written_undoes_the_change(
    engine: str, halfway: bool, service: FakeService, tmp_path: Path
) -> None:
    with on_a_small_disk(engine, tmp_path / "disk") as (server, disk):
        scene = Scene(server, service, tmp_path)
        names = list(scene.subject.at_once)
        if halfway:
            service.offer("rec_0", {names[-1]: scene.subject.at_once[names[-1]]})
            with scene.agent():
                until(lambda: any(o.state == "confirmed" for o in scene.outcomes("rec_0")))
            scene.remember()
        wanted = {n: scene.subject.at_once[n] for n in names[:-1]}
        with scene.halted(int(halfway), wanted) as agent:
            filler = fill(disk)
            agent.go()
            assert re.search("No space left|cannot be persisted", scene.back().message)
        filler.unlink()
        assert scene.as_before()


@pytest.mark.parametrize("server", [e for e in ENGINES if known(e).given], indirect=True)
def test_rights_revoked_between_two_statements_end_as_before(
    server: ScratchServer, service: FakeService, tmp_path: Path
) -> None:
    with account(server) as rights:
        scene = Scene(server, service, tmp_path, user=rights.user)
        with scene.halted(1, {n: scene.subject.at_once[n] for n in rights.settings}) as agent:
            rights.revoke()
            agent.go()
            assert scene.back().code == "insufficient_privilege"
