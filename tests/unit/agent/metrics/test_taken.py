"""What others took of the processors and the disk, told from what the server itself had."""

from __future__ import annotations

from pathlib import Path

import pytest
from lutra_agent.metrics.taken import TICKS_PER_S, ServerProcesses, taken
from lutra_models.metrics import TAKEN

HOST = {
    "host.cpu_user_s_per_s": 1.6,
    "host.cpu_system_s_per_s": 0.4,
    "host.processors": 2.0,
    "host.load1": 30.0,
    "host.cpu_server_s_per_s": 0.2,
}


def share(**more: float | None) -> float | None:
    changed = {f"host.{name}": value for name, value in more.items()}
    return taken({n: v for n, v in {**HOST, **changed}.items() if v is not None}).get(TAKEN)


def test_a_server_that_waits_for_others_is_slowed_and_one_that_waits_for_itself_is_not() -> None:
    waits = {"cpu_server_ran_s_per_s": 0.2, "cpu_server_waited_s_per_s": 1.0}
    assert share(**waits) == pytest.approx(0.81, abs=0.02)
    assert share(**{**waits, "cpu_server_s_per_s": 1.95}) == 0.0
    assert share(**{**waits, "cpu_server_waited_s_per_s": 0.0}) == 0.0


@pytest.mark.parametrize("waited", [0.98, None], ids=["pressure", "a kernel without it"])
def test_where_the_server_does_not_tell_how_long_it_waited_pressure_and_load_do(waited: float | None) -> None:
    low, more, most = (share(load1=load, cpu_waiting_s_per_s=waited) or 0.0 for load in (1.0, 11.0, 30.0))
    assert low < more < most
    assert more > 0.7
    assert share(load1=30.0, cpu_waiting_s_per_s=0.0) == 0.0


def test_a_disk_that_others_keep_busy_and_a_processor_that_the_hypervisor_takes_count_too() -> None:
    quiet = {"load1": 0.5, "cpu_server_s_per_s": 1.9}
    disk = {"io_waiting_s_per_s": 0.5, "disk_read_bytes_per_s": 1e8, "disk_write_bytes_per_s": 0.0}
    assert share(**quiet, **disk, disk_server_bytes_per_s=1e6) == pytest.approx(0.49, abs=0.02)
    assert share(**quiet, **disk, disk_server_bytes_per_s=1e8) == share(**quiet, **disk) == 0.0
    assert share(**quiet, cpu_steal_s_per_s=2.0) == 0.5


def test_without_the_servers_own_time_nothing_is_said() -> None:
    assert share(cpu_server_s_per_s=None) is None


def process(root: Path, pid: int, ticks: int, ran: int = 0, children: str = "") -> None:
    folder = root / "proc" / str(pid)
    (folder / "task" / str(pid)).mkdir(parents=True, exist_ok=True)
    (folder / "stat").write_text(f"{pid} (a name) S 1 " + "0 " * 9 + f"{ticks} 0 0 0 20")
    (folder / "io").write_text(f"read_bytes: {ticks}\nwrite_bytes: 0\n")
    (folder / "task" / str(pid) / "children").write_text(children)
    (folder / "task" / str(pid) / "schedstat").write_text(f"{ran} {2 * ran} 7")


def test_a_servers_counters_are_its_childrens_too_and_never_fall(tmp_path: Path) -> None:
    server = ServerProcesses(tmp_path)
    process(tmp_path, 7, TICKS_PER_S, 10**9, "8 9")
    process(tmp_path, 8, 2 * TICKS_PER_S, 3 * 10**9)
    first = server.counters(7)
    assert first["cpu_server_s"] == 3.0
    assert (first["cpu_server_ran_s"], first["cpu_server_waited_s"]) == (4.0, 8.0)
    assert first["disk_server_bytes"] == 3 * TICKS_PER_S
    process(tmp_path, 7, TICKS_PER_S, 2 * 10**9)
    ended = server.counters(7)
    assert all(ended[name] >= value for name, value in first.items())
    assert server.counters(None) == {}
    assert server.counters(70) == {}
