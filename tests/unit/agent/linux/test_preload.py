"""What `lutra-host` puts before a server's own allocator, into which unit, and that nothing else gets there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from lutra_agent.linux.allocators import OWN, library, loaded
from lutra_agent.linux.helper import carry_out
from lutra_agent.linux.kernel import ALLOCATOR
from lutra_agent.linux.owners import preloads
from lutra_agent.linux.requests import Request

from tests.support.fakes.linux import LIBRARIES, TEMPLATE, UNIT, FakeLinux

KEEP = Request("keep", ALLOCATOR, value="jemalloc")
FORGET = Request("forget", ALLOCATOR)
RELOAD = Request("reload")
PRELOAD = "[Service]\nEnvironment=LD_PRELOAD=/usr/lib64/{}\n"


@pytest.fixture
def machine(tmp_path: Path) -> FakeLinux:
    return FakeLinux(tmp_path)


def drop_in(machine: FakeLinux) -> Path:
    return machine.places.drop_in(UNIT)


def refusal(machine: FakeLinux, *steps: Request) -> str:
    """Why nothing was written."""
    before = machine.lasting()
    answer = carry_out(steps or (KEEP,), machine.places)
    assert machine.lasting() == before
    assert answer.error
    return answer.error


def probed(machine: FakeLinux) -> str:
    return (carry_out([Request("probe")], machine.places).settings or {})[ALLOCATOR]


def put(machine: FakeLinux, name: str, content: str) -> Path:
    path = machine.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


@pytest.mark.parametrize("value", LIBRARIES)
def test_a_drop_in_of_the_named_unit_names_the_library_until_it_is_forgotten(machine: FakeLinux, value: str) -> None:
    before = machine.lasting()
    assert probed(machine) == "writable"
    assert carry_out([Request("keep", ALLOCATOR, value=value), RELOAD], machine.places).error == ""
    lines = drop_in(machine).read_text().splitlines()
    assert lines[0].startswith("# Written by lutra-host")
    assert lines[1:] == ["[Service]", f"Environment=LD_PRELOAD=/{LIBRARIES[value]}"]
    assert (drop_in(machine).stat().st_mode & 0o777, drop_in(machine).parent.stat().st_mode & 0o777) == (0o644, 0o755)
    assert carry_out([FORGET, RELOAD], machine.places).error == ""
    assert machine.lasting() == before
    assert not drop_in(machine).parent.exists()
    assert [p.name for p in machine.places.memory.iterdir()] == ["lock"]


def test_systemd_is_asked_one_thing_with_a_clean_environment(
    machine: FakeLinux, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYSTEMD_OFFLINE", "1")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/tmp")
    assert carry_out([RELOAD], machine.places).error == ""
    assert machine.asked_of_systemd == ["daemon-reload"]
    lines = (machine.folder / "environment_of_systemctl").read_text().splitlines()
    assert {line.partition("=")[0] for line in lines} <= {"PATH", "LC_ALL", "PWD", "OLDPWD", "SHLVL", "_"}


def test_a_systemd_that_refuses_is_told(machine: FakeLinux) -> None:
    put(machine, "systemd_refuses", "")
    assert refusal(machine, RELOAD).endswith("systemctl daemon-reload ended with 1: Access denied")
    machine.places.systemctl.unlink()
    assert "No such file" in refusal(machine, RELOAD)


@pytest.mark.parametrize(
    "content", ["", "served.socket\n", "../served.service\n", "a.service\nb.service\n", "-.service", "\xff.service"]
)
def test_a_name_that_is_none_of_a_units_is_refused(machine: FakeLinux, content: str) -> None:
    machine.places.unit.write_text(content)
    assert "is not a service unit" in refusal(machine)
    assert "is not a service unit" in probed(machine)


def shared_file(machine: FakeLinux) -> None:
    machine.places.unit.chmod(0o664)


def shared_folder(machine: FakeLinux) -> None:
    machine.places.unit.parent.chmod(0o777)


def linked_folder(machine: FakeLinux) -> None:
    folder = machine.places.unit.parent
    folder.symlink_to(folder.rename(folder.with_name("elsewhere")))


def linked_file(machine: FakeLinux) -> None:
    file = machine.places.unit
    file.symlink_to(file.rename(file.with_name("elsewhere")))


def no_file(machine: FakeLinux) -> None:
    machine.places.unit.unlink()


def no_systemd(machine: FakeLinux) -> None:
    booted = machine.folder / "run/systemd/system"
    booted.rename(booted.with_name("was"))


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (shared_file, "accounts other than root can change it"),
        (shared_folder, "accounts other than root can change it"),
        (linked_folder, "accounts other than root can change it"),
        (linked_file, "symbolic links"),
        (no_file, "No such file"),
        (no_systemd, "systemd does not run this host"),
    ],
)
def test_without_a_unit_that_root_alone_has_named_nothing_is_preloaded(
    machine: FakeLinux, made: Callable[[FakeLinux], None], why: str
) -> None:
    made(machine)
    assert why in refusal(machine)
    assert why in probed(machine)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_account_names_no_unit(machine: FakeLinux) -> None:
    os.chown(machine.places.unit, 65534, 65534)
    assert "accounts other than root can change it" in refusal(machine)


def gone(machine: FakeLinux) -> None:
    (machine.folder / LIBRARIES["jemalloc"]).unlink()


def shared_library(machine: FakeLinux) -> None:
    (machine.folder / LIBRARIES["jemalloc"]).chmod(0o666)


def shared_libraries(machine: FakeLinux) -> None:
    (machine.folder / LIBRARIES["jemalloc"]).parent.chmod(0o777)


def link_out_of_the_folder(machine: FakeLinux) -> None:
    library = machine.folder / LIBRARIES["jemalloc"]
    library.unlink()
    library.symlink_to(put(machine, "usr/lib/evil.so", "ELF"))


def folder_for_a_library(machine: FakeLinux) -> None:
    gone(machine)
    (machine.folder / LIBRARIES["jemalloc"]).mkdir()


@pytest.mark.parametrize("made", [gone, shared_library, shared_libraries, link_out_of_the_folder, folder_for_a_library])
def test_no_library_is_preloaded_but_one_in_a_folder_of_roots(
    machine: FakeLinux, made: Callable[[FakeLinux], None]
) -> None:
    made(machine)
    assert "libjemalloc.so.2 is not installed in a folder of root's" in refusal(machine)


def test_the_library_is_one_for_this_kind_of_processor(machine: FakeLinux) -> None:
    own, other = ("x86_64", "aarch64") if os.uname().machine == "x86_64" else ("aarch64", "x86_64")
    for kind in (own, other):
        put(machine, f"usr/lib/{kind}-linux-gnu/libjemalloc.so.2", "ELF").parent.chmod(0o755)
    (machine.folder / "usr/lib").chmod(0o755)
    assert library(machine.places, "jemalloc") == f"/usr/lib/{own}-linux-gnu/libjemalloc.so.2"
    (machine.folder / f"usr/lib/{own}-linux-gnu/libjemalloc.so.2").unlink()
    assert library(machine.places, "jemalloc") == "/usr/lib64/libjemalloc.so.2"


def test_a_link_in_the_place_of_the_drop_in_or_of_its_folder_is_not_followed(machine: FakeLinux) -> None:
    target = put(machine, "passwd", "root")
    drop_in(machine).parent.mkdir()
    drop_in(machine).parent.chmod(0o755)
    drop_in(machine).symlink_to(target)
    assert "symbolic links" in refusal(machine)
    drop_in(machine).unlink()
    drop_in(machine).parent.rmdir()
    outside = machine.folder / "outside"
    outside.mkdir()
    drop_in(machine).parent.symlink_to(outside)
    assert "accounts other than root can change it" in refusal(machine)
    assert (target.read_text(), list(outside.iterdir())) == ("root", [])


def test_a_drop_in_that_somebody_has_edited_is_left_to_them(machine: FakeLinux) -> None:
    assert carry_out([KEEP], machine.places).error == ""
    drop_in(machine).write_text(drop_in(machine).read_text() + "Nice=5\n")
    for step in (KEEP, FORGET):
        assert refusal(machine, step) == f"{ALLOCATOR}: {drop_in(machine)}: somebody else has edited it"


@pytest.mark.parametrize(
    ("file", "content"),
    [
        (f"etc/systemd/system/{UNIT}.d/override.conf", PRELOAD),
        (f"run/systemd/system/{UNIT}.d/x.conf", "[Service]\nEnvironment=A=1 \\\n  LD_PRELOAD=/x.so\n"),
        ("etc/systemd/system/served@.service.d/a.conf", PRELOAD),
        ("usr/lib/systemd/system/service.d/a.conf", PRELOAD),
        (f"etc/systemd/system/{UNIT}", PRELOAD),
        (TEMPLATE, "[Service]\nExecStart=/usr/bin/env LD_PRELOAD=/x.so /usr/bin/served\n"),
        ("etc/systemd/system.conf", "[Manager]\nDefaultEnvironment=LD_PRELOAD=/x.so\n"),
    ],
)
def test_where_somebody_else_preloads_the_refusal_names_the_file(machine: FakeLinux, file: str, content: str) -> None:
    put(machine, file, content)
    assert refusal(machine) == f"{ALLOCATOR}: /{file} sets LD_PRELOAD"
    assert probed(machine) == f"/{file} sets LD_PRELOAD"


@pytest.mark.parametrize("named", ["/etc/default/served", "-/etc/default/%p", "-/etc/served/%i/environment"])
def test_a_file_of_the_units_environment_may_be_the_one_that_preloads(machine: FakeLinux, named: str) -> None:
    put(machine, TEMPLATE, f"[Service]\nEnvironmentFile={named}\n")
    file = named.removeprefix("-").replace("%p", "served").replace("%i", "1-main")
    put(machine, file.lstrip("/"), "OTHER=1\nLD_PRELOAD=/x.so\n")
    assert refusal(machine) == f"{ALLOCATOR}: {file} sets LD_PRELOAD"


def test_what_systemd_does_not_read_preloads_nothing(machine: FakeLinux) -> None:
    files = {
        f"etc/systemd/system/{UNIT}.d/a.conf": "# Environment=LD_PRELOAD=/x.so\n",
        f"etc/systemd/system/{UNIT}.d/a.conf.old": PRELOAD,
        f"usr/lib/systemd/system/{UNIT}.d/a.conf": PRELOAD,  # hidden by the first of these
        "etc/systemd/system/other.service.d/a.conf": PRELOAD,
        "etc/default/other": "LD_PRELOAD=/x.so\n",
    }
    for name, content in files.items():
        put(machine, name, content)
    assert preloads(machine.folder, UNIT, drop_in(machine)) is None
    assert carry_out([KEEP], machine.places).error == ""


def test_a_drop_in_for_the_words_before_a_dash_counts(machine: FakeLinux) -> None:
    put(machine, "etc/systemd/system/db-.service.d/a.conf", PRELOAD)
    found = preloads(machine.folder, "db-main.service", machine.places.drop_in("db-main.service"))
    assert found == "/etc/systemd/system/db-.service.d/a.conf"


@pytest.mark.parametrize("named", [None, "other.service\n"])
def test_it_is_taken_out_again_whichever_unit_is_named_by_then(machine: FakeLinux, named: str | None) -> None:
    assert carry_out([KEEP], machine.places).error == ""
    if named is None:
        machine.places.unit.unlink()
    else:
        machine.places.unit.write_text(named)
        assert "to a different unit than" in refusal(machine)
    assert carry_out([FORGET], machine.places).error == ""
    assert not drop_in(machine).exists()


def test_it_is_taken_out_again_also_where_nothing_is_remembered_of_it(machine: FakeLinux) -> None:
    assert carry_out([KEEP], machine.places).error == ""
    (machine.places.memory / "remembered.json").unlink()
    assert carry_out([FORGET], machine.places).error == ""
    assert not drop_in(machine).exists()


def test_where_no_unit_ever_got_one_there_is_nothing_to_take_out(machine: FakeLinux) -> None:
    machine.places.unit.unlink()
    before = machine.lasting()
    assert carry_out([FORGET], machine.places).error == ""
    assert machine.lasting() == before


def test_a_library_that_was_upgraded_since_is_loaded_all_the_same(machine: FakeLinux) -> None:
    maps = machine.root / f"proc/{machine.process}/maps"
    maps.write_text("7f00-7f01 r-xp 0 8:1 9   /usr/lib64/libjemalloc.so.2 (deleted)\n7f02-7f03 rw-p 0 0:0 0 \n")
    assert loaded(machine.root, machine.process) == "jemalloc"


def test_of_the_named_units_processes_alone_it_tells_what_they_have_loaded(machine: FakeLinux) -> None:
    ours = Request("loaded", process=str(machine.process))
    assert carry_out([ours], machine.places).settings == {ALLOCATOR: OWN}
    machine.start_server("system.slice/other.service")
    assert f"{UNIT} runs no process" in refusal(machine, Request("loaded", process=str(machine.process)))
    assert f"{UNIT} runs no process" in refusal(machine, Request("loaded", process="4000000"))
