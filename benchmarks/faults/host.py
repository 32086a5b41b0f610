"""The Linux host beneath any engine: limits, memory, disks, processors, network, clock."""

from __future__ import annotations

import os
import re
import signal
import socket
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

from lutra_lab.servers.errors import LabError
from lutra_models.symptoms import Symptom

from benchmarks.faults.fault import Fault, Make, Scene, Treat
from benchmarks.faults.machine import (
    GROUPS,
    PATIENCE_S,
    filled,
    group,
    joined,
    kernel,
    laid_over,
    limited,
    own_mounts,
    pid,
    pids,
    run,
    small_disk,
    taken_away,
    write,
)

GIB = 1 << 30
MIB = 1 << 20
CLOCK = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
PORTS = "/proc/sys/net/ipv4/ip_local_port_range"
TRACKED = "/proc/sys/net/netfilter/nf_conntrack_count"


def _limit(**limits: str) -> Make:
    return lambda scene: limited(scene, **limits)


def _again(**limits: str) -> Treat:
    return lambda scene, _: limited(scene, **limits)


def _few_files(scene: Scene) -> None:
    """Nearly as many connections as it still takes: the look needs one."""
    limited(scene, nofile="64")
    folder = Path(f"/proc/{pid(scene.server)}/fd")
    while len(list(folder.iterdir())) < 58:
        scene.ends.enter_context(socket.create_connection((scene.server.host, scene.server.port), 5))
        time.sleep(0.05)


def _few_tasks_of_group(scene: Scene) -> None:
    """Enough for the look's own sessions, once all clients are there."""
    time.sleep(5)
    folder = group(scene, "pids")
    write(folder / "pids.max", str(len(pids(scene.server)) + 4))


def _few_tasks(scene: Scene) -> None:
    """Not for real: the look itself could not connect, nor other servers of this account."""
    limits = f"/proc/{pid(scene.server)}/limits"
    text = re.sub(r"(Max processes\s+)\d+", rf"\g<1>{len(pids(scene.server)) + 2}", Path(limits).read_text())
    laid_over(scene, {limits: text})


def _many_tasks(scene: Scene, _: Symptom) -> None:
    run("umount", f"/proc/{pid(scene.server)}/limits")


def _wide(controller: str, file: str, value: int) -> Treat:
    return lambda _scene, _finding: write(GROUPS / controller / "lutra-faults" / file, str(value))


def _slowed(scene: Scene) -> None:
    """A fiftieth of a processor."""
    group(scene, "cpu", cfs_period_us=100_000, cfs_quota_us=2_000)


def _nice(niceness: int) -> Make:
    def make(scene: Scene) -> None:
        for each in pids(scene.server):
            with suppress(OSError):  # one that has ended
                os.setpriority(os.PRIO_PROCESS, each, niceness)

    return make


def _confined(scene: Scene) -> None:
    """On one processor, with work for more."""
    for each in pids(scene.server):
        with suppress(OSError):
            os.sched_setaffinity(each, {0})
    count = "SELECT count(*) FROM generate_series(1, 400000000)"
    for _ in range(2):
        scene.in_background(partial(scene.sql, count))


def _free_again(scene: Scene, _: Symptom) -> None:
    for each in pids(scene.server):
        with suppress(OSError):
            os.sched_setaffinity(each, set(range(os.cpu_count() or 1)))


def _killed_first(scene: Scene) -> None:
    for each in pids(scene.server):
        write(Path(f"/proc/{each}/oom_score_adj"), "900")


def _restarted(scene: Scene, _: Symptom) -> None:
    scene.server.stop()
    scene.server.start()


def _grown(scene: Scene) -> None:
    """A store that grew to its group's limit."""
    folder = group(scene, "memory")
    _blobs(scene, 100_000)
    used = int((folder / "memory.usage_in_bytes").read_text())
    write(folder / "memory.limit_in_bytes", str(int(used * 1.03)))


def _blobs(scene: Scene, number: int) -> None:
    """So many kilobytes, in scripts that end soon."""
    for first in range(0, number, 10_000):
        scene.sql(
            f'EVAL \'for i = {first}, {first + 9999} do redis.call("SET", "blob:" .. i, string.rep("x", 1000)) end\' 0'
        )


def _killed(scene: Scene) -> None:
    """A query that takes what its group has not."""
    group(scene, "memory", limit_in_bytes=300 * MIB)
    scene.sql("ALTER SYSTEM SET work_mem = '2GB'")
    scene.sql("SELECT pg_reload_conf()")
    greedy = "SELECT array_length(array_agg(repeat('x', 900) || i), 1) FROM generate_series(1, 900000) i"
    with suppress(LabError):
        scene.sql(greedy)
    _until_it_answers(scene)


def _until_it_answers(scene: Scene) -> None:
    ends = time.monotonic() + PATIENCE_S
    while True:
        try:
            scene.sql("SELECT 1")
        except LabError:
            if time.monotonic() > ends:
                raise
            time.sleep(0.5)
        else:
            return


def _larger_group(scene: Scene, _: Symptom) -> None:
    """As a service manager starts a server anew after its unit was changed."""
    scene.server.stop()
    scene.server.start()
    folder = group(scene, "memory", "lutra-faults-larger", limit_in_bytes=4 * GIB)
    joined(scene, folder)


def _swapped(scene: Scene) -> None:
    _swap(scene, 512)
    folder = group(scene, "memory")
    _blobs(scene, 200_000)
    write(folder / "memory.swappiness", "100")
    used = int((folder / "memory.usage_in_bytes").read_text())
    write(folder / "memory.limit_in_bytes", str(used // 2))


def _swap(scene: Scene, size_mb: int) -> None:
    file = scene.folder / "swap"
    run("dd", "if=/dev/zero", f"of={file}", "bs=1M", f"count={size_mb}", "status=none")
    file.chmod(0o600)
    run("mkswap", str(file))
    run("swapon", str(file))
    scene.ends.callback(run, "swapoff", str(file))


def _in_memory_again(scene: Scene, _: Symptom) -> None:
    write(GROUPS / "memory/lutra-faults/memory.limit_in_bytes", str(8 * GIB))
    run("swapoff", str(scene.folder / "swap"))
    run("swapon", str(scene.folder / "swap"))


def _swaps_readily(scene: Scene) -> None:
    _swap(scene, 64)
    kernel(scene, {"vm.swappiness": 100})


def _sysctl(**values: object) -> Treat:
    def treat(_scene: Scene, _finding: Symptom) -> None:
        for name, value in values.items():
            write(Path("/proc/sys") / name.replace("__", "/"), str(value))

    return treat


def _full(leave: int, size_mb: int = 600) -> Make:
    return lambda scene: filled(small_disk(scene, size_mb), leave)


def _freed(scene: Scene, _: Symptom) -> None:
    (scene.server.data_dir / "filler").unlink()


def _filling(scene: Scene) -> None:
    """A file that grows by some megabytes a second until the disk has 50 MB left."""
    folder, ended = small_disk(scene, 2000), threading.Event()
    scene.ends.callback(ended.set)

    def write_on() -> None:
        with (folder / "trace.log").open("wb") as file:
            while not ended.wait(0.25) and os.statvfs(folder).f_bavail * 4096 > 50 * MIB:
                if (scene.folder / "stopped").exists():
                    return
                file.write(os.urandom(2 * MIB))
                file.flush()
                os.fsync(file.fileno())

    scene.in_background(write_on)


def _stop_filling(scene: Scene, _: Symptom) -> None:
    (scene.folder / "stopped").touch()
    time.sleep(1)


def _without_files(left: int) -> Make:
    def make(scene: Scene) -> None:
        folder = small_disk(scene, 600, files=4000)
        many = folder / "cache"
        many.mkdir()
        for number in range(os.statvfs(folder).f_favail - left):
            (many / str(number)).touch()

    return make


def _without_cache(scene: Scene, _: Symptom) -> None:
    run("rm", "-rf", str(scene.server.data_dir / "cache"))


def _mounted(options: str) -> Make:
    return lambda scene: small_disk(scene, 1000, options)


def _remounted(options: str) -> Treat:
    return lambda scene, _: run("mount", "-o", f"remount,{options}", str(scene.server.data_dir))


def _read_only(scene: Scene) -> None:
    """As the look finds a disk that the kernel has given up: a server of which each new session fails."""
    data = str(scene.server.data_dir)
    own_mounts(scene)
    run("mount", "--bind", data, data)
    run("mount", "-o", "remount,bind,ro", data)


def _not_read_only(scene: Scene, _: Symptom) -> None:
    run("umount", str(scene.server.data_dir))


def _full_shm(scene: Scene) -> None:
    """A container's /dev/shm, with little left in it."""
    scene.server.stop()
    own_mounts(scene)
    run("mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", "/dev/shm")
    scene.server.start()
    filled(Path("/dev/shm"), 3 * MIB)


def _larger_shm(_scene: Scene, _finding: Symptom) -> None:
    run("mount", "-o", "remount,size=1g", "/dev/shm")


def _few_writes(scene: Scene) -> None:
    small_disk(scene, 1000)
    group(scene, "blkio")
    _writes(scene, 4)


def _writes(scene: Scene, most: int) -> None:
    number = scene.server.data_dir.stat().st_dev
    limit = f"{os.major(number)}:{os.minor(number)} {most}"
    write(GROUPS / "blkio/lutra-faults/blkio.throttle.write_iops_device", limit)


def _storms(scene: Scene) -> None:
    """Bursts of connections, while the server is busy with something else for half a second."""
    ended, server = threading.Event(), pid(scene.server)
    scene.ends.callback(ended.set)

    def burst() -> None:
        while not ended.wait(4) and not (scene.folder / "stopped").exists():
            os.kill(server, signal.SIGSTOP)
            opened = []
            try:
                for _ in range(40):
                    each = socket.socket()
                    each.setblocking(False)
                    each.connect_ex((scene.server.host, scene.server.port))
                    opened.append(each)
                time.sleep(0.5)
            finally:
                os.kill(server, signal.SIGCONT)
                for each in opened:
                    each.close()

    scene.in_background(burst)
    scene.ends.callback(time.sleep, 1)


def _stop_storms(scene: Scene, _: Symptom) -> None:
    (scene.folder / "stopped").touch()
    time.sleep(5)


def _short_queue(scene: Scene) -> None:
    kernel(scene, {"net.core.somaxconn": 16})


def _meminfo(**values: int) -> str:
    """The kernel's own, with some lines in kB changed."""
    text = Path("/proc/meminfo").read_text()
    for name, value in values.items():
        text = re.sub(rf"^{name}:\s+\d+", f"{name}: {value:12d}", text, flags=re.MULTILINE)
    return text


def _little_memory(scene: Scene) -> None:
    laid_over(scene, {"/proc/meminfo": _meminfo(MemAvailable=300_000, MemFree=200_000)})


def _promised_out(scene: Scene) -> None:
    promised = _meminfo(CommitLimit=12_000_000, Committed_AS=11_700_000)
    laid_over(scene, {"/proc/meminfo": promised, "/proc/sys/vm/overcommit_memory": "2\n"})


def _files(files: dict[str, str]) -> Make:
    return lambda scene: laid_over(scene, files)


def _replayed(name: str, family: str, causes: str, files: dict[str, str]) -> Fault:
    made = partial(Fault, make=_files(files), treat=taken_away(*files), server="postgres15", seconds=10)
    return made(f"{name} (replayed)", family, frozenset({causes}))


def _postgres(name: str, family: str, causes: str, make: Make, treat: Treat | None, seconds: float = 15) -> Fault:
    return Fault(
        name,
        family,
        frozenset(causes.split()),
        make=make,
        treat=treat,
        treatable=treat is not None,
        server="postgres15",
        seconds=seconds,
    )


def _redis(name: str, family: str, causes: str, make: Make, treat: Treat, **options: str) -> Fault:
    return Fault(name, family, frozenset(causes.split()), options, make=make, treat=treat, server="redis", seconds=20)


LIMITS = (
    _postgres("few open files", "limits", "server_files_few", _limit(nofile="250"), _again(nofile="20000")),
    _redis("open files run out", "limits", "server_files_run_out", _few_files, _again(nofile="20000")),
    _postgres("files of 1 GB", "limits", "file_size_limited", _limit(fsize=str(GIB)), _again(fsize="unlimited")),
    _postgres(
        "4 GB of addresses",
        "limits",
        "process_memory_limited",
        _limit(**{"as": str(4 * GIB)}),
        _again(**{"as": "unlimited"}),
    ),
    _postgres(
        "an end of processor time", "limits", "processor_time_limited", _limit(cpu="86400"), _again(cpu="unlimited")
    ),
    _postgres("few processes of the account (replayed)", "limits", "server_tasks_run_out", _few_tasks, _many_tasks),
    _postgres(
        "few processes of the group",
        "limits",
        "group_tasks_run_out",
        _few_tasks_of_group,
        _wide("pids", "pids.max", 20000),
    ),
    _postgres("killed first", "limits", "killed_first", _killed_first, _restarted),
)
PROCESSORS = (
    _postgres(
        "a fiftieth of a processor",
        "processors",
        "processors_throttled",
        _slowed,
        _wide("cpu", "cpu.cfs_quota_us", -1),
        30,
    ),
    _postgres("niceness 19", "processors", "server_stands_back", _nice(19), lambda s, _: _nice(0)(s)),
    _postgres("one processor of two", "processors", "server_confined", _confined, _free_again, 30),
)
MEMORY = (
    _redis(
        "a group's memory nearly gone",
        "memory",
        "group_memory_nearly_gone",
        _grown,
        _wide("memory", "memory.limit_in_bytes", GIB),
    ),
    _postgres("killed by its group", "memory", "group_killed_for_memory killed_for_memory", _killed, _larger_group),
    _redis("swapped out", "memory", "server_swapped_out swapping", _swapped, _in_memory_again),
    _postgres("swappiness 100", "memory", "swappiness_high", _swaps_readily, _sysctl(vm__swappiness=10)),
    _postgres(
        "dirty memory without an end",
        "memory",
        "dirty_limit_high write_back_storm",
        lambda scene: kernel(scene, {"vm.dirty_ratio": 90, "vm.dirty_background_ratio": 80}),
        _sysctl(vm__dirty_background_ratio=10, vm__dirty_ratio=20),
    ),
    _postgres(
        "huge pages for nobody",
        "memory",
        "huge_pages_idle",
        lambda scene: kernel(scene, {"vm.nr_hugepages": 900}),
        _sysctl(vm__nr_hugepages=0),
    ),
    _postgres("/dev/shm full", "memory", "shared_memory_full", _full_shm, _larger_shm),
    Fault(
        "memory nearly gone (replayed)",
        "memory",
        frozenset({"memory_nearly_gone"}),
        make=_little_memory,
        treat=taken_away("/proc/meminfo"),
        server="postgres15",
        seconds=10,
    ),
    Fault(
        "memory promised out (replayed)",
        "memory",
        frozenset({"memory_promised_out"}),
        make=_promised_out,
        treat=taken_away("/proc/meminfo", "/proc/sys/vm/overcommit_memory"),
        server="postgres15",
        seconds=10,
    ),
    _replayed(
        "the machine stops without memory", "memory", "panics_without_memory", {"/proc/sys/vm/panic_on_oom": "1\n"}
    ),
    _replayed("much kept free", "memory", "memory_kept_free", {"/proc/sys/vm/min_free_kbytes": "4000000\n"}),
)
DISKS = (
    _postgres("data disk full", "disks", "data_disk_full", _full(2 * MIB), _freed),
    _postgres("data disk nearly full", "disks", "data_disk_nearly_full data_disk_full", _full(20 * MIB), _freed),
    _postgres("data disk fills", "disks", "data_disk_fills", _filling, _stop_filling, 45),
    _postgres("no files left", "disks", "data_disk_without_files", _without_files(4), _without_cache),
    _postgres("few files left", "disks", "data_disk_files_run_out", _without_files(90), _without_cache),
    _postgres("no barriers", "disks", "disk_without_barriers", _mounted("nobarrier"), _remounted("barrier=1")),
    _postgres("data=writeback", "disks", "disk_writes_data_late", _mounted("data=writeback"), None),
    _postgres("mounted sync", "disks", "disk_written_at_once", _mounted("sync"), _remounted("async")),
    _postgres("read-only (replayed)", "disks", "data_disk_read_only", _read_only, _not_read_only),
    _postgres(
        "four writes a second", "disks", "disk_quota_reached", _few_writes, lambda scene, _: _writes(scene, 0), 30
    ),
)
NETWORK = (
    _redis(
        "connections overflow",
        "network",
        "accept_queue_overflows",
        _storms,
        _stop_storms,
        **{"tcp-backlog": "5"},
    ),
    _postgres(
        "a short queue of connections",
        "network",
        "listen_queue_short accept_queue_overflows",
        _short_queue,
        _sysctl(net__core__somaxconn=4096),
    ),
    _replayed("ports run out", "network", "ports_run_out", {PORTS: "40000 40099\n"}),
    _replayed("tracked connections run out", "network", "tracked_connections_run_out", {TRACKED: "262000\n"}),
    _replayed("a slow clock", "clock", "clock_slow", {CLOCK: "acpi_pm\n"}),
)
FAULTS = (*LIMITS, *PROCESSORS, *MEMORY, *DISKS, *NETWORK)
