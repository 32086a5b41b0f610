"""Cases of the host beneath a server."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lutra_models.server import Policy, Server, ServerSetting

from tests.support.reported.postgresql import GB
from tests.unit.symptoms.case import HOUR, MB, Case, Numbers, pg


def hosted(**values: str) -> Server:
    """A server whose agent opens the host's settings."""
    kernel = {
        "vm.swappiness": ServerSetting("60", "", "integer", 0, 200, applies="immediate"),
        "vm.dirty_bytes": ServerSetting("0", "B", "integer", 0, 2**63 - 1, applies="immediate"),
        "vm.dirty_background_bytes": ServerSetting("0", "B", "integer", 0, 2**63 - 1, applies="immediate"),
        "vm.nr_hugepages": ServerSetting("0", "2048kB", "integer", 0, 2**31 - 1, applies="immediate"),
        "data_disk.read_ahead_kb": ServerSetting("8192", "kB", "integer", 0, 2**31 - 1, applies="immediate"),
        "vm.zone_reclaim_mode": ServerSetting("1", "", "enum", options=("0", "1"), applies="immediate"),
        "net.core.somaxconn": ServerSetting("64", "", "integer", 1, 2**31 - 1, applies="restart"),
        "transparent_hugepage.enabled": ServerSetting(
            "always", "", "enum", options=("always", "madvise", "never"), applies="immediate"
        ),
    }
    server = pg()
    told = {n: replace(s, value=values.get(n, s.value)) for n, s in kernel.items()}
    return replace(server, settings={**server.settings, **told})


HOST = (
    Case(
        "swapping",
        hosted(),
        {"host.swap_in_bytes": HOUR * 2 * MB, "host.swap_out_bytes": HOUR * MB},
        {"host.swap_in_bytes": HOUR * 127 * 1024},
        [],
        {"vm.swappiness": 10},
        "2 MB per second were read from swap",
        policy=Policy(host=True),
    ),
    Case(
        "write_back_storm",
        hosted(),
        {"host.dirty_bytes": 400 * MB, "host.io_waiting_s": 0.5 * HOUR, "host.disk_write_bytes": HOUR * 40 * MB},
        {"host.dirty_bytes": 79 * MB},
        [{"host.io_waiting_s": 0.1 * HOUR}, {"host.dirty_bytes": 60 * MB, "host.disk_write_bytes": HOUR * 10 * MB}],
        {"vm.dirty_background_bytes": 20 * MB, "vm.dirty_bytes": 160 * MB},
        "400 MB wait to be written, 10 s of work for a disk that wrote 40 MB/s",
        policy=Policy(host=True),
    ),
    Case(
        "page_tables_large",
        hosted(),
        {"host.page_tables_bytes": 0.4 * GB, "activity.connections": 90},
        {"host.page_tables_bytes": 0.15 * GB},
        [{"host.page_tables_bytes": 100 * MB}],
        {"vm.nr_hugepages": 112},
        "Page tables take 410 MB, 5 % of the server's memory: 90 connections map 208 MB",
        policy=Policy(host=True),
    ),
    Case(
        "processors_stolen",
        hosted(),
        {"host.cpu_steal_s": HOUR, "host.cpu_user_s": 2 * HOUR, "host.cpu_system_s": HOUR},
        {"host.cpu_user_s": 9 * HOUR},
        [{"host.cpu_steal_s": 0.04 * HOUR, "host.cpu_user_s": 0, "host.cpu_system_s": 0.01 * HOUR}],
        says="took 25 % of the requested processor time, the equivalent of",
    ),
    Case(
        "processors_throttled",
        hosted(),
        {"host.cpu_throttled_s": 0.4 * HOUR},
        {"host.cpu_throttled_s": 0.04 * HOUR},
        says="held back 400 ms of the server's processor time in each second",
    ),
    Case(
        "kernel_read_ahead_wasted",
        hosted(),
        {"database.blks_read": 100_000, "host.disk_read_bytes": 8 * GB},
        {"host.disk_read_bytes": 1.4 * GB},
        [{"database.blks_read": 900}, {"host.disk_read_bytes": 60 * MB, "database.blks_read": 1000}],
        {"data_disk.read_ahead_kb": 128},
        "The disk read 8 GB in 1 h, and the server requested 781 MB from the kernel.",
        policy=Policy(host=True),
    ),
)
DISK = {"host.disk_bytes": 100 * GB, "host.disk_free_bytes": 50 * GB}
LINKED = {"host.linked_bytes": 20 * GB, "host.linked_free_bytes": 10 * GB}
FILES = {"host.disk_files": 1_000_000, "host.disk_free_files": 900_000, "host.disk_free_bytes": 5 * GB}
TMP = {
    "host.tmp_bytes": GB,
    "host.tmp_free_bytes": 5 * MB,
    "host.tmp_files": 100_000,
    "host.tmp_free_files": 90_000,
}
MEMORY = {"host.memory_bytes": 16 * GB, "host.memory_available_bytes": 8 * GB}
GROUP = {"host.group_memory_most_bytes": 2 * GB, "host.group_memory_bytes": GB}
KILLED = {
    "host.oom_kills": 0,
    "host.oom_kills_since_boot": 3,
    "host.group_oom_kills_since_start": 0,
    "host.group_memory_most_bytes": 0,
}
LIMITS = {"host.server_files_most": 1024, "host.server_files": 1000}
DISK_WORK = {
    "host.disk_reads": HOUR * 40,
    "host.disk_read_ms": HOUR * 40 * 60,
    "host.io_waiting_s": HOUR * 0.5,
    "host.disk_busy_ms": HOUR * 950,
    "host.disk_queue_ms": HOUR * 8000,
    "host.disk_read_bytes": HOUR * 4 * MB,
    "host.disk_write_bytes": HOUR * 6 * MB,
    "host.disk_flushes": HOUR * 20,
    "host.disk_flush_ms": HOUR * 20 * 45,
}
QUOTA = {
    "host.group_disk_reads": 0,
    "host.group_disk_writes": HOUR * 90,
    "host.group_disk_read_bytes": 0,
    "host.group_disk_write_bytes": HOUR * MB,
    "host.disk_reads_most": 0,
    "host.disk_writes_most": 100,
    "host.disk_read_bytes_most": 0,
    "host.disk_write_bytes_most": 0,
}
OVERFLOWS = {"host.listen_overflows": 3600, "host.listen_queue_most": 64}


def on_host(name: str, shown: Numbers, just: Numbers, *silent: Numbers, **more: Any) -> Case:
    return Case(name, hosted(), shown, just, silent, policy=Policy(host=True), **more)


MACHINE = (
    on_host(
        "data_disk_full",
        {**DISK, "host.disk_free_bytes": 20 * MB},
        {"host.disk_free_bytes": 0.11 * GB},
        says="full: 20 MB of 100 GB are free",
    ),
    on_host(
        "linked_disk_full",
        {**LINKED, "host.linked_free_bytes": 20 * MB},
        {"host.linked_free_bytes": 0.11 * GB},
        {"host.linked_bytes": 0},
        says="leads is full: 20 MB of 20 GB are free",
    ),
    on_host("data_disk_read_only", {"host.disk_read_only": 1}, {"host.disk_read_only": 0}, says="read-only"),
    on_host(
        "data_disk_without_files",
        {**FILES, "host.disk_free_files": 12},
        {"host.disk_free_files": 2100},
        {"host.disk_files": 0},
        says="can hold 12 more files of 1,000,000: a new table, log file or temporary file fails, though 5 GB are free",
    ),
    on_host(
        "accept_queue_overflows",
        OVERFLOWS,
        {"host.listen_overflows": 350},
        {"host.listen_overflows": 4},
        cures={"net.core.somaxconn": 4000},
        says="3,600 connections were dropped in 1 h because a queue",
    ),
    on_host(
        "memory_nearly_gone",
        {**MEMORY, "host.memory_available_bytes": 0.4 * GB, "host.swap_free_bytes": 0},
        {"host.memory_available_bytes": GB},
        {"host.swap_free_bytes": GB},
        says="410 MB of 16 GB of memory are still available, and 0 B of swap are free.",
    ),
    on_host(
        "killed_for_memory",
        {"host.oom_kills": 2, **MEMORY},
        {"host.oom_kills": 0},
        says="killed in 1 h because memory was short: 2. 8 GB are available now.",
    ),
    on_host(
        "group_killed_for_memory",
        {"host.group_oom_kills_since_start": 4, **GROUP},
        {"host.group_oom_kills_since_start": 0},
        {"host.group_memory_most_bytes": 0},
        says="its limit of 2 GB was reached: 4. 1 GB are in use now",
    ),
    on_host(
        "killed_for_memory_before",
        KILLED,
        {"host.oom_kills_since_boot": 0},
        {"host.oom_kills": 1},
        {"host.group_oom_kills_since_start": 1, "host.group_memory_most_bytes": GB},
        says="for lack of memory since the machine started: 3, none of them in the last 1 h",
    ),
    on_host(
        "group_memory_nearly_gone",
        {**GROUP, "host.group_memory_bytes": 1.96 * GB},
        {"host.group_memory_bytes": 1.83 * GB},
        {"host.group_memory_most_bytes": 0},
        says="98 % of its limit of 2 GB",
    ),
    on_host(
        "memory_promised_out",
        {
            "host.overcommit_memory": 2,
            "host.commit_limit_bytes": 8 * GB,
            "host.committed_bytes": 7.6 * GB,
            "host.memory_available_bytes": 5 * GB,
        },
        {"host.committed_bytes": 6.7 * GB},
        {"host.overcommit_memory": 0},
        says="7.6 GB of the commit limit of 8 GB are used: at the limit,",
    ),
    on_host("panics_without_memory", {"host.panic_on_oom": 1}, {"host.panic_on_oom": 0}, says="vm.panic_on_oom is 1"),
    on_host("killed_first", {"host.server_killed_first": 900}, {"host.server_killed_first": 499}, says="900 of 1000"),
    on_host(
        "data_disk_nearly_full",
        {**DISK, "host.disk_free_bytes": 4 * GB},
        {"host.disk_free_bytes": 10.1 * GB},
        {"host.disk_free_bytes": 0.05 * GB},
        says="4 GB of 100 GB are free on the file system of the data",
    ),
    on_host(
        "linked_disk_nearly_full",
        {**LINKED, "host.linked_free_bytes": GB},
        {"host.linked_free_bytes": 2.1 * GB},
        {"host.linked_bytes": 0, "host.linked_free_bytes": 0},
        {"host.linked_free_bytes": 0.05 * GB},
        says="1 GB of 20 GB are free on a file system to which a link",
    ),
    on_host(
        "data_disk_fills",
        {**DISK, "host.disk_filled_bytes": 10 * GB},
        {"host.disk_filled_bytes": 2 * GB},
        {"host.disk_filled_bytes": 60 * MB, "host.disk_free_bytes": GB},
        says="is full in 5 h: it filled by 10 GB in 1 h, and 50 GB of 100 GB are free",
    ),
    on_host(
        "data_disk_fills",
        {**DISK, "host.disk_filled_bytes": 6 * GB},
        {"host.disk_filled_bytes": 4 * GB},
        says="is full in 8.33 min: it filled by 6 GB in 1 min, and 50 GB of 100 GB are free",
        seconds=60,
    ),
    on_host(
        "data_disk_files_run_out",
        {**FILES, "host.disk_free_files": 20_000},
        {"host.disk_free_files": 51_000},
        {"host.disk_files": 0},
        {"host.disk_free_files": 1000},
        says="can hold 20,000 more files of 1,000,000",
    ),
    on_host(
        "temporary_disk_full",
        TMP,
        {"host.tmp_free_bytes": 21 * MB},
        {"host.tmp_bytes": 0},
        says="/tmp is full for the server: 5 MB of 1 GB",
    ),
    on_host(
        "shared_memory_full",
        {"host.shm_bytes": 64 * MB, "host.shm_free_bytes": 2 * MB},
        {"host.shm_free_bytes": 7 * MB},
        {"host.shm_bytes": 0},
        says="/dev/shm has 2 MB of 64 MB free",
    ),
    on_host(
        "disk_reports_errors", {"host.disk_errors": 3}, {"host.disk_errors": 0}, says="since it was last checked: 3."
    ),
    on_host(
        "array_misses_disks",
        {"host.disk_missing_members": 1},
        {"host.disk_missing_members": 0},
        says="runs without 1 of its disks",
    ),
    on_host("disk_without_barriers", {"host.disk_unsafe": 1}, {"host.disk_unsafe": 0}, says="without barriers"),
    on_host("disk_writes_data_late", {"host.disk_data_late": 1}, {"host.disk_data_late": 0}, says="data=writeback"),
    on_host("network_disk_gives_up", {"host.disk_gives_up": 1}, {"host.disk_gives_up": 0}, says="mounted soft"),
    on_host(
        "server_files_run_out",
        LIMITS,
        {"host.server_files": 869},
        {"host.server_files_most": 0},
        says="has 1,000 of at most 1,024 files and connections open",
    ),
    on_host(
        "server_files_few",
        {"host.server_files_most": 300, "host.server_files": 60},
        {"host.server_files_most": 1024},
        {"host.server_files_most": 0},
        {"host.server_files": 280},
        says="may have 300 files and connections open",
    ),
    on_host(
        "server_tasks_run_out",
        {"host.server_tasks_most": 100, "host.server_tasks": 90},
        {"host.server_tasks": 79},
        {"host.server_tasks_most": 0},
        says="has 90 processes and threads, and its account may have 100",
    ),
    on_host(
        "group_tasks_run_out",
        {"host.group_tasks_most": 100, "host.group_tasks": 90},
        {"host.group_tasks": 79},
        {"host.group_tasks_most": 0},
        says="has 90 of at most 100 processes and threads",
    ),
    on_host(
        "machine_tasks_run_out",
        {"host.tasks_most": 32768, "host.tasks": 30000},
        {"host.tasks": 26000},
        {"host.tasks_most": 0},
        says="has 30,000 of at most 32,768 processes",
    ),
    on_host(
        "machine_files_run_out",
        {"host.files_most": 100_000, "host.files_open": 90_000},
        {"host.files_open": 79_000},
        {"host.files_most": 0},
        says="has 90,000 of at most 100,000 files open",
    ),
    on_host(
        "asynchronous_requests_run_out",
        {"host.requests_most": 65536, "host.requests_in_flight": 65000},
        {"host.requests_in_flight": 58000},
        {"host.requests_most": 0},
        says="65,000 of the machine's 65,536 asynchronous disk requests",
    ),
    on_host(
        "file_size_limited",
        {"host.server_file_size_most_bytes": 4 * GB},
        {"host.server_file_size_most_bytes": 65 * GB},
        {"host.server_file_size_most_bytes": 0},
        says="larger than 4 GB (ulimit -f)",
    ),
    on_host(
        "process_memory_limited",
        {**MEMORY, "host.server_address_space_bytes": 2 * GB, "host.server_data_size_bytes": 0},
        {"host.server_address_space_bytes": 16 * GB},
        {"host.server_address_space_bytes": 0},
        says="may have 2 GB of memory (ulimit -v or -d), and the machine has 16 GB",
    ),
    on_host(
        "processor_time_limited",
        {"host.server_cpu_time_most_s": 7200},
        {"host.server_cpu_time_most_s": 0},
        says="after 2 h of processor time",
    ),
    on_host(
        "tracked_connections_run_out",
        {"host.connections_tracked_most": 65536, "host.connections_tracked": 64000},
        {"host.connections_tracked": 52000},
        {"host.connections_tracked_most": 0},
        says="tracks 64,000 of at most 65,536 connections",
    ),
    on_host(
        "ports_run_out",
        {"host.ports": 1000, "host.tcp_sockets": 950},
        {"host.tcp_sockets": 790},
        {"host.ports": 100, "host.tcp_sockets": 99},
        says="950 TCP sockets are in use or wait for their end, and outgoing connections have 1,000 ports",
    ),
    on_host(
        "network_memory_short",
        {"host.tcp_aborts_for_memory": 5},
        {"host.tcp_aborts_for_memory": 0},
        says="was used up (net.ipv4.tcp_mem): 5.",
    ),
    on_host(
        "server_swapped_out",
        {"host.swap_bytes": 2 * GB, "host.server_swapped_bytes": 300 * MB, "host.swappiness": 60, **MEMORY},
        {"host.server_swapped_bytes": 15 * MB},
        {"host.swap_bytes": 0},
        cures={"vm.swappiness": 10},
        says="300 MB of the server's own memory are in swap",
    ),
    on_host(
        "swappiness_high",
        {"host.swap_bytes": 2 * GB, "host.swappiness": 100},
        {"host.swappiness": 60},
        {"host.swap_bytes": 0},
        cures={"vm.swappiness": 10},
        says="vm.swappiness is 100",
    ),
    on_host(
        "memory_stalls",
        {"host.memory_waiting_s": 0.3 * HOUR, "host.memory_stopped_s": 0.1 * HOUR, **MEMORY},
        {"host.memory_waiting_s": 0.049 * HOUR},
        says="waited for memory in 30 % of 1 h, and all processes with work to do waited at once in 10 %;",
    ),
    on_host(
        "group_memory_stalls",
        {"host.group_memory_waiting_s": 0.3 * HOUR, "host.memory_waiting_s": 0.1 * HOUR, **GROUP},
        {"host.group_memory_waiting_s": 0.049 * HOUR, "host.memory_waiting_s": 0},
        {"host.group_memory_most_bytes": 0},
        {"host.memory_waiting_s": 0.3 * HOUR},
        says="control group waited for memory in 30 % of 1 h: its limit is 2 GB",
    ),
    on_host(
        "group_held_back",
        {"host.group_held_back": 20 * HOUR},
        {"host.group_held_back": 0.9 * HOUR},
        says="above memory.high 20 times a second",
    ),
    on_host(
        "memory_kept_free",
        {**MEMORY, "host.kept_free_bytes": 3 * GB},
        {"host.kept_free_bytes": 0.9 * GB},
        says="keeps 3 GB of 16 GB of memory free",
    ),
    on_host(
        "huge_pages_idle",
        {**MEMORY, "host.huge_pages_idle_bytes": 4 * GB},
        {"host.huge_pages_idle_bytes": 0.7 * GB},
        {"host.memory_bytes": GB, "host.huge_pages_idle_bytes": 200 * MB},
        says="4 GB of 16 GB of memory are reserved as explicit huge pages",
    ),
    on_host(
        "huge_pages_stall",
        {"host.huge_pages_always": 1, "host.compaction_stalls": 40 * HOUR},
        {"host.compaction_stalls": 4 * HOUR},
        {"host.huge_pages_always": 0},
        cures={"transparent_hugepage.enabled": "madvise"},
        says="stopped 40 times a second",
    ),
    on_host(
        "huge_pages_unasked",
        {"host.huge_pages_always": 1, "host.compaction_stalls": 0},
        {"host.huge_pages_always": 0},
        {"host.compaction_stalls": 6 * HOUR},
        says="enabled is always",
    ),
    on_host(
        "dirty_limit_high",
        {**MEMORY, "host.dirty_limit_bytes": 12 * GB},
        {"host.dirty_limit_bytes": 4.9 * GB},
        cures={"vm.dirty_bytes": 512 * MB},
        says="may leave 12 GB of 16 GB of memory unwritten",
    ),
    on_host(
        "dirty_limit_low",
        {"host.dirty_limit_bytes": 4 * MB},
        {"host.dirty_limit_bytes": 17 * MB},
        {"host.dirty_limit_bytes": 0},
        cures={"vm.dirty_bytes": 512 * MB},
        says="may leave 4 MB unwritten",
    ),
    on_host(
        "read_ahead_large",
        {"host.disk_read_ahead_bytes": 8 * MB},
        {"host.disk_read_ahead_bytes": 3 * MB},
        says="reads up to 8 MB ahead",
    ),
    Case(
        "read_ahead_off",
        hosted(**{"data_disk.read_ahead_kb": "0"}),
        {"host.disk_read_ahead_bytes": 0, "host.disk_read_bytes": HOUR * MB},
        {"host.disk_read_ahead_bytes": 32 * 1024},
        [{"host.disk_read_bytes": HOUR * 10_000}],
        {"data_disk.read_ahead_kb": 128},
        "reads 0 B ahead of the data's files, and the disk read 1 MB/s",
        policy=Policy(host=True),
    ),
    on_host(
        "disk_scheduled_fairly",
        {"host.disk_scheduler_fair": 1},
        {"host.disk_scheduler_fair": 0},
        says="its scheduler is bfq or cfq",
        quiet=[replace(hosted(), host=replace(hosted().host, rotational=True))],
    ),
    on_host("disk_written_at_once", {"host.disk_sync": 1}, {"host.disk_sync": 0}, says="mounted with sync"),
    on_host(
        "disk_access_times_written", {"host.disk_access_times": 1}, {"host.disk_access_times": 0}, says="strictatime"
    ),
    on_host(
        "disk_quota_reached",
        QUOTA,
        {"host.group_disk_writes": HOUR * 79},
        {"host.disk_writes_most": 0},
        says="used 90 % of its quota of the data's disk,",
    ),
    on_host(
        "disk_reads_slow",
        DISK_WORK,
        {"host.disk_read_ms": HOUR * 40 * 24},
        {"host.disk_reads": HOUR * 4, "host.disk_read_ms": HOUR * 240},
        {"host.io_waiting_s": 0.1 * HOUR},
        says="took 60 ms, in 1 h with 40 reads a second; the disk was busy for 95 %",
    ),
    on_host(
        "disk_flushes_slow",
        DISK_WORK,
        {"host.disk_flush_ms": HOUR * 20 * 19},
        {"host.disk_flushes": HOUR * 0.4, "host.disk_flush_ms": HOUR * 18},
        {"host.io_waiting_s": 0.05 * HOUR},
        says="took 45 ms, in 1 h with 20 flushes a second",
    ),
    on_host(
        "disk_saturated",
        DISK_WORK,
        {"host.disk_busy_ms": HOUR * 890},
        {"host.disk_queue_ms": HOUR * 3900},
        {"host.io_waiting_s": 0.3 * HOUR},
        says="was busy for 95 % of 1 h, with 8 requests at it",
    ),
    on_host(
        "others_take_the_host",
        {"host.taken_share": 0.7},
        {"host.taken_share": 0.49},
        says="70 % of the server's busy time",
    ),
    on_host("server_stands_back", {"host.server_niceness": 19}, {"host.server_niceness": 0}, says="niceness 19"),
    on_host(
        "server_confined",
        {
            "host.server_processors": 1,
            "host.group_processors": 8,
            "host.cpu_server_ran_s": 0.9 * HOUR,
            "host.cpu_server_waited_s": 2 * HOUR,
        },
        {"host.cpu_server_ran_s": 0.5 * HOUR, "host.cpu_server_waited_s": 0.19 * HOUR},
        {"host.group_processors": 1},
        {"host.cpu_server_ran_s": 0.09 * HOUR},
        says="may run on 1 of 8 processors (taskset, CPUAffinity=). In 1 h it ran for 0.9 s of each second and waited",
    ),
    on_host("processors_slowed", {"host.processors_slowed": 1}, {"host.processors_slowed": 0}, says="100 % of the"),
    on_host("clock_slow", {"host.clock_slow": 2}, {"host.clock_slow": 0}, says="clock source is acpi_pm"),
    on_host(
        "clock_not_kept", {"host.clock_unsynchronised": 1}, {"host.clock_unsynchronised": 0}, says="not synchronised"
    ),
    on_host(
        "far_memory_reclaimed",
        {"host.numa_nodes": 2, "host.zone_reclaim_mode": 1},
        {"host.zone_reclaim_mode": 0},
        {"host.numa_nodes": 1},
        cures={"vm.zone_reclaim_mode": "0"},
        says="vm.zone_reclaim_mode is 1 on a machine with 2 memory nodes",
    ),
    on_host(
        "memory_far",
        {"host.numa_nodes": 2, "host.numa_pages_far": HOUR * 3000, "host.numa_pages_near": HOUR * 7000},
        {"host.numa_pages_far": HOUR * 700},
        {"host.numa_nodes": 1},
        {"host.numa_pages_far": HOUR * 90, "host.numa_pages_near": HOUR * 100},
        says="30 % of all pages were taken from a memory node other than the requested one",
    ),
    on_host(
        "listen_queue_short",
        {"host.listen_queue_most": 16, "host.listen_overflows": 0},
        {"host.listen_queue_most": 128},
        {"host.listen_overflows": 6},
        cures={"net.core.somaxconn": 4000},
        says="At most 16 connections may wait",
    ),
    on_host("ports_few", {"host.ports": 1000, "host.tcp_sockets": 30}, {"host.ports": 8100}, says="have 1,000 ports"),
    on_host(
        "packets_lost",
        {"host.tcp_segments": HOUR * 500, "host.tcp_segments_again": HOUR * 50},
        {"host.tcp_segments_again": HOUR * 9},
        {"host.tcp_segments": 900, "host.tcp_segments_again": 90},
        {"host.tcp_segments": HOUR * 5, "host.tcp_segments_again": HOUR * 0.9},
        says="10 % of all TCP segments were retransmitted, 50 a second",
    ),
    on_host(
        "connections_flood",
        {"host.syn_cookies": 36_000},
        {"host.syn_cookies": 1700},
        {"host.syn_cookies": 4},
        says="36,000 new connections in 1 h",
    ),
)
