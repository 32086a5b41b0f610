"""The Linux host as a setting source: read, applied, made to last and restored exactly, whatever happens in between."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lutra_agent.errors import ApplyRefused, DatabaseUnavailable
from lutra_agent.files import atomic
from lutra_agent.linux.client import HelperProgram
from lutra_agent.linux.kernel import SETTINGS
from lutra_agent.linux.requests import Request
from lutra_agent.linux.source import REMEDY, LinuxHost
from lutra_models.catalog import load, meet
from lutra_models.errors import InvalidConfiguration
from lutra_models.server import Host, Policy

from tests.support.agent.directed import Directed, directed
from tests.support.conformance.source import Kept, SourceConformance
from tests.support.fakes.linux import ALL, NEW, FakeLinux, kernel_behaves

VERSION = "16.4"
ROOT = Path(__file__).parents[4]


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[FakeLinux]:
    with kernel_behaves():
        yield FakeLinux(tmp_path)


@pytest.fixture
def kept(machine: FakeLinux) -> Kept:
    return Kept(machine.source, VERSION, NEW)


class TestLinuxHost(SourceConformance):
    pass


def bench(machine: FakeLinux, **more: Any) -> Directed:
    made = directed(machine.folder, **more)
    made.engine.host = machine.source  # type: ignore[assignment]
    return made


def state(made: Directed, machine: FakeLinux) -> tuple[Any, ...]:
    kernel = {n: text.strip() for n, text in machine.kernel().items()}
    return dict(made.engine.settings), made.engine.file, kernel, machine.lasting()


def test_every_setting_of_the_catalogue_is_read_with_its_unit_and_its_limits(machine: FakeLinux) -> None:
    found = machine.source.read()
    assert set(found) == {row.name for row in load("linux").rows} == set(ALL)
    assert (found["vm.nr_hugepages"].unit, found["vm.dirty_expire_centisecs"].unit) == ("2048kB", "10ms")
    assert found["data_disk.scheduler"].options == ("none", "mq-deadline", "kyber", "bfq")
    assert found["transparent_hugepage.enabled"].value == "madvise"


def test_what_a_kernel_lacks_is_not_reported(machine: FakeLinux) -> None:
    (machine.root / "proc/sys/kernel/numa_balancing").unlink()
    (machine.root / "sys/block/vda/serial").unlink()
    assert set(SETTINGS) - set(machine.source.read()) == {
        "kernel.numa_balancing",
        *(n for n in SETTINGS if n.startswith("data_disk.")),
    }


def test_all_of_them_in_one_change_with_the_server_are_applied_and_last_and_are_undone(machine: FakeLinux) -> None:
    made = bench(machine, mode="lab", driver=True, by_catalogue=False)
    before = state(made, machine)
    wanted = {"work_mem": 8192, **ALL}
    outcome = made.do(wanted)
    assert (outcome.state, outcome.message, outcome.active) == ("applied", "", wanted)
    after = {n: t.strip() for n, t in machine.kernel().items()}
    machine.reboot()
    assert {n: t.strip() for n, t in machine.kernel().items()} == after
    old = {n: s.value for n, s in made.engine.server(Host(1 << 33, 4)).settings.items() if n in wanted}
    assert old["vm.swappiness"] == "10"
    assert machine.allocator == "jemalloc"
    undone = made.do({**{n: SETTINGS_BEFORE[n] for n in ALL}, "work_mem": 4096}, restore=True)
    assert (undone.state, undone.message) == ("applied", "")
    assert state(made, machine)[2:] == before[2:]


SETTINGS_BEFORE = {
    "vm.swappiness": 60,
    "vm.dirty_background_bytes": 0,
    "vm.dirty_bytes": 0,
    "vm.dirty_expire_centisecs": 3000,
    "vm.dirty_writeback_centisecs": 500,
    "vm.overcommit_memory": "0",
    "vm.zone_reclaim_mode": "0",
    "vm.nr_hugepages": 0,
    "kernel.numa_balancing": "0",
    "transparent_hugepage.enabled": "madvise",
    "transparent_hugepage.defrag": "madvise",
    "data_disk.nr_requests": 250,
    "data_disk.scheduler": "mq-deadline",
    "data_disk.read_ahead_kb": 128,
    "data_disk.rq_affinity": "1",
    "net.core.somaxconn": 4096,
    "net.ipv4.tcp_max_syn_backlog": 512,
    "server.allocator": "system",
}


class Killed(BaseException):
    """The agent's process, and its helper's, ended here."""


class Steps:
    """Ends the process before its n-th write: of the kernel's, or of a small file's rename."""

    def __init__(self, left: int) -> None:
        self.left = left

    def __call__(self, *_: object) -> None:
        if self.left == 0:
            raise Killed
        self.left -= 1


def killed_before(steps: Steps, made: Directed, wanted: dict[str, Any]) -> bool:
    """Whether the change was killed."""

    class Renamed(type(Path())):  # type: ignore[misc]
        def replace(self, target: Any) -> Any:
            steps()
            return super().replace(target)

    with pytest.MonkeyPatch.context() as patched, kernel_behaves(steps):
        patched.setattr(atomic, "Path", Renamed)
        try:
            made.do(wanted)
        except Killed:
            return True
    return False


SOME = {n: NEW[n] for n in ("vm.dirty_bytes", "data_disk.nr_requests", "data_disk.scheduler", "vm.swappiness")}


@pytest.mark.parametrize("reboots", [False, True])
def test_killed_before_any_write_all_is_as_before_once_the_agent_has_started_again(
    tmp_path: Path, reboots: bool
) -> None:
    kills = 0
    for n in range(100):
        folder = tmp_path / str(n)
        folder.mkdir()
        machine = FakeLinux(folder)
        made = bench(machine)
        with kernel_behaves():
            before = state(made, machine)
        if not killed_before(Steps(n), made, {"work_mem": 8192, **SOME}):
            break
        kills += 1
        with kernel_behaves():
            if reboots:
                machine.reboot()
            recovered = made.executor().recover()
            in_hand = made.changes.in_hand
        assert in_hand is None
        assert state(made, machine) == before, f"killed before write {n}"
        assert recovered is None or recovered.state == "reverted"
    assert kills > 12


def test_killed_while_it_undoes_it_undoes_the_rest_at_its_next_start(tmp_path: Path) -> None:
    for n in range(100):
        folder = tmp_path / str(n)
        folder.mkdir()
        machine = FakeLinux(folder)
        made = bench(machine)
        with kernel_behaves():
            before = state(made, machine)
            assert made.do(SOME).state == "applied"
        change, steps = made.changes.watched, Steps(n)
        assert change is not None
        with kernel_behaves(steps):
            try:
                made.executor().undo(change, "guardrail", "why")
            except Killed:
                pass
        with kernel_behaves():
            machine.reboot() if n % 2 else None
            made.executor().recover()
        assert state(made, machine) == before, f"killed before write {n}"
        if steps.left:
            break
    assert n > 3


@pytest.mark.parametrize("known", [True, False])
def test_it_is_undone_while_the_server_is_down_and_cannot_name_its_disk(machine: FakeLinux, known: bool) -> None:
    made = bench(machine)
    before = state(made, machine)
    assert made.do(SOME).state == "applied"

    def down() -> Any:
        raise DatabaseUnavailable("connection refused")

    source = machine.source if known else LinuxHost(machine, down, down, machine.places)
    source.read()
    source._data_dir = down
    source.execute([s for n in SOME for s in source.undo(n, None, str(SETTINGS_BEFORE[n]), restart=False)])
    assert state(made, machine)[2:] == before[2:]


@pytest.mark.parametrize(
    ("file", "line", "name"),
    [
        ("etc/sysctl.d/10-db.conf", "vm.swappiness=1", "vm.swappiness"),
        ("usr/lib/sysctl.d/50-default.conf", "-vm/swappiness = 1", "vm.swappiness"),
        ("etc/sysctl.conf", "vm.dirty_ratio = 40", "vm.dirty_bytes"),
        ("run/sysctl.d/x.conf", "net.core.* = 7", "net.core.somaxconn"),
    ],
)
def test_a_setting_that_another_file_sets_is_refused_with_its_name(
    machine: FakeLinux, file: str, line: str, name: str
) -> None:
    path = machine.folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"# {name}\n{line}\n")
    made = bench(machine, by_catalogue=False)
    before = state(made, machine)
    outcome = made.do({name: NEW[name]})
    assert (outcome.state, outcome.code) == ("refused", "setting_shadowed")
    assert f"{name} (/{file})" in outcome.message
    assert state(made, machine) == before


def test_what_tuneds_active_profile_and_those_that_it_includes_set_is_refused(machine: FakeLinux) -> None:
    profiles = {
        "etc/tuned/active_profile": "own\n",
        "etc/tuned/profiles/own/tuned.conf": "[main]\ninclude=base\n[vm]\ntransparent_hugepages=never\n"
        "[disk]\nreadahead=>4096\n",
        "usr/lib/tuned/base/tuned.conf": "[sysctl]\nvm.swappiness=10\n# vm.nr_hugepages=3\n",
    }
    for file, content in profiles.items():
        (machine.folder / file).parent.mkdir(parents=True, exist_ok=True)
        (machine.folder / file).write_text(content)
    assert {n: s.shadowed for n, s in machine.source.read().items() if s.shadowed} == dict.fromkeys(
        ("vm.swappiness", "transparent_hugepage.enabled", "data_disk.read_ahead_kb"), "TuneD's profile own"
    )


def test_a_file_of_lutras_that_somebody_has_edited_is_somebody_elses(machine: FakeLinux) -> None:
    machine.places.sysctls.parent.mkdir(parents=True)
    machine.places.sysctls.write_text("vm.swappiness = 7\n")
    shadowed = {n: s.shadowed for n, s in machine.source.read().items() if s.shadowed}
    assert set(shadowed) == {n for n in SETTINGS if n.startswith(("vm.", "kernel.", "net."))}
    assert set(shadowed.values()) == {f"{machine.places.sysctls}: somebody else has edited it"}


def test_without_the_helper_nothing_can_be_changed_and_the_refusal_says_how(machine: FakeLinux, tmp_path: Path) -> None:
    made = bench(machine)
    helper = HelperProgram((str(tmp_path / "no-such-helper"),))
    made.engine.host = LinuxHost(helper, lambda: machine.folder, lambda: machine.process, machine.places)  # type: ignore[assignment]
    before = state(made, machine)
    outcome = made.do({"vm.swappiness": 10})
    assert (outcome.state, outcome.code) == ("refused", "insufficient_privilege")
    assert REMEDY in outcome.message
    assert (ROOT / REMEDY.rpartition(" ")[2]).is_file()
    assert state(made, machine) == before
    with pytest.raises(ApplyRefused, match="no-such-helper"):
        helper.ask([Request("boot")])
    with pytest.raises(ApplyRefused, match="ended with 1 and no answer: denied"):
        HelperProgram(("sh", "-c", "echo denied >&2; exit 1")).ask([Request("boot")])


def test_a_setting_that_this_kernel_does_not_let_anybody_write_is_not_the_agents(machine: FakeLinux) -> None:
    (machine.root / "proc/sys/vm/swappiness").unlink()
    found = machine.source.permissions(["vm.swappiness", "vm.dirty_bytes"])
    assert (found.changeable, found.explanation) == ({"vm.dirty_bytes"}, "not on this host: vm.swappiness (missing)")


def test_a_session_moves_both_only_where_the_policy_says_so_and_huge_pages_count(machine: FakeLinux) -> None:
    made = bench(machine)
    live = meet(made.engine.server(Host(8 << 30, 4)))
    assert not set(SETTINGS) & set(live.space(Policy()).names)
    both = live.space(Policy(host=True)).names
    assert {"work_mem", "vm.swappiness", "vm.dirty_bytes", "data_disk.scheduler"} <= set(both)
    assert "vm.nr_hugepages" not in both
    with pytest.raises(InvalidConfiguration, match="concerns everything that runs on the machine; allow host"):
        live.space(Policy(movable=frozenset({"vm.swappiness"})))
    reserved = live.memory(Policy(), {"vm.nr_hugepages": 1024}).total_bytes - live.memory(Policy(), {}).total_bytes
    assert reserved == 2 << 30
    refused = live.memory_refusal(Policy(), {"vm.nr_hugepages": 3600})
    assert refused is not None
    assert "explicit huge pages" in refused.message
    start = live.rule_based(Policy(host=True))
    assert (start["vm.dirty_bytes"], start["vm.swappiness"]) == (512 << 20, 10)


def test_a_ratio_that_nobody_remembers_is_not_offered(machine: FakeLinux) -> None:
    (machine.root / "proc/sys/vm/dirty_bytes").write_text("104857600")
    live = meet(bench(machine).engine.server(Host(8 << 30, 4)))
    domain = live.space(Policy(host=True))["vm.dirty_bytes"].domain
    assert 0 not in domain
    assert 100 << 20 in domain
