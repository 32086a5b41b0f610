"""How a machine is set up, read from a folder that stands for its /proc and /sys."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from lutra_agent.linux.state import machine, memory, network
from lutra_agent.linux.state.volumes import Volumes

MEMINFO = """MemTotal:       16777216 kB
SwapTotal:       1048576 kB
SwapFree:         524288 kB
CommitLimit:     9437184 kB
Committed_AS:    4194304 kB
HugePages_Total:    1000
HugePages_Free:      900
HugePages_Rsvd:      100
Hugepagesize:       2048 kB
"""
NETSTAT = """TcpExt: SyncookiesSent ListenOverflows TCPAbortOnMemory
TcpExt: 7 12 1
IpExt: InNoRoutes
IpExt: 3
"""
SNMP = "Tcp: RtoMin MaxConn OutSegs RetransSegs\nTcp: 200 -1 5000 50\n"


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"{text}\n")
    return root


def test_memory_is_told_in_bytes_with_who_gets_it(tmp_path: Path) -> None:
    found = memory.gauges(
        write(
            tmp_path,
            {
                "proc/meminfo": MEMINFO,
                "proc/vmstat": "oom_kill 2\ncompact_stall 9\nnuma_hit 70\nnuma_miss 3",
                "proc/sys/vm/swappiness": "60",
                "proc/sys/vm/min_free_kbytes": "67584",
                "proc/sys/vm/dirty_bytes": "0",
                "proc/sys/vm/dirty_ratio": "20",
                "proc/sys/vm/dirty_background_bytes": "67108864",
                "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never",
                "sys/devices/system/node/node0/cpulist": "0-3",
                "sys/devices/system/node/node1/cpulist": "4-7",
                "sys/devices/system/node/online": "0-1",
            },
        )
    )
    assert found["memory_bytes"] == 16 << 30
    assert (found["swap_bytes"], found["swap_free_bytes"]) == (1 << 30, 1 << 29)
    assert found["huge_pages_idle_bytes"] == 800 * (2 << 20)
    assert found["dirty_limit_bytes"] == 0.2 * (16 << 30)
    assert found["dirty_background_bytes"] == 64 << 20
    assert found["kept_free_bytes"] == 66 << 20
    assert found["huge_pages_always"] == 1
    assert found["numa_nodes"] == 2
    assert found["oom_kills_since_boot"] == 2
    assert "overcommit_memory" not in found
    assert memory.counters(tmp_path) == {
        "oom_kills": 2,
        "compaction_stalls": 9,
        "numa_pages_near": 70,
        "numa_pages_far": 3,
    }


@pytest.mark.parametrize(
    ("driver", "governor", "preference", "slowed"),
    [
        ("acpi-cpufreq", "powersave", "", 1),
        ("acpi-cpufreq", "performance", "", 0),
        ("intel_pstate", "powersave", "balance_performance", 0),
        ("intel_pstate", "powersave", "power", 1),
    ],
)
def test_powersave_slows_where_no_driver_follows_the_load(
    tmp_path: Path, driver: str, governor: str, preference: str, slowed: float
) -> None:
    policy = "sys/devices/system/cpu/cpufreq/policy0"
    files = {"scaling_driver": driver, "scaling_governor": governor, "energy_performance_preference": preference}
    root = write(tmp_path, {f"{policy}/{name}": text for name, text in files.items()})
    assert machine.gauges(root)["processors_slowed"] == slowed


def test_the_kernel_s_tables_have_an_end(tmp_path: Path) -> None:
    found = machine.gauges(
        write(
            tmp_path,
            {
                "proc/loadavg": "0.50 0.40 0.30 3/512 4711",
                "proc/sys/kernel/pid_max": "32768",
                "proc/sys/kernel/threads-max": "192730",
                "proc/sys/fs/file-nr": "5000\t0\t100000",
                "proc/sys/fs/file-max": "100000",
                "proc/sys/fs/aio-nr": "64",
                "proc/sys/fs/aio-max-nr": "65536",
                "sys/devices/system/clocksource/clocksource0/current_clocksource": "acpi_pm",
            },
        )
    )
    assert found == {
        "clock_slow": machine.SLOW_CLOCKS["acpi_pm"],
        "processors_slowed": 0,
        "tasks": 512,
        "tasks_running": 3,
        "tasks_most": 32768,
        "files_open": 5000,
        "files_most": 100_000,
        "requests_in_flight": 64,
        "requests_most": 65536,
    }


def test_the_kernel_says_of_this_machine_alone_whether_its_clock_is_kept() -> None:
    assert machine.gauges(Path("/")).get("clock_unsynchronised") in (None, 0.0, 1.0)


def test_the_network_is_the_server_s_own(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "proc/7/net/netstat": NETSTAT,
            "proc/7/net/snmp": SNMP,
            "proc/7/net/sockstat": "sockets: used 300\nTCP: inuse 15 orphan 0 tw 30 alloc 16 mem 2",
            "proc/net/netstat": NETSTAT.replace("12", "99"),
            "proc/sys/net/core/somaxconn": "4096",
            "proc/sys/net/ipv4/ip_local_port_range": "32768\t60999",
        },
    )
    assert network.counters(root, 7) == {
        "listen_overflows": 12,
        "syn_cookies": 7,
        "tcp_aborts_for_memory": 1,
        "tcp_segments": 5000,
        "tcp_segments_again": 50,
    }
    assert network.counters(root, None)["listen_overflows"] == 99
    assert network.gauges(root, 7) == {
        "listen_queue_most": 4096,
        "ports": 28232,
        "tcp_sockets": 45,
        "connections_tracked": 0,
        "connections_tracked_most": 0,
    }


def mounted(tmp_path: Path, options: str, kind: str = "ext4", beneath: str = "rw") -> dict[str, float]:
    data = tmp_path / "data"
    data.mkdir(exist_ok=True)
    line = f"30 1 8:1 / {data} {options} shared:1 - {kind} /dev/sda1 {beneath}"
    write(tmp_path, {"proc/self/mountinfo": line})
    return {name: value for name, value in Volumes(tmp_path).gauges(data, None).items() if value}


@pytest.mark.parametrize(
    ("options", "kind", "beneath", "shows"),
    [
        ("rw,relatime", "ext4", "rw", []),
        ("rw", "ext4", "rw", ["disk_access_times"]),
        ("rw,noatime", "tmpfs", "rw", ["disk_in_memory"]),
        ("rw,relatime", "ext4", "ro", ["disk_read_only"]),
        ("rw,relatime", "ext4", "rw,emergency_ro", ["disk_read_only"]),
        ("rw,sync,relatime", "ext4", "rw,nobarrier,data=writeback", ["disk_unsafe", "disk_data_late", "disk_sync"]),
        ("rw,relatime", "nfs4", "rw,vers=4.2,soft", ["disk_gives_up"]),
    ],
)
def test_a_mount_shows_how_it_treats_writes(
    tmp_path: Path, options: str, kind: str, beneath: str, shows: list[str]
) -> None:
    found = mounted(tmp_path, options, kind, beneath)
    switches = {n for n in found if n.startswith("disk_") and not n.endswith(("bytes", "files"))}
    assert switches == set(shows)


def test_what_is_freed_again_is_no_growth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = iter([1000, 900, 950, 890, 990, 890])
    volumes = Volumes(tmp_path)
    monkeypatch.setattr(
        os, "statvfs", lambda _: SimpleNamespace(f_blocks=2000, f_bavail=next(free), f_frsize=10, f_files=0, f_favail=0)
    )
    told = [volumes.counters(tmp_path)["disk_filled_bytes"] for _ in range(6)]
    assert told == [0, 1000, 1000, 1100, 1100, 1100]


def test_a_disk_that_was_enlarged_begins_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = iter([(1000, 100), (1000, 50), (2000, 1050), (2000, 950)])
    volumes = Volumes(tmp_path)

    def statistics(_: Path) -> SimpleNamespace:
        blocks, free = next(sizes)
        return SimpleNamespace(f_blocks=blocks, f_bavail=free, f_frsize=1)

    monkeypatch.setattr(os, "statvfs", statistics)
    assert [volumes.counters(tmp_path)["disk_filled_bytes"] for _ in range(4)] == [0, 50, 50, 150]


def test_a_link_within_the_data_s_own_file_system_is_no_other_disk(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "log").symlink_to(tmp_path / "elsewhere")
    found = Volumes(tmp_path).gauges(tmp_path / "data", None)
    assert found["linked_bytes"] == 0
    assert found["disk_bytes"] > 0


@pytest.mark.parametrize("place", ["log", "pg_tblspc/16400"])
def test_a_link_to_another_disk_is_found_in_the_folder_and_one_below_it(tmp_path: Path, place: str) -> None:
    link = tmp_path / "data" / place
    link.parent.mkdir(parents=True)
    link.symlink_to("/dev/shm")
    assert Volumes(tmp_path).gauges(tmp_path / "data", None)["linked_bytes"] > 0


def test_nothing_is_told_of_a_folder_that_is_gone(tmp_path: Path) -> None:
    assert Volumes(tmp_path).counters(tmp_path / "gone") == {}
    assert set(Volumes(tmp_path).gauges(tmp_path / "gone", None).values()) <= {0.0}
