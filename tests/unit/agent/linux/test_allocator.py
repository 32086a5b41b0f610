"""The server's allocator as a setting of its host: offered, made active by a restart, and undone whatever happens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lutra_agent.errors import CollectionFailed
from lutra_agent.files import atomic
from lutra_agent.linux import allocators, lasting, units
from lutra_agent.linux.allocators import OWN
from lutra_agent.linux.kernel import ALLOCATOR
from lutra_agent.linux.requests import Request
from lutra_models.catalog import meet
from lutra_models.errors import InvalidConfiguration
from lutra_models.server import Host, Policy

from tests.support.agent.directed import Directed, directed
from tests.support.fakes.engine import FakeEngine
from tests.support.fakes.linux import LIBRARIES, UNIT, FakeLinux

WANTED = {"work_mem": 8192, ALLOCATOR: "jemalloc"}


@pytest.fixture
def machine(tmp_path: Path) -> FakeLinux:
    return FakeLinux(tmp_path)


def bench(machine: FakeLinux, **more: Any) -> Directed:
    made = directed(machine.folder, **more)
    made.engine.host = machine.source  # type: ignore[assignment]
    return made


def state(made: Directed, machine: FakeLinux) -> tuple[Any, ...]:
    return dict(made.engine.settings), made.engine.file, machine.lasting(), machine.allocator


def test_it_is_searched_only_where_the_policy_allows_the_host_and_somebody_names_it(machine: FakeLinux) -> None:
    live = meet(bench(machine).engine.server(Host(8 << 30, 4)))
    assert live.values[ALLOCATOR] == "system"
    assert ALLOCATOR not in live.space(Policy(host=True)).names
    with pytest.raises(InvalidConfiguration, match="concerns everything that runs on the machine; allow host"):
        live.space(Policy(movable=frozenset({ALLOCATOR})))
    named = Policy(host=True, movable=frozenset({ALLOCATOR}))
    knob = live.space(named)[ALLOCATOR]
    assert (list(knob.domain.options), knob.applies) == (["system", "jemalloc", "tcmalloc"], "restart")  # type: ignore[union-attr]
    with pytest.raises(InvalidConfiguration, match="needs a restart"):
        live.space(Policy(host=True, movable=frozenset({ALLOCATOR}), restart=False))


def test_it_is_no_circumstance_where_it_may_move(machine: FakeLinux) -> None:
    host = Host(8 << 30, 4, allocator="its own")
    made = bench(machine)
    assert "allocator" not in made.engine.server(host).circumstances
    machine.places.unit.unlink()
    assert made.engine.server(host).circumstances["allocator"] == "its own"


def test_only_installed_libraries_are_offered(machine: FakeLinux) -> None:
    (machine.folder / LIBRARIES["tcmalloc"]).unlink()
    assert machine.source.read()[ALLOCATOR].options == ("system", "jemalloc")
    (machine.folder / LIBRARIES["jemalloc"]).unlink()
    assert ALLOCATOR not in machine.source.read()


def outside_of_a_unit(machine: FakeLinux) -> None:
    machine.start_server("user.slice/user-0.slice/session-1.scope")


def in_another_unit(machine: FakeLinux) -> None:
    machine.start_server("system.slice/served@2-other.service")


def in_a_unit_of_a_users(machine: FakeLinux) -> None:
    machine.start_server(f"user.slice/user-1000.slice/user@1000.service/app.slice/{UNIT}")


def in_a_container(machine: FakeLinux) -> None:
    machine.start_server(f"docker/abc/{UNIT}")


def no_unit_named(machine: FakeLinux) -> None:
    machine.places.unit.unlink()


def named_by_others(machine: FakeLinux) -> None:
    machine.places.unit.chmod(0o666)


def gone(machine: FakeLinux) -> None:
    machine.process += 1


@pytest.mark.parametrize(
    "made",
    [
        outside_of_a_unit,
        in_another_unit,
        in_a_unit_of_a_users,
        in_a_container,
        no_unit_named,
        named_by_others,
        gone,
    ],
)
def test_it_is_not_offered_where_the_named_unit_does_not_run_the_server(
    machine: FakeLinux, made: Callable[[FakeLinux], None]
) -> None:
    assert ALLOCATOR in machine.source.read()
    made(machine)
    assert ALLOCATOR not in machine.source.read()
    assert "vm.swappiness" in machine.source.read()


def test_it_is_not_offered_where_nobody_knows_the_servers_process(machine: FakeLinux) -> None:
    source = machine.source

    def fails() -> int | None:
        raise CollectionFailed("permission denied")

    for unknown in (lambda: None, fails):
        source._process = unknown
        assert ALLOCATOR not in source.read()


def test_systemds_own_group_may_lie_below_another(machine: FakeLinux) -> None:
    machine.start_server(f"lxc/db/system.slice/{UNIT}")
    assert ALLOCATOR not in machine.source.read()
    (machine.root / "proc/1/cgroup").write_text("1:name=systemd:/lxc/db/init.scope\n")
    assert ALLOCATOR in machine.source.read()


def test_systemd_may_work_in_either_version_of_control_groups(machine: FakeLinux) -> None:
    groups = machine.root / f"proc/{machine.process}/cgroup"
    for text in (f"0::/system.slice/{UNIT}\n", f"9:name=systemd:/\n0::/system.slice/{UNIT}\n"):
        groups.write_text(text)
        assert ALLOCATOR in machine.source.read()
    groups.write_text("9:name=systemd:/\n0::/system.slice/other.service\n")
    assert ALLOCATOR not in machine.source.read()


def test_what_the_agents_account_may_not_see_the_helper_tells_once_of_each_process(
    machine: FakeLinux, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, root = allocators.loaded, [False]
    monkeypatch.setattr(allocators, "loaded", lambda *asked: real(*asked) if root[0] else None)
    ask = machine.ask

    def as_root(steps: Any) -> Any:
        root[0] = True
        try:
            return ask(steps)
        finally:
            root[0] = False

    machine.ask = as_root  # type: ignore[method-assign]
    source = machine.source
    assert [source.read()[ALLOCATOR].value for _ in range(3)] == ["system"] * 3
    assert machine.asked == [Request("loaded", process=str(machine.process))]
    machine.linked = "/usr/lib64/libjemalloc.so.2"
    machine.start_server()
    assert source.read()[ALLOCATOR].value == "jemalloc"
    (machine.root / f"proc/{machine.process}/maps").unlink()
    assert machine.source.read().get(ALLOCATOR) is None


def test_where_somebody_else_preloads_a_change_is_refused_with_the_files_name(machine: FakeLinux) -> None:
    file = f"etc/systemd/system/{UNIT}.d/override.conf"
    (machine.folder / file).parent.mkdir(parents=True)
    (machine.folder / file).write_text("[Service]\nEnvironment=LD_PRELOAD=/usr/lib64/libx.so\n")
    made = bench(machine)
    before = state(made, machine)
    outcome = made.do({ALLOCATOR: "jemalloc"})
    assert (outcome.state, outcome.code) == ("refused", "setting_shadowed")
    assert f"{ALLOCATOR} (/{file})" in outcome.message
    assert state(made, machine) == before


@pytest.mark.parametrize("library", ["libjemalloc.so.2", "libmimalloc.so.2"])
def test_a_server_that_brings_another_one_itself_keeps_it(machine: FakeLinux, library: str) -> None:
    machine.linked = f"/usr/lib64/{library}"
    machine.start_server()
    made = bench(machine)
    setting = made.engine.server(Host(8 << 30, 4)).settings[ALLOCATOR]
    assert (setting.value, setting.shadowed) == (library[3:11], "the server's program, or what starts it")
    assert made.do({ALLOCATOR: "tcmalloc"}).code == "setting_shadowed"
    with pytest.raises(InvalidConfiguration, match="which overrides the agent's file"):
        meet(made.engine.server(Host(8 << 30, 4))).space(Policy(host=True, movable=frozenset({ALLOCATOR})))


def test_a_drop_in_that_somebody_has_edited_is_somebody_elses(machine: FakeLinux) -> None:
    made = bench(machine)
    assert made.do({ALLOCATOR: "jemalloc"}).state == "applied"
    drop_in = machine.places.drop_in(UNIT)
    drop_in.write_text(f"{drop_in.read_text()}Nice=5\n")
    assert machine.source.read()[ALLOCATOR].shadowed == f"{drop_in}: somebody else has edited it"


def test_without_restarts_it_stays(machine: FakeLinux) -> None:
    made = bench(machine, mode="reload_only")
    before = state(made, machine)
    assert made.do({ALLOCATOR: "jemalloc"}).code == "restart_not_allowed"
    assert state(made, machine) == before


def test_a_host_whose_helper_refuses_it_says_why(machine: FakeLinux) -> None:
    made = bench(machine)
    assert ALLOCATOR in machine.source.read()
    places = machine.places
    (machine.folder / "etc/systemd/system").chmod(0o777)
    outcome = made.do({ALLOCATOR: "jemalloc"})
    assert (outcome.state, outcome.code) == ("refused", "insufficient_privilege")
    assert f"{places.drop_in(UNIT).parent.parent}: accounts other than root can change it" in outcome.message


@pytest.mark.parametrize("value", LIBRARIES)
def test_the_servers_restart_makes_it_active_and_its_undo_takes_it_out(machine: FakeLinux, value: str) -> None:
    made = bench(machine)
    before = state(made, machine)
    outcome = made.do({"work_mem": 8192, ALLOCATOR: value})
    assert (outcome.state, outcome.message, outcome.restarted) == ("applied", "", True)
    assert outcome.active == {"work_mem": 8192, ALLOCATOR: value}
    assert machine.allocator == value
    assert machine.source.read()[ALLOCATOR].persisted == value
    change = made.changes.watched
    assert change is not None
    assert made.executor().undo(change, "guardrail", "why").state == "reverted"
    assert state(made, machine) == before
    assert made.control.restarts == 2


def test_from_one_library_to_another_and_back_to_the_servers_own(machine: FakeLinux) -> None:
    made = bench(machine, mode="lab", driver=True)
    before = state(made, machine)
    for value in ("jemalloc", "tcmalloc", "system"):
        outcome = made.do({ALLOCATOR: value})
        assert (outcome.state, outcome.active) == ("applied", {ALLOCATOR: value})
    assert state(made, machine) == before


def test_what_the_restart_does_not_make_active_is_undone(machine: FakeLinux) -> None:
    """As where a policy of the host's clears a server's environment."""
    made = bench(machine)
    before = state(made, machine)
    real = machine.places.systemctl.read_text()
    machine.places.systemctl.write_text(real.replace("cat ", ": "))
    outcome = made.do({ALLOCATOR: "jemalloc"})
    assert (outcome.state, outcome.code) == ("reverted", "not_active_after_apply")
    assert f"{ALLOCATOR} waits for a restart" in outcome.message
    assert state(made, machine) == before


def test_a_restart_that_takes_the_server_out_of_its_unit_is_undone(machine: FakeLinux) -> None:
    made = bench(machine)
    host = made.engine.host
    host.server_started = lambda: machine.start_server("user.slice/session-1.scope")  # type: ignore[union-attr,method-assign]
    outcome = made.do({ALLOCATOR: "jemalloc"})
    assert (outcome.state, outcome.code) == ("reverted", "not_active_after_apply")
    assert f"{ALLOCATOR} is no longer reported" in outcome.message
    assert not machine.places.drop_in(UNIT).exists()


def test_a_server_that_does_not_start_with_it_is_started_without(machine: FakeLinux) -> None:
    made = bench(machine)
    before, known = state(made, machine), machine.folder / "known_to_systemd"
    made.engine.breaks = lambda _: known.exists() and "LD_PRELOAD" in known.read_text()
    outcome = made.do(WANTED)
    assert (outcome.state, outcome.code) == ("reverted", "did_not_start")
    assert made.engine.up
    assert state(made, machine) == before


def test_while_systemd_refuses_the_undo_waits_and_then_is_made(machine: FakeLinux) -> None:
    made = bench(machine)
    before = state(made, machine)
    assert made.do(WANTED).state == "applied"
    change, refuses = made.changes.watched, machine.folder / "systemd_refuses"
    assert change is not None
    refuses.write_text("")
    with pytest.raises(Exception, match="Access denied"):
        made.executor().undo(change, "guardrail", "why")
    assert made.changes.in_hand is not None
    refuses.unlink()
    recovered = made.executor().recover()
    assert recovered is not None
    assert recovered.state == "reverted"
    assert state(made, machine) == before


class Killed(BaseException):
    """The agent's process, and its helper's, ended here."""


class Steps:
    """Ends the process before its n-th step: a small file's rename or removal, systemd's reload, the server's start."""

    def __init__(self, left: int) -> None:
        self.left = left

    def __call__(self) -> None:
        if self.left == 0:
            raise Killed
        self.left -= 1

    def before(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any) -> Any:
            self()
            return real(*arguments)

        return counted

    def kills(self, doing: Callable[[], object]) -> bool:
        steps = self

        class Renamed(type(Path())):  # type: ignore[misc]
            def replace(self, target: Any) -> Any:
                steps()
                return super().replace(target)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(atomic, "Path", Renamed)
            patched.setattr(lasting, "remove", self.before(lasting.remove))
            patched.setattr(units, "reload", self.before(units.reload))
            patched.setattr(FakeEngine, "start", self.before(FakeEngine.start))
            try:
                doing()
            except Killed:
                return True
        return False


@pytest.mark.parametrize("reboots", [False, True])
def test_killed_before_any_step_all_is_as_before_once_the_agent_has_started_again(
    tmp_path: Path, reboots: bool
) -> None:
    kills, stages = 0, set()
    for n in range(100):
        machine = FakeLinux(tmp_path / str(n))
        made = bench(machine)
        before = state(made, machine)
        if not Steps(n).kills(lambda made=made: made.do(WANTED)):  # type: ignore[misc]
            break
        kills += 1
        stages.add((machine.places.drop_in(UNIT).exists(), machine.allocator))
        if reboots:
            machine.reboot()
        recovered = made.executor().recover()
        assert made.changes.in_hand is None
        assert state(made, machine) == before, f"killed before step {n}"
        assert recovered is None or recovered.state == "reverted"
    assert kills > 8
    assert stages == {(False, OWN), (True, OWN), (True, "jemalloc")}
    assert machine.allocator == "jemalloc"


@pytest.mark.parametrize("reboots", [False, True])
def test_killed_while_it_undoes_it_undoes_the_rest_at_its_next_start(tmp_path: Path, reboots: bool) -> None:
    kills = 0
    for n in range(100):
        machine = FakeLinux(tmp_path / str(n))
        made = bench(machine)
        before = state(made, machine)
        assert made.do(WANTED).state == "applied"
        change = made.changes.watched
        assert change is not None
        undo = made.executor().undo
        killed = Steps(n).kills(lambda undo=undo, change=change: undo(change, "guardrail", "why"))  # type: ignore[misc]
        if killed and reboots:
            machine.reboot()
        if n == 0:  # nothing was begun, and the guard fires again
            made.executor().undo(change, "guardrail", "why")
        made.executor().recover()
        assert made.changes.in_hand is None
        assert state(made, machine) == before, f"killed before step {n}"
        if not killed:
            break
        kills += 1
    assert kills > 5
