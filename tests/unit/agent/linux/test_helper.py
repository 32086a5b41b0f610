"""What `lutra-host` carries out, and that nothing else gets through to the kernel or the disk."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lutra_agent.linux import helper, lasting, requests
from lutra_agent.linux.allocators import LIBRARIES
from lutra_agent.linux.helper import carry_out
from lutra_agent.linux.kernel import ALLOCATOR, RATIOS, SETTINGS, SYSTEM, Refused
from lutra_agent.linux.requests import KEYS, Request
from lutra_models.catalog import load
from lutra_models.catalog.statements import linux as shown

from tests.support.fakes.linux import DISK, SERIAL, FakeLinux, kernel_behaves
from tests.support.pytest_plugins.suites import examples

pytestmark = pytest.mark.slow

MODULES = ("helper", "kernel", "disks", "lasting", "requests", "places")


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[FakeLinux]:
    with kernel_behaves():
        yield FakeLinux(tmp_path)


def everything(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_it_knows_the_catalogues_settings_alone_and_the_files_that_people_are_shown(tmp_path: Path) -> None:
    assert set(SETTINGS) == {row.name for row in load("linux").rows}
    assert {n: r.name for n, r in RATIOS.items()} == shown.BY_RATIO
    places = helper.Places()
    for setting in (s for s in SETTINGS.values() if not s.of_server):
        file = shown.SYSCTL_FILE if shown.is_sysctl(setting.name) else shown.DEVICE_FILE
        assert str(places.lasting(setting)) == file
    assert str(places.drop_in("SERVER_UNIT")) == shown.UNIT_FILE
    assert (ALLOCATOR, SYSTEM, LIBRARIES) == (shown.ALLOCATOR, shown.OWN_ALLOCATOR, shown.LIBRARIES)
    assert load("linux").rows[-1].options == SETTINGS[ALLOCATOR].options == (SYSTEM, *LIBRARIES)


def test_it_loads_no_package_but_the_standard_library() -> None:
    code = (
        "import sys; before = set(sys.modules); import lutra_agent.linux.helper; "
        "print(*sorted({m.partition('.')[0] for m in set(sys.modules) - before} - sys.stdlib_module_names))"
    )
    ran = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["lutra_agent"]


def step(verb: str, name: str = "", value: str = "", disk: str = "") -> dict[str, str]:
    every = {"verb": verb, "name": name, "value": value, "disk": disk, "process": value}
    return {k: v for k, v in every.items() if k in KEYS.get(verb, every)}


def hostile_steps() -> st.SearchStrategy[Any]:
    """Steps that look like the real ones, each with something that is not."""
    paths = ("/proc/sys/vm/swappiness", "../vm.swappiness", "vm/swappiness", "kernel.core_pattern", "vm.dirty_ratio")
    names = st.one_of(st.sampled_from((*paths, "vm.swappiness\n", "VM.SWAPPINESS", "data_disk.rotational")), st.text())
    odd = st.one_of(
        st.sampled_from(("", "10\n", " 10", "1e3", "-1", "+1", "0x10", "010", "9" * 30, "10; rm", "١٠", "never never")),
        st.text().filter(lambda text: not text.isascii() or not text.isalnum()),
        st.integers(201, 2**80).map(str),
    )
    disks = st.one_of(
        st.sampled_from(("../vda", "serial:", "serial:../x", "serial:a b", "vda", "SERIAL:A")), st.text(min_size=1)
    )
    verb = st.sampled_from(("set", "keep"))
    bad_name = st.builds(step, verb, names.filter(lambda n: n not in SETTINGS), st.just("10"))
    bad_value = st.builds(step, verb, st.just("vm.swappiness"), odd)
    bad_word = st.builds(step, verb, st.just("transparent_hugepage.enabled"), odd)
    whose_disk = disks.filter(lambda d: not requests.STABLE.fullmatch(d))
    bad_disk = st.builds(step, verb, st.just("data_disk.scheduler"), st.just("none"), whose_disk)
    no_disk = st.just(step("set", "data_disk.scheduler", "none"))
    needless = st.just(step("set", "vm.swappiness", "10", SERIAL))
    bad_verb = st.builds(step, st.text().filter(lambda v: v not in KEYS), st.just("vm.swappiness"), st.just("10"))
    more = st.builds(
        lambda key: {**step("set", "vm.swappiness", "10"), key: "/etc/passwd"}, st.text(min_size=1)
    ).filter(lambda s: set(s) != KEYS["set"])
    json_values = st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
        max_leaves=5,
    )
    typed = st.builds(
        lambda value: {**step("set", "vm.swappiness", "10"), "value": value},
        json_values.filter(lambda value: not isinstance(value, str)),
    )
    libraries = ("/tmp/evil.so", "libjemalloc.so.2", "mimalloc", "jemalloc\n", "jemalloc LD_AUDIT=/tmp/evil.so", "")
    library = st.one_of(st.sampled_from(libraries), odd)
    bad_library = st.builds(step, st.just("keep"), st.just("server.allocator"), library)
    at_once = st.just(step("set", "server.allocator", "jemalloc"))
    numbers = st.one_of(st.sampled_from(("0", "self", "1/root", "-1", "1 2", "../1", "9" * 30)), odd)
    no_number = numbers.filter(lambda text: not requests.PROCESS.fullmatch(text))
    process = st.builds(step, st.just("loaded"), st.just(""), no_number)
    of_server = (bad_library, at_once, process)
    return st.one_of(
        bad_name, bad_value, bad_word, bad_disk, no_disk, needless, bad_verb, more, typed, json_values, *of_server
    )


def hostile_documents() -> st.SearchStrategy[bytes]:
    """A hostile step alone, one behind a good step, and what is no request at all."""
    good = step("set", "vm.swappiness", "10")
    alone = hostile_steps().map(lambda s: json.dumps({"steps": [s]}).encode())
    behind = hostile_steps().map(lambda s: json.dumps({"steps": [good, s]}).encode())
    beside = st.text().map(lambda key: json.dumps({"steps": [good], f"{key}!": 1}).encode())
    huge = st.sampled_from(
        (
            b'{"steps": [' + b"[" * 20_000,
            json.dumps({"steps": [good] * 201}).encode(),
            b" " * requests.LONGEST + json.dumps({"steps": [good]}).encode(),
            b'{"steps": [], "steps": [{"verb": "set", "disk": "", "name": "vm.swappiness", "value": "10"}]}',
            b'{"steps": [{"verb": "set", "verb": "keep", "disk": "", "name": "vm.swappiness", "value": "10"}]}',
            b'{"steps": []}',
            b'{"steps": [{"verb": "boot", "value": "10"}]}',
            b'{"steps": [{"verb": "reload", "unit": "sshd.service"}]}',
        )
    )
    return st.one_of(alone, behind, beside, huge, st.binary(max_size=200))


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> FakeLinux:
    return FakeLinux(tmp_path_factory.mktemp("host"))


@examples(300, 1000)
def test_nothing_of_a_hostile_request_is_carried_out(untouched: FakeLinux, examples: int) -> None:
    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(document=hostile_documents())
    def nothing_is_carried_out(document: bytes) -> None:
        with pytest.raises(Refused) as refused:
            carry_out(requests.parse(document), untouched.places)
        assert len(str(refused.value)) < 500
        assert str(refused.value).isprintable()
        assert not untouched.places.memory.exists()

    nothing_is_carried_out()


def test_after_all_of_them_the_host_is_as_it_was(untouched: FakeLinux, tmp_path: Path) -> None:
    assert everything(untouched.folder) == everything(FakeLinux(tmp_path).folder)


def ran(machine: FakeLinux, *steps: dict[str, str]) -> tuple[str, int]:
    answer = carry_out(requests.parse(json.dumps({"steps": steps}).encode()), machine.places)
    return answer.error, answer.done


def test_a_link_in_the_place_of_a_file_is_not_followed(machine: FakeLinux) -> None:
    target = machine.folder / "passwd"
    target.write_text("root")
    knob = machine.root / "proc/sys/vm/swappiness"
    knob.unlink()
    knob.symlink_to(target)
    assert "symbolic links" in ran(machine, step("set", "vm.swappiness", "10"))[0]
    machine.places.sysctls.parent.mkdir(parents=True)
    machine.places.sysctls.symlink_to(target)
    assert "symbolic links" in ran(machine, step("keep", "vm.swappiness", "10"))[0]
    assert target.read_text() == "root"


def test_a_folder_that_leads_out_of_the_kernels_files_is_refused(machine: FakeLinux) -> None:
    outside = machine.folder / "outside"
    outside.mkdir()
    (outside / "enabled").write_text("[always] never")
    pages = machine.root / "sys/kernel/mm/transparent_hugepage"
    for file in pages.iterdir():
        file.unlink()
    pages.rmdir()
    pages.symlink_to(outside)
    assert "is not a kernel folder" in ran(machine, step("set", "transparent_hugepage.enabled", "never"))[0]
    assert (outside / "enabled").read_text() == "[always] never"


def test_two_disks_of_one_id_are_none(machine: FakeLinux) -> None:
    twin = machine.root / "sys/block/vdb"
    (twin / "queue").mkdir(parents=True)
    (twin / "serial").write_text("FAKE 1")
    assert ran(machine, step("set", "data_disk.rq_affinity", "2", SERIAL)) == (
        "data_disk.rq_affinity: the data's disk is not known",
        0,
    )


def test_explicit_huge_pages_leave_the_machine_some_memory(machine: FakeLinux) -> None:
    assert "more than 0.9 of the memory, 3686" in ran(machine, step("set", "vm.nr_hugepages", "3687"))[0]
    assert ran(machine, step("set", "vm.nr_hugepages", "3686")) == ("", 1)


def test_a_limit_in_bytes_gives_its_ratio_back(machine: FakeLinux) -> None:
    before = machine.kernel()
    for value in ("1048576", "2097152"):
        assert ran(machine, step("set", "vm.dirty_bytes", value)) == ("", 1)
    assert (machine.root / "proc/sys/vm/dirty_ratio").read_text() == "0"
    assert ran(machine, step("set", "vm.dirty_bytes", "0")) == ("", 1)
    assert {n: t.strip() for n, t in machine.kernel().items()} == {n: t.strip() for n, t in before.items()}
    assert not list(machine.places.memory.glob("*.json"))


def test_a_ratio_that_nobody_remembers_is_not_made_up(machine: FakeLinux) -> None:
    (machine.root / "proc/sys/vm/dirty_bytes").write_text("1048576")
    error, _ = ran(machine, step("set", "vm.dirty_bytes", "0"))
    assert error == "vm.dirty_bytes: no vm.dirty_ratio is stored that could replace it"


def test_a_scheduler_gets_back_the_requests_that_it_had(machine: FakeLinux) -> None:
    queue = machine.root / "sys/block/vda/queue"
    for scheduler, requests_ in (("none", "128"), ("bfq", "256"), ("mq-deadline", "250")):
        assert ran(machine, step("set", "data_disk.scheduler", scheduler, SERIAL)) == ("", 1)
        assert (queue / "nr_requests").read_text().strip() == requests_


def test_a_step_that_the_kernel_refuses_keeps_no_other_from_being_done(machine: FakeLinux) -> None:
    steps = (step("set", "vm.dirty_bytes", "1"), step("set", "vm.swappiness", "10"))
    assert ran(machine, *steps) == ("vm.dirty_bytes: this kernel does not take the value", 1)
    assert (machine.root / "proc/sys/vm/swappiness").read_text() == "10"


def test_what_is_to_last_is_held_to_the_limits_of_what_is_active(machine: FakeLinux) -> None:
    before = everything(machine.root)
    for verb in ("set", "keep"):
        error, done = ran(machine, step(verb, "vm.nr_hugepages", "2147483647"))
        assert (done, "pages are more than 0.9 of the memory" in error) == (0, True)
    assert everything(machine.root) == before
    assert not machine.places.sysctls.exists()


def test_nothing_lasts_for_a_disk_that_is_not_there(machine: FakeLinux) -> None:
    many = [step("keep", "data_disk.scheduler", "none", f"serial:{i:0200}") for i in range(150)]
    assert ran(machine, *many) == ("data_disk.scheduler: the data's disk is not known", 0)
    assert not machine.places.devices.exists()


def test_what_could_not_be_read_again_is_not_written(machine: FakeLinux) -> None:
    room = lasting.LONGEST - len(lasting.HEADER)
    kept = {("data_disk.scheduler", f"serial:{i:0200}"): "none" for i in range(room // 237)}
    before = lasting.rendered(kept)
    machine.places.devices.parent.mkdir(parents=True, exist_ok=True)
    machine.places.devices.write_bytes(before)
    steps = [step("keep", f"data_disk.{n}", "1", SERIAL) for n in ("read_ahead_kb", "nr_requests", "rq_affinity")]
    (machine.root / DISK / "serial").write_text("x" * 190)
    steps = [{**s, "disk": "serial:" + "x" * 190} for s in steps]
    error, done = ran(machine, *steps)
    assert "more than 65536 bytes of values would be persistent" in error
    assert done < 3
    assert len(before) <= machine.places.devices.stat().st_size <= lasting.LONGEST
    assert ran(machine, step("forget", "data_disk.scheduler", "", f"serial:{0:0200}")) == ("", 1)


def test_a_file_that_somebody_has_edited_is_left_to_them(machine: FakeLinux) -> None:
    assert ran(machine, step("keep", "vm.swappiness", "10")) == ("", 1)
    edited = machine.places.sysctls.read_text() + "vm.max_map_count = 7\n"
    machine.places.sysctls.write_text(edited)
    error, done = ran(machine, step("keep", "vm.swappiness", "20"), step("forget", "vm.swappiness"))
    assert done == 0
    assert "a line is not one of Lutra's: 'vm.max_map_count = 7'" in error
    assert machine.places.sysctls.read_text() == edited


def test_what_lasts_is_made_active_at_the_hosts_start_under_another_name_of_the_disk(machine: FakeLinux) -> None:
    kept = [
        step("keep", "data_disk.scheduler", "none", SERIAL),
        step("keep", "data_disk.nr_requests", "64", SERIAL),
        step("keep", "transparent_hugepage.enabled", "never"),
        step("keep", "data_disk.rq_affinity", "2", "serial:GONE"),
    ]
    (machine.root / DISK / "serial").write_text("GONE")
    assert ran(machine, kept[3]) == ("", 1)
    (machine.root / DISK / "serial").write_text("FAKE 1")
    assert ran(machine, *kept[:3]) == ("", 3)
    (machine.root / "sys/block/vda").rename(machine.root / "sys/block/vdb")
    assert ran(machine, {"verb": "boot"}) == ("data_disk.rq_affinity: the data's disk is not known", 0)
    queue = machine.root / "sys/block/vdb/queue"
    assert (queue / "scheduler").read_text().strip() == "[none] mq-deadline kyber bfq"
    assert (queue / "nr_requests").read_text().strip() == "64"
    assert "[never]" in (machine.root / "sys/kernel/mm/transparent_hugepage/enabled").read_text()


def test_a_probe_says_what_this_kernel_lacks(machine: FakeLinux) -> None:
    (machine.root / "proc/sys/kernel/numa_balancing").unlink()
    found = machine.ask([Request("probe", disk=SERIAL)])
    assert found["kernel.numa_balancing"] == "missing"
    assert {found[n] for n in SETTINGS if n != "kernel.numa_balancing"} == {"writable"}, found
    assert machine.ask([Request("probe")])["data_disk.scheduler"] == "missing"


@pytest.mark.parametrize("arguments", [["--help"], ["set", "vm.swappiness", "10"], [""]])
def test_the_program_takes_no_argument(arguments: list[str]) -> None:
    code = "import sys; from lutra_agent.linux.helper import main; main(sys.argv[1:])"
    program = [sys.executable, "-I", "-c", code, *arguments]
    ran = subprocess.run(program, input=b'{"steps": [{"verb": "boot"}]}', capture_output=True, check=False)
    assert ran.returncode == 2
    assert json.loads(ran.stdout) == {"done": 0, "error": helper.TAKES_NONE, "settings": {}}
