from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from lutra_agent.metrics.cgroups import Cgroups
from lutra_agent.metrics.host import HostProbe, request_sizes


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def test_the_narrowest_ancestor_of_a_v2_group_counts(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "membership": "0::/system.slice/postgresql.service\n",
            "cgroup/system.slice/memory.max": "4294967296\n",
            "cgroup/system.slice/postgresql.service/memory.max": "max\n",
            "cgroup/system.slice/postgresql.service/cpu.max": "150000 100000\n",
        },
    )
    limits = Cgroups(tmp_path / "cgroup", tmp_path / "membership")
    assert min(limits.memory_bytes()) == 4 << 30
    assert list(limits.cores()) == [1.5]


def test_v1_limits_count_and_unlimited_is_no_limit(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "membership": "5:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n",
            "cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
            "cgroup/memory/docker/abc/memory.limit_in_bytes": "2147483648\n",
            "cgroup/cpu/docker/abc/cpu.cfs_quota_us": "50000\n",
            "cgroup/cpu/docker/abc/cpu.cfs_period_us": "100000\n",
        },
    )
    limits = Cgroups(tmp_path / "cgroup", tmp_path / "membership")
    assert list(limits.memory_bytes()) == [2 << 30]
    assert list(limits.cores()) == [0.5]


def test_inside_a_container_the_root_group_is_ones_own(tmp_path: Path) -> None:
    write(tmp_path, {"membership": "0::/\n", "cgroup/memory.max": "1073741824\n", "cgroup/cpu.max": "max 100000\n"})
    limits = Cgroups(tmp_path / "cgroup", tmp_path / "membership")
    assert list(limits.memory_bytes()) == [1 << 30]
    assert list(limits.cores()) == []


def test_the_time_for_which_a_quota_stopped_the_server_counts_only_where_there_is_one(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "membership": "0::/db\n",
            "cgroup/db/cpu.max": "150000 100000\n",
            "cgroup/db/cpu.stat": "usage_usec 9\nthrottled_usec 2500000\n",
            "free": "0::/other\n",
            "cgroup/other/cpu.stat": "throttled_usec 0\n",
        },
    )
    assert Cgroups(tmp_path / "cgroup", tmp_path / "membership").throttled_s() == {"cpu_throttled_s": 2.5}
    assert Cgroups(tmp_path / "cgroup", tmp_path / "free").throttled_s() == {}


def test_cached_file_pages_are_room_in_a_group(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "proc/self/cgroup": "0::/db\n",
            "sys/fs/cgroup/db/memory.max": "1000000000\n",
            "sys/fs/cgroup/db/memory.current": "990000000\n",
            "sys/fs/cgroup/db/memory.stat": "anon 500000000\ninactive_file 30000000\nactive_file 10000000\n",
        },
    )
    room = HostProbe(tmp_path).room(None, tmp_path)
    assert room["memory_free_share"] == 0.05
    assert room["disk_free_bytes"] > 0
    assert "disk_free_bytes" not in HostProbe(tmp_path).room(None, None)


def test_a_host_without_groups_is_the_machine_itself(tmp_path: Path) -> None:
    facts = HostProbe(tmp_path).facts()
    assert facts.memory_bytes == psutil.virtual_memory().total
    assert facts.cores >= 1


@pytest.mark.parametrize(
    ("total", "free", "counted"),
    [(1000, 900, 1000), (1000, 200, 512), (1000, 110, 512), (1000, 103, 512), (1000, 102, 256), (1000, 0, 1)],
)
def test_a_disk_that_fills_counts_as_a_smaller_one_in_coarse_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, total: int, free: int, counted: int
) -> None:
    usage = SimpleNamespace(total=total, used=total - free, free=free)
    monkeypatch.setattr(psutil, "disk_usage", lambda _path: usage)
    assert HostProbe(tmp_path).facts(None, tmp_path).disk_bytes == counted


def test_request_sizes_come_from_rates_and_an_idle_disk_has_none() -> None:
    rates = {"host.disk_writes_per_s": 10.0, "host.disk_write_bytes_per_s": 81920.0, "host.disk_reads_per_s": 0.0}
    assert request_sizes(rates) == {"host.disk_write_request_bytes": 8192.0}


def grouped(root: Path, command: str) -> None:
    """Process 7 runs `command` in a group of 1 GiB; the agent is in none that is limited."""
    write(
        root,
        {
            "proc/7/cmdline": command,
            "proc/7/cgroup": "0::/db\n",
            "proc/self/cgroup": "0::/\n",
            "sys/fs/cgroup/db/memory.max": f"{1 << 20}\n",
            "sys/fs/cgroup/db/memory.current": f"{1 << 20}\n",
        },
    )


@pytest.mark.parametrize("command", ["/usr/sbin/served\0--port=1\0", "/lib/ld.so\0/opt/usr/sbin/served\0"])
def test_the_limits_of_the_servers_process_count(tmp_path: Path, command: str) -> None:
    grouped(tmp_path, command)
    probe = HostProbe(tmp_path, ("served",))
    assert probe.facts(7).memory_bytes == 1 << 20
    assert probe.room(7, None)["memory_free_share"] == 0


@pytest.mark.parametrize("command", ["/sbin/init\0", "", "/usr/bin/unserved\0"])
def test_a_number_that_is_another_programs_is_not_taken_for_the_server(tmp_path: Path, command: str) -> None:
    grouped(tmp_path, command)
    probe = HostProbe(tmp_path, ("served",))
    assert probe.facts(7).memory_bytes > 1 << 20
    assert probe.room(7, None)["memory_free_share"] > 0


MOUNTS = "1 0 8:1 / / rw - ext4 /dev/root rw\n2 1 8:2 / {data}/da\\040ta rw shared:1 - xfs /dev/vdb rw\n"


def machine(root: Path, data: Path, disk: str, files: dict[str, str]) -> HostProbe:
    """`disk` holds `data`; process 7 is the server."""
    data.mkdir()
    write(
        root,
        {f"sys/devices/{disk}/queue/rotational": "0\n", **{f"sys/devices/{disk}/{n}": t for n, t in files.items()}},
    )
    number = data.stat().st_dev
    (root / "sys/dev/block").mkdir(parents=True)
    (root / f"sys/dev/block/{os.major(number)}:{os.minor(number)}").symlink_to(root / "sys/devices" / disk)
    write(
        root,
        {
            "proc/sys/kernel/osrelease": "6.18.44-cloud\n",
            "proc/sys/vm/nr_hugepages": "0\n",
            "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
            "sys/class/dmi/id/sys_vendor": "Amazon EC2\n",
            "sys/class/dmi/id/product_name": "m7i.large\n",
            "proc/self/mountinfo": MOUNTS.format(data=data.parent),
            "proc/7/cmdline": "/usr/sbin/served\0",
            "proc/7/maps": "7f00-7f01 r-xp 0 8:1 9 /usr/lib/libjemalloc.so.2\n7f02-7f03 r-xp 0 8:1 9 /lib/libc.so.6\n",
        },
    )
    return HostProbe(root, ("served",))


def test_what_kind_of_machine_it_is_is_read_from_files(tmp_path: Path) -> None:
    probe = machine(tmp_path / "root", tmp_path / "da ta", "pci0/nvme0n1", {})
    assert probe.facts(7, tmp_path / "da ta").kind == {
        "kernel": "6.18",
        "allocator": "jemalloc",
        "file_system": "xfs",
        "device": "nvme",
        "memory_pages": "madvise",
        "machine": "Amazon EC2 m7i.large",
    }
    (tmp_path / "root/proc/7/maps").write_text("7f02-7f03 r-xp 0 8:1 9 /lib/libc.so.6\n")
    (tmp_path / "root/proc/sys/vm/nr_hugepages").write_text("512\n")
    changed = probe.facts(7, tmp_path / "da ta").kind
    assert (changed["allocator"], changed["memory_pages"]) == ("its own", "madvise+explicit")
    assert "allocator" not in probe.facts(8, tmp_path / "da ta").kind
    assert HostProbe(tmp_path / "nothing").facts(7, tmp_path).kind == {}


@pytest.mark.parametrize(
    ("disk", "files", "kind"),
    [
        ("nvme1n1", {"device/model": "Amazon Elastic Block Store\n"}, "network"),
        ("vda", {}, "virtual"),
        ("dm-0", {}, "composed"),
        ("md127", {}, "composed"),
        ("sda", {}, "solid"),
        ("sda", {"queue/rotational": "1\n"}, "spinning"),
    ],
)
def test_a_disk_is_of_the_kind_that_its_name_and_its_model_tell(
    tmp_path: Path, disk: str, files: dict[str, str], kind: str
) -> None:
    assert machine(tmp_path / "root", tmp_path / "data", disk, files).facts(7, tmp_path / "data").device == kind


@pytest.mark.parametrize(
    ("said", "disk", "flags", "rotational"),
    [
        ("0", "pci/nvme0n1", "fpu", False),
        ("1", "pci/ata1/sda", "fpu", True),
        ("0", "pci/virtio1/vda", "fpu hypervisor", False),
        ("1", "pci/virtio1/vda", "fpu", None),
        ("1", "pci/host0/sda", "fpu hypervisor vmx", None),
    ],
)
def test_that_a_hypervisors_disk_spins_is_not_believed(
    tmp_path: Path, said: str, disk: str, flags: str, rotational: bool | None
) -> None:
    probe = machine(tmp_path / "root", tmp_path / "data", disk, {"queue/rotational": said})
    (tmp_path / "root/proc/cpuinfo").write_text(f"processor : 0\nflags : {flags}\n")
    assert probe.facts(data_dir=tmp_path / "data").rotational is rotational


MB = 1 << 20
CHILDREN = {1: "7", 7: "8 9", 8: "", 9: ""}


def status(anon_mb: int, shmem_mb: int = 0, threads: int = 1, capable: str = "0") -> str:
    return (
        f"Name:\tserved\nRssAnon:\t{anon_mb * 1024} kB\nRssShmem:\t{shmem_mb * 1024} kB\nHugetlbPages:\t0 kB\n"
        f"Threads:\t{threads}\nCapEff:\t{capable}\n"
    )


def shared(root: Path, files: dict[str, str]) -> HostProbe:
    """A machine of 4 GB, 2 GB of which can be had; process 7 is the server, 8 and 9 are its children."""
    write(
        root,
        {
            "proc/meminfo": f"MemTotal: {4096 * 1024} kB\nMemAvailable: {2048 * 1024} kB\n",
            "proc/7/cmdline": "/usr/sbin/served\0",
            "proc/7/status": status(100, 500),
            "proc/8/status": status(130, 900, threads=3),
            "proc/9/status": status(90, 200),
            **{f"proc/{pid}/task/{pid}/children": text for pid, text in CHILDREN.items()},
            **files,
        },
    )
    return HostProbe(root, ("served",))


def test_what_the_processes_of_the_server_share_counts_once(tmp_path: Path) -> None:
    facts = shared(tmp_path, {}).facts(7)
    own = 100 + (130 - 100) + 0  # the children were made with what their parent held
    assert facts.resident_bytes == (own + 900) * MB
    assert facts.others_bytes == (4096 - 2048 - own - 900) * MB
    assert facts.usable_bytes == (2048 + own + 900) * MB


def test_a_child_that_was_forked_to_save_holds_what_it_changed_and_no_second_copy(tmp_path: Path) -> None:
    saving = {"proc/7/status": status(1000), "proc/8/status": status(1000), "proc/9/status": status(1040)}
    assert shared(tmp_path, saving).facts(7).resident_bytes == 1040 * MB


@pytest.mark.parametrize("gone", ["", "Name:\tkthread\n", "RssAnon:\n"])
def test_where_the_server_shows_no_memory_nobody_knows_what_others_hold(tmp_path: Path, gone: str) -> None:
    facts = shared(tmp_path, {"proc/7/status": gone}).facts(7)
    assert (facts.others_bytes, facts.resident_bytes, facts.usable_bytes) == (None, None, 4096 * MB)


def test_a_server_that_is_not_on_this_host_says_nothing_of_others(tmp_path: Path) -> None:
    probe = shared(tmp_path, {"proc/8/cmdline": "/sbin/init\0"})
    for pid in (None, 8):
        facts = probe.facts(pid)
        assert (facts.others_bytes, facts.resident_bytes, facts.open_files, facts.shm_bytes) == (None,) * 4


V2 = {
    "proc/7/cgroup": "0::/pod/db\n",
    "sys/fs/cgroup/pod/db/memory.max": "max\n",
    "sys/fs/cgroup/pod/memory.max": f"{2048 * MB}\n",
    "sys/fs/cgroup/pod/memory.current": f"{1900 * MB}\n",
    "sys/fs/cgroup/pod/memory.stat": f"active_file {100 * MB}\ninactive_file {50 * MB}\nslab_reclaimable {50 * MB}\n",
}
V1 = {
    "proc/7/cgroup": "4:memory:/pod/db\n",
    "sys/fs/cgroup/memory/pod/db/memory.limit_in_bytes": f"{3000 * MB}\n",
    "sys/fs/cgroup/memory/pod/db/memory.usage_in_bytes": f"{1100 * MB}\n",
    "sys/fs/cgroup/memory/pod/memory.limit_in_bytes": f"{2048 * MB}\n",
    "sys/fs/cgroup/memory/pod/memory.usage_in_bytes": f"{1900 * MB}\n",
    "sys/fs/cgroup/memory/pod/memory.stat": f"total_active_file {150 * MB}\ntotal_inactive_file {50 * MB}\n",
}


@pytest.mark.parametrize("files", [V2, V1], ids=["v2", "v1"])
def test_what_others_hold_of_an_enclosing_group_counts(tmp_path: Path, files: dict[str, str]) -> None:
    facts = shared(tmp_path, files).facts(7)
    assert facts.memory_bytes == 2048 * MB
    assert facts.others_bytes == (1700 - 1030) * MB  # of 2,048 the group uses 1,700 without files, the server 1,030


def test_a_server_that_joined_a_group_late_is_charged_there_with_what_the_group_holds_at_most(tmp_path: Path) -> None:
    used = {"sys/fs/cgroup/pod/memory.current": f"{300 * MB}\n", "sys/fs/cgroup/pod/memory.stat": ""}
    assert shared(tmp_path, {**V2, **used}).facts(7).others_bytes == 0


def test_processes_and_threads_that_others_hold_of_a_limit_are_not_the_servers(tmp_path: Path) -> None:
    pids = {
        "proc/7/cgroup": "8:pids:/pod\n",
        "sys/fs/cgroup/pids/pod/pids.max": "100\n",
        "sys/fs/cgroup/pids/pod/pids.current": "45\n",
    }
    assert shared(tmp_path, pids).facts(7).tasks == 100 - (45 - 5)
    unlimited = {**pids, "sys/fs/cgroup/pids/pod/pids.max": "max\n"}
    assert shared(tmp_path / "other", unlimited).facts(7).tasks is None


LIMITS = "Limit                Soft Limit   Hard Limit   Units\nMax open files       1024         4096         files\n"


@pytest.mark.parametrize(
    ("capable", "limits", "files"),
    [
        ("0", LIMITS, 1024),
        ("000001ffffffffff", LIMITS, None),
        ("0", LIMITS.replace("1024", "unlimited"), None),
        ("0", "", None),
    ],
)
def test_a_process_that_may_raise_its_own_limits_is_not_bound_by_them(
    tmp_path: Path, capable: str, limits: str, files: int | None
) -> None:
    found = shared(tmp_path, {"proc/7/status": status(1, capable=capable), "proc/7/limits": limits}).facts(7)
    assert found.open_files == files


def test_the_servers_own_shared_memory_file_system_is_measured(tmp_path: Path) -> None:
    (tmp_path / "proc/7/root/dev/shm").mkdir(parents=True)
    here = os.statvfs(tmp_path)
    assert shared(tmp_path, {}).facts(7).shm_bytes == here.f_blocks * here.f_frsize
    assert shared(tmp_path / "other", {}).facts(7).shm_bytes is None


@pytest.mark.parametrize(
    ("file", "text", "iops"),
    [
        ("sys/fs/cgroup/db/io.max", "8:16 wiops=9\n8:0 rbps=max wbps=max riops=max wiops=120\n", 120),
        ("sys/fs/cgroup/db/io.max", "8:0 rbps=1048576 wbps=max riops=50 wiops=max\n", None),
        ("sys/fs/cgroup/blkio/db/blkio.throttle.write_iops_device", "8:16 9\n8:0 800\n", 800),
    ],
)
def test_a_control_groups_limit_of_writes_counts_for_the_datas_disk(
    tmp_path: Path, file: str, text: str, iops: int | None
) -> None:
    root = tmp_path / "root"
    group = "5:blkio:/db\n" if "blkio" in file else "0::/db\n"
    probe = machine(root, tmp_path / "data", "sda", {"dev": "8:0\n"})
    write(root, {"proc/7/cgroup": group, file: text})
    assert probe.facts(7, tmp_path / "data").write_iops == iops
