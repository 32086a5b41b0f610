"""Every host setting of the catalogue on this machine's own kernel: applied, read back, made to last, restored exactly.

What lasts is written below a folder of the test. The kernel gets back what it had, whatever happens.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from lutra_agent.changes.restore import restore
from lutra_agent.errors import ApplyRefused
from lutra_agent.files import atomic
from lutra_agent.linux import requests
from lutra_agent.linux.client import HelperProgram, as_document
from lutra_agent.linux.disks import disk_of
from lutra_agent.linux.helper import carry_out
from lutra_agent.linux.kernel import RATIOS, SETTINGS, Kernel, KernelSetting
from lutra_agent.linux.places import Places
from lutra_agent.linux.requests import Request
from lutra_agent.linux.source import LinuxHost
from lutra_agent.state.snapshot import BASELINE, stored_snapshots
from lutra_models.catalog import load, meet
from lutra_models.errors import ApplyCode
from lutra_models.knobs import Value
from lutra_models.server import Host

from tests.support.agent.directed import Directed, directed
from tests.support.conformance.source import Kept, SourceConformance
from tests.support.servers.engines import scratch
from tests.support.servers.subjects import subject_of

pytestmark = [pytest.mark.engine, pytest.mark.slow]

LOCK = Path("/tmp/lutra-tests-of-this-kernel")
"""There is one kernel for all that test here at once."""
ON_DISK = Path(__file__).parent
"""A folder on a real disk, as a server's data: the tests' own may lie in memory."""
OF_THE_KERNEL = sorted(row.name for row in load("linux").rows if not SETTINGS[row.name].of_server)
OTHER = {
    "vm.swappiness": (10, 11),
    "vm.dirty_background_bytes": (64 << 20, 65 << 20),
    "vm.dirty_bytes": (512 << 20, 513 << 20),
    "vm.dirty_expire_centisecs": (500, 600),
    "vm.dirty_writeback_centisecs": (100, 200),
    "vm.nr_hugepages": (1, 2),  # a kernel whose memory is in pieces gives no more
    "data_disk.read_ahead_kb": (256, 512),
    "data_disk.nr_requests": (64, 128),
    "net.core.somaxconn": (8192, 8193),
    "net.ipv4.tcp_max_syn_backlog": (1024, 1025),
}
"""Two values of each number, of which one is new."""


@dataclass
class Machine:
    folder: Path

    @property
    def places(self) -> Places:
        etc = self.folder / "etc"
        return Places(Path("/"), etc / "sysctl.d/90-lutra.conf", etc / "host.conf", self.folder / "memory", etc)

    @property
    def program(self) -> HelperProgram:
        """The program itself, over these places."""
        p = self.places
        paths = ", ".join(f"Path({str(path)!r})" for path in (p.root, p.sysctls, p.devices, p.memory, p.system))
        code = f"from pathlib import Path; from lutra_agent.linux.helper import Places, main; main([], Places({paths}))"
        return HelperProgram((sys.executable, "-I", "-c", code))

    def source(self, helper: Any = None) -> LinuxHost:
        return _LinuxHost(helper or self, lambda: ON_DISK, lambda: None, self.places)

    def ask(self, steps: Sequence[Request]) -> Mapping[str, str]:
        """In this process, so that it can be killed."""
        document = json.dumps({"steps": [as_document(s) for s in steps]}).encode()
        answer = carry_out(requests.parse(document), self.places)
        if answer.error:
            raise ApplyRefused(ApplyCode.INVALID_VALUE, answer.error)
        return answer.settings or {}

    def lasting(self) -> dict[str, bytes]:
        return {str(p): p.read_bytes() for p in (self.folder / "etc").rglob("*") if p.is_file()}


class _LinuxHost(LinuxHost):
    def server_started(self) -> None:
        """A host does not notice when the server in memory starts."""


def kernel_now() -> dict[str, str]:
    """What every file says that a change may touch, the ratios included."""
    kernel = Kernel(Path("/"), disk_of(Path("/"), ON_DISK))
    return {s.name: kernel.path(s).read_text() for s in (*SETTINGS.values(), *RATIOS.values()) if _there(kernel, s)}


def _there(kernel: Kernel, setting: KernelSetting) -> bool:
    return kernel.state(setting) == "writable"


@pytest.fixture(autouse=True)
def before() -> Iterator[dict[str, str]]:
    """What the kernel had, which it gets back."""
    if os.geteuid() != 0 or not os.access("/proc/sys/vm/swappiness", os.W_OK):
        pytest.skip("needs root, and a kernel of its own: /proc/sys is not to be written here")
    with LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = kernel_now()
        yield found
        _restore(found)
        assert kernel_now() == found


def _restore(found: Mapping[str, str]) -> None:
    kernel = Kernel(Path("/"), disk_of(Path("/"), ON_DISK))
    known = {**SETTINGS, **{r.name: r for r in RATIOS.values()}}
    for name in sorted(found, key=lambda n: n != "data_disk.scheduler"):
        wanted = _chosen(found[name])
        if kernel.read(known[name]) != wanted and not (name in RATIOS and wanted == "0"):
            kernel.write(known[name], wanted)


def _chosen(text: str) -> str:
    return text.partition("[")[2].partition("]")[0] or text.strip()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def new_values(machine: Machine) -> dict[str, Value]:
    """One for each setting that this kernel has."""
    found: dict[str, Value] = {}
    for name, setting in machine.source().read().items():
        if name in OTHER:
            found[name] = next(v for v in OTHER[name] if str(v) != setting.value)
        else:
            found[name] = next(o for o in setting.options if o != setting.value)
    return found


def bench(machine: Machine, helper: Any = None) -> Directed:
    made = directed(machine.folder, by_catalogue=False)
    made.engine.host = machine.source(helper)  # type: ignore[assignment]
    return made


@pytest.fixture
def kept(machine: Machine) -> Kept:
    return Kept(machine.source(), "16.4", new_values(machine))


class TestThisKernel(SourceConformance):
    pass


def test_this_kernel_has_most_of_the_catalogue(before: dict[str, str], machine: Machine) -> None:
    assert len(set(machine.source().read()) & set(before)) >= len(OF_THE_KERNEL) - 2


@pytest.mark.parametrize("name", OF_THE_KERNEL)
def test_each_setting_alone_is_applied_read_back_and_restored_exactly(
    before: dict[str, str], machine: Machine, name: str
) -> None:
    if name not in before or name not in machine.source().read():
        pytest.skip(f"this kernel has no {name} that could be written")
    made, wanted = bench(machine), {name: new_values(machine)[name]}
    outcome = made.do(wanted)
    assert (outcome.state, outcome.message, outcome.active) == ("applied", "", wanted)
    assert kernel_now() != before
    assert machine.source().read()[name].persisted == str(wanted[name])
    change = made.changes.watched
    assert change is not None
    assert made.executor().undo(change, "guardrail", "why").state == "reverted"
    assert kernel_now() == before
    assert machine.lasting() == {}


def test_the_program_changes_all_of_them_together_and_restores_them(before: dict[str, str], machine: Machine) -> None:
    made, wanted = bench(machine, machine.program), new_values(machine)
    outcome = made.do(wanted)
    assert (outcome.state, outcome.message, outcome.active) == ("applied", "", wanted)
    lines = machine.places.sysctls.read_text() + machine.places.devices.read_text()
    assert sum(" = " in line for line in lines.splitlines()) == len(wanted)
    assert meet(made.engine.server(Host(1 << 33, 4))).values.restrict(wanted) == wanted
    assert made.executor().undo(made.changes.watched, "guardrail", "why").state == "reverted"  # type: ignore[arg-type]
    assert kernel_now() == before
    assert machine.lasting() == {}


@pytest.mark.parametrize("down", [False, True])
def test_one_change_over_a_real_server_and_this_kernel_is_undone_with_the_server_up_or_down(
    before: dict[str, str], machine: Machine, down: bool
) -> None:
    with scratch("postgresql") as server:
        subject = subject_of(server, machine.folder / "state")
        subject.engine = replace(subject.engine, sources=(*subject.engine.sources, machine.source(machine.program)))
        subject.executor = subject.executor_over(subject.engine)
        old = subject.fresh()
        wanted = {"work_mem": 8192, **{n: v for n, v in new_values(machine).items() if n != "net.core.somaxconn"}}
        outcome = subject.do("rec_1", wanted)
        assert (outcome.state, outcome.message, outcome.restarted) == ("applied", "", False)
        assert outcome.active == wanted
        snapshots = stored_snapshots(subject.state, BASELINE)
        assert snapshots is not None
        if down:
            subject.stop()
        restore(subject.engine, subject.control, snapshots, list(wanted), restart=False)
        assert (subject.fresh(), kernel_now(), machine.lasting()) == (old, before, {})
        subject.engine.health.close()


def test_an_account_that_is_not_root_changes_nothing_with_the_program(before: dict[str, str], tmp_path: Path) -> None:
    nobody = 65534
    tmp_path.chmod(0o777)
    for folder in tmp_path.parents:
        if folder.stat().st_uid == os.geteuid() and "pytest-of" in str(folder):
            folder.chmod(0o755)
    command = (shutil.which("setpriv") or "setpriv", f"--reuid={nobody}", f"--regid={nobody}", "--clear-groups")
    machine = Machine(tmp_path)
    unprivileged = HelperProgram((*command, *machine.program.command))
    with pytest.raises(ApplyRefused) as refused:
        unprivileged.ask([Request("set", name, value=str(OTHER[name][0])) for name in sorted(OTHER) if "vm." in name])
    assert str(refused.value).count("Permission denied") == sum("vm." in name for name in OTHER)
    assert kernel_now() == before
    source = machine.source(unprivileged)
    assert source.permissions(OTHER).changeable == frozenset()


def test_killed_before_any_write_all_is_as_before_once_the_agent_has_started_again(
    before: dict[str, str], machine: Machine, tmp_path: Path
) -> None:
    wanted, kills = new_values(machine), 0
    for n in range(200):
        folder = tmp_path / str(n)
        folder.mkdir()
        made = bench(Machine(folder))
        if not killed_in_its_own_process(made, wanted, n):
            break
        kills += 1
        recovered = made.executor().recover()
        assert recovered is None or recovered.state == "reverted", recovered
        assert made.changes.in_hand is None
        assert kernel_now() == before, f"killed before write {n}"
        assert Machine(folder).lasting() == {}
    assert kills > 2 * len(wanted)
    assert kernel_now() != before


def killed_in_its_own_process(made: Directed, wanted: dict[str, Value], left: int) -> bool:
    """Whether SIGKILL came before the change was through: before its write number `left`."""
    child = os.fork()
    if child == 0:
        try:
            _die_before_write(left)
            made.do(dict(wanted))
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def _die_before_write(left: int) -> None:
    """Of the kernel's files, and of small files each rename."""
    real = Kernel.write

    def step() -> None:
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

    def write(kernel: Kernel, setting: KernelSetting, value: str) -> None:
        step()
        real(kernel, setting, value)

    class Renamed(type(Path())):  # type: ignore[misc]
        def replace(self, target: Any) -> Any:
            step()
            return super().replace(target)

    Kernel.write = write  # type: ignore[method-assign]
    atomic.Path = Renamed  # type: ignore[misc,assignment]
