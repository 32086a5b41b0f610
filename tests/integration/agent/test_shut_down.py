"""Real servers of every family that somebody shuts down: the agent starts none, and goes on when it is back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from lutra_agent.commands.rollback import roll_back
from lutra_agent.runtime.compose import running
from lutra_agent.runtime.loop import Loop
from lutra_agent.state.change_store import ChangeStore
from lutra_agent.state.snapshot import BASELINE
from lutra_agent.state.store import State
from lutra_lab.servers.base import ScratchServer
from lutra_lab.servers.errors import LabError
from lutra_lab.servers.postgresql import ScratchPostgres
from lutra_models import extensions

from tests.support.agent.broken import Scene
from tests.support.agent.processes import TOKEN, config, guards
from tests.support.fakes.engine import NoSignals
from tests.support.fakes.service import FakeService, serving
from tests.support.pytest_plugins.suites import on_first
from tests.support.servers.engines import OTHER_STORES, scratch
from tests.support.servers.subjects import ENGINES, subject_of
from tests.support.waiting import until

pytestmark = [pytest.mark.engine, pytest.mark.slow]

EVERY = [*ENGINES, *OTHER_STORES]
HELD = "somebody shut the server down: the agent does not start it"
QUICK = {"agent": {"restart_warmup_s": 0, "warmup_windows": 0}}
GUARD = guards(unreachable={"limit": 0.5, "hold_s": 2})
ACTIVE: dict[str, tuple[list[str], dict[str, float]]] = {
    "provisional": (["applied"], {"confirm_windows": 100, "confirm_s": 3600}),
    "watching": (["applied", "confirmed"], {"confirm_windows": 1, "watch_s": 3600}),
    "done": (["applied", "confirmed"], {"confirm_windows": 1, "watch_s": 0}),
}
"""The stages of a change that is active: what is told of it, and the guard under which it stays there."""


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeService]:
    monkeypatch.setenv("LUTRA_AGENT_TOKEN", TOKEN)
    with serving(FakeService()) as found:
        yield found


LOGS: dict[str, dict[str, str]] = {
    "mariadb": {"log_error": "own.log"},
    "redis": {"logfile": "own.log"},
    "valkey": {"logfile": "own.log"},
}
"""A log of the server's own, where nothing else tells that it came up since."""


@pytest.fixture(scope="module", params=EVERY)
def server(request: pytest.FixtureRequest) -> Iterator[ScratchServer]:
    with scratch(request.param, **LOGS.get(request.param, {})) as found:
        yield found


def states(service: FakeService, identifier: str = "rec_1") -> list[str]:
    return [o.state for r in service.reports for o in r.outcomes if o.directive == identifier]


def problems(service: FakeService) -> list[str]:
    assert service.reports[-1].status is not None
    return service.reports[-1].status.problems


def stays_down(loop: Loop, server: ScratchServer, service: FakeService) -> None:
    """For as many intervals as the guard would need to fire; the service hears why from the first one on."""
    told = len(service.reports)
    loop.cycle()
    assert HELD in loop.problems[0]
    loop.run(ended=lambda: len(service.reports) >= told + 5)
    assert all(r.status is not None and HELD in r.status.problems[0] for r in service.reports[told + 1 :])
    assert server.pid is None


each = pytest.mark.parametrize("server", on_first(EVERY), indirect=True)
BROUGHT = extensions.names_of(extensions.SCRATCH_SERVERS)
logged = pytest.mark.parametrize("server", on_first([n for n in EVERY if n not in BROUGHT]), indirect=True)
"""Without those of packages: what has no log of its own tells nothing of a start that the agent did not see."""


@each
@pytest.mark.parametrize("stage", on_first([*ACTIVE]))
def test_one_that_is_shut_down_stays_so_and_one_that_crashes_is_brought_back(
    server: ScratchServer, service: FakeService, tmp_path: Path, stage: str
) -> None:
    """Unless its change is done: then nobody asked the agent for this server."""
    told, guard = ACTIVE[stage]
    subject = subject_of(server, tmp_path / "unused")
    before = subject.kept_settings()
    subject.engine.health.close()
    made = config(server, service.url, tmp_path / "state", "reload_only", guard={**GUARD, **guard}, **QUICK)
    changes = ChangeStore(State(tmp_path / "state"))
    service.offer("rec_1", dict(subject.at_once))
    with running(made, signals=NoSignals()) as loop:
        loop.run(ended=lambda: len(states(service)) >= len(told) or "refused" in states(service))
        assert states(service) == told
        loop.run(ended=lambda: [r.stage for r in changes.load().records] == [stage])
        server.stop()
        stays_down(loop, server, service)
    with running(made, signals=NoSignals()) as loop:  # another agent, which never saw it up
        loop.cycle()
        assert HELD in loop.problems[0]
        assert server.pid is None
        server.start()
        loop.run(ended=lambda: service.reports[-1].window is not None and not problems(service))
        assert states(service) == told
        server.crash()
        if stage == "done":
            loop.run(ended=lambda: bool(service.reports[-1].events))
            assert server.pid is None
            server.start()
            list(roll_back(made, BASELINE, restart=False))
        else:
            loop.run(ended=lambda: states(service) == [*told, "reverted"])
    subject.engine.health.ping()
    assert subject.kept_settings() == before
    subject.engine.health.close()


@pytest.fixture
def scene(server: ScratchServer, service: FakeService, tmp_path: Path) -> Scene:
    return Scene(server, service, tmp_path)


def held(scene: Scene) -> None:
    """A new agent that finds the server down says so, and starts nothing while it does."""
    log = scene.folder / "agent.log"
    said = log.read_text().count(HELD)
    with scene.agent():
        until(lambda: log.read_text().count(HELD) > said)
    with scene.agent():
        until(lambda: log.read_text().count(HELD) > said + 1)
        assert scene.server.pid is None
        checked = command(scene, "check")
        assert HELD in checked.stderr
        assert "rec_1 waits until the server is up again" in checked.stderr
        assert scene.server.pid is None
        scene.server.start()
        scene.back()


def up_and_shut_down(scene: Scene) -> None:
    """By somebody, while no agent runs: whole, as a server that still starts may not hear that it is to stop."""
    scene.server.start()
    until(lambda: answers(scene))
    scene.server.stop()


def answers(scene: Scene) -> bool:
    try:
        scene.subject.kept_settings()
    except LabError:
        return False
    return True


def command(scene: Scene, *words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "lutra_agent", *words, "--config", str(scene.folder / "agent.toml")]
    return subprocess.run(argv, capture_output=True, text=True, env={**os.environ, "LUTRA_AGENT_TOKEN": TOKEN})


@each
def test_in_the_middle_of_a_change(scene: Scene) -> None:
    with scene.halted(1, scene.subject.at_once) as agent:
        agent.kill()
    scene.server.stop()
    held(scene)


@logged
def test_after_the_agents_own_restart_of_which_it_saw_no_end(scene: Scene) -> None:
    scene.service.offer("rec_1", {**scene.subject.at_once, **scene.subject.with_restart}, restart_allowed=True)
    with scene.agent(restart={"command": scene.hanging_restart(True)}) as process:
        until((scene.folder / "hanging").exists)
        process.send_signal(signal.SIGKILL)
        process.wait()
    os.kill(int((scene.folder / "hanging").read_text()), signal.SIGKILL)
    up_and_shut_down(scene)
    held(scene)


@logged
def test_while_a_change_is_undone(scene: Scene) -> None:
    """An agent whose own start failed has not seen the server since, and its files say that it was up."""
    with scene.halted(1, scene.subject.at_once) as agent:
        agent.kill()
    scene.server.crash()
    with scene.agent(restart={"command": ["false"], "start_command": ["false"]}):
        until(lambda: "false ended with 1" in (scene.folder / "agent.log").read_text())
    up_and_shut_down(scene)
    held(scene)


@pytest.mark.parametrize("how", ["smart", "immediate"])
def test_however_it_is_shut_down(own_postgres: ScratchPostgres, service: FakeService, tmp_path: Path, how: str) -> None:
    """An immediate shutdown leaves no checkpoint; a smart one waits for the clients, and is under way until then."""
    made = config(
        own_postgres,
        service.url,
        tmp_path / "state",
        "reload_only",
        guard={**GUARD, **ACTIVE["provisional"][1]},
        **QUICK,
    )
    service.offer("rec_1", {"work_mem": 8192})
    with running(made, signals=NoSignals()) as loop:
        loop.run(ended=lambda: states(service) == ["applied"])
        argv = [word if word != "fast" else how for word in own_postgres.stop_command if word != "-w"]
        subprocess.run([*argv, "-W"], check=True)
        if how == "smart":
            loop._observer._database.engine.health.close()
        loop.run(ended=lambda: "the agent does not start it" in " ".join(loop.problems))
        told = len(service.reports)
        loop.run(ended=lambda: len(service.reports) >= told + 5)
        assert own_postgres.pid is None
        assert states(service) == ["applied"]
