"""What bounds a server's process and its control groups, and how near it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from lutra_agent.metrics import group_state
from lutra_agent.metrics.cgroups import Cgroups
from lutra_agent.metrics.host import HostProbe
from lutra_agent.metrics.server_bounds import ServerBounds, counted

LIMITS = """Limit                     Soft Limit           Hard Limit           Units
Max cpu time              unlimited            unlimited            seconds
Max file size             1073741824           unlimited            bytes
Max data size             unlimited            unlimited            bytes
Max processes             100                  200                  processes
Max open files            1024                 4096                 files
Max address space         unlimited            unlimited            bytes
"""
STAT = "7 (a (strange) name) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 {nice} 1 0 {rest} {policy} 0\n"
RESTING = " ".join(["0"] * 19)


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def served(root: Path, capabilities: int = 0, nice: int = 0, policy: int = 0) -> Path:
    """Process 7 with two children."""
    status = f"Threads:\t3\nVmSwap:\t  100 kB\nCpus_allowed_list:\t0-1,4\nCapEff:\t{capabilities:016x}\n"
    files = {
        "7/limits": LIMITS,
        "7/status": status,
        "7/stat": STAT.format(nice=nice, policy=policy, rest=RESTING),
        "7/oom_score_adj": "-900\n",
        "7/task/7/children": "8 9 ",
        "8/status": "VmSwap:\t  20 kB\n",
        "9/status": "VmSwap:\t  4 kB\n",
        "7/fd/0": "",
        "7/fd/1": "",
    }
    return write(root, files)


def test_a_process_has_its_soft_limits_and_what_it_uses_of_them(tmp_path: Path) -> None:
    found = ServerBounds(served(tmp_path, nice=5)).gauges(7, swap=True)
    assert found == {
        "server_files_most": 1024,
        "server_files": 2,
        "server_tasks_most": 100,
        "server_tasks": 5,
        "server_file_size_most_bytes": 1 << 30,
        "server_address_space_bytes": 0,
        "server_data_size_bytes": 0,
        "server_cpu_time_most_s": 0,
        "server_niceness": 5,
        "server_processors": 3,
        "server_killed_first": 0,
        "server_swapped_bytes": 124 * 1024,
    }


def test_an_account_s_limit_does_not_bind_who_may_raise_it(tmp_path: Path) -> None:
    found = ServerBounds(served(tmp_path, capabilities=1 << 24)).gauges(7, swap=False)
    assert found["server_tasks_most"] == 0
    assert found["server_swapped_bytes"] == 0


def test_a_class_that_waits_counts_as_the_utmost_niceness(tmp_path: Path) -> None:
    assert ServerBounds(served(tmp_path, policy=5)).gauges(7, swap=False)["server_niceness"] == 19


def test_nothing_is_read_of_a_process_that_is_not_known_or_gone(tmp_path: Path) -> None:
    assert ServerBounds(tmp_path).gauges(None, swap=True) == {}
    assert set(ServerBounds(tmp_path).gauges(7, swap=True)) == {"server_tasks"}


@pytest.mark.parametrize(("ranges", "number"), [("0-3", 4), ("0", 1), ("0-1,4,6-7", 5), ("", None), ("x-y", None)])
def test_ranges_of_processors_are_counted(ranges: str, number: float | None) -> None:
    assert counted(ranges) == number


def test_the_nearest_group_counts_with_its_kills_and_its_disk(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "membership": "0::/a/db\n",
            "cg/a/memory.max": "4000\n",
            "cg/a/memory.current": "1000\n",
            "cg/a/db/memory.max": "1000\n",
            "cg/a/db/memory.current": "950\n",
            "cg/a/db/memory.stat": "inactive_file 50\n",
            "cg/a/db/memory.events": "low 0\nhigh 7\nmax 3\noom 2\noom_kill 1\n",
            "cg/a/db/memory.pressure": "some avg10=0 total=2000000\nfull avg10=0 total=1\n",
            "cg/a/db/pids.max": "100\n",
            "cg/a/db/pids.current": "90\n",
            "cg/a/db/cpuset.cpus.effective": "0-3\n",
            "cg/a/db/io.max": "8:0 rbps=max wbps=max riops=max wiops=120\n8:16 wiops=1\n",
            "cg/a/db/io.stat": "8:0 rbytes=10 wbytes=20 rios=1 wios=2 dbytes=0 dios=0\n",
        },
    )
    groups = Cgroups(tmp_path / "cg", tmp_path / "membership")
    assert group_state.gauges(groups, "8:0") == {
        "group_memory_most_bytes": 1000,
        "group_memory_bytes": 900,
        "group_tasks_most": 100,
        "group_tasks": 90,
        "group_processors": 4,
        "group_oom_kills_since_start": 1,
        "disk_reads_most": 0,
        "disk_writes_most": 120,
        "disk_read_bytes_most": 0,
        "disk_write_bytes_most": 0,
    }
    assert group_state.counters(groups, "8:0") == {
        "group_memory_waiting_s": 2.0,
        "group_held_back": 7,
        "group_disk_reads": 1,
        "group_disk_writes": 2,
        "group_disk_read_bytes": 10,
        "group_disk_write_bytes": 20,
    }


def test_groups_of_version_1_tell_the_same(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "membership": "4:memory:/db\n3:pids:/db\n2:blkio:/db\n1:cpuset:/db\n",
            "cg/memory/db/memory.limit_in_bytes": "1000\n",
            "cg/memory/db/memory.usage_in_bytes": "500\n",
            "cg/memory/db/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n",
            "cg/pids/db/pids.max": "max\n",
            "cg/blkio/db/blkio.throttle.write_iops_device": "8:0 50\n",
            "cg/blkio/db/blkio.throttle.io_serviced": "8:0 Read 3\n8:0 Write 4\n8:0 Total 7\nTotal 7\n",
            "cg/cpuset/db/cpuset.effective_cpus": "0\n",
        },
    )
    groups = Cgroups(tmp_path / "cg", tmp_path / "membership")
    found = group_state.gauges(groups, "8:0")
    assert found["group_oom_kills_since_start"] == 4
    assert found["disk_writes_most"] == 50
    assert found["group_processors"] == 1
    assert found["group_tasks_most"] == 0
    assert group_state.counters(groups, "8:0") == {"group_disk_reads": 3, "group_disk_writes": 4}


def test_a_window_has_the_state_of_the_machine_and_of_the_disk_where_the_data_are_known(tmp_path: Path) -> None:
    known, unknown = HostProbe().reading(tmp_path, None), HostProbe().reading(None, None)
    assert {"memory_bytes", "swap_bytes", "tasks"} <= unknown.gauges.keys()
    assert {"disk_free_bytes", "disk_read_only"} <= known.gauges.keys()
    assert not {n for n in unknown.gauges if n.startswith(("disk_", "linked_"))}
    assert "disk_filled_bytes" in known.counters
