"""The use of the machine's memory, and its distribution by the kernel."""

from __future__ import annotations

from pathlib import Path

from lutra_agent.linux.state.files import named, number, present, text

KB = 1024
HELD = {
    "MemTotal": "memory_bytes",
    "SwapTotal": "swap_bytes",
    "SwapFree": "swap_free_bytes",
    "CommitLimit": "commit_limit_bytes",
    "Committed_AS": "committed_bytes",
}
COUNTED = {
    "oom_kill": "oom_kills",
    "compact_stall": "compaction_stalls",
    "numa_hit": "numa_pages_near",
    "numa_miss": "numa_pages_far",
}
KERNEL = {
    "swappiness": "swappiness",
    "overcommit_memory": "overcommit_memory",
    "panic_on_oom": "panic_on_oom",
    "zone_reclaim_mode": "zone_reclaim_mode",
}
CHOICES = "transparent_hugepage"


def gauges(root: Path) -> dict[str, float]:
    """Bytes in use, and the settings that decide who gets them."""
    meminfo = root / "proc/meminfo"
    found = {HELD[name]: value * KB for name, value in named(meminfo, HELD).items()}
    kernel = {name: number(root / "proc/sys/vm" / file) for file, name in KERNEL.items()}
    kept = number(root / "proc/sys/vm/min_free_kbytes")
    pages = root / "sys/kernel/mm" / CHOICES
    return {
        **found,
        **present(kernel),
        **present({"kept_free_bytes": None if kept is None else kept * KB}),
        **present({"huge_pages_always": _chosen(pages / "enabled"), "huge_pages_wait": _chosen(pages / "defrag")}),
        **_reserved(meminfo),
        **_dirty_limits(root, found.get("memory_bytes")),
        **_killed(root),
        "numa_nodes": float(len(list(_nodes(root))) or 1),
    }


def counters(root: Path) -> dict[str, float]:
    """Processes that were killed for lack of memory, waits for huge pages, and pages of near and far nodes."""
    return {COUNTED[name]: value for name, value in named(root / "proc/vmstat", COUNTED).items()}


def _killed(root: Path) -> dict[str, float]:
    killed = named(root / "proc/vmstat", ("oom_kill",))
    return {f"{COUNTED[name]}_since_boot": value for name, value in killed.items()}


def _reserved(meminfo: Path) -> dict[str, float]:
    """Explicit huge pages that nobody uses, and that are promised to nobody: memory that is lost."""
    found = named(meminfo, ("HugePages_Free", "HugePages_Rsvd", "Hugepagesize"))
    if len(found) < 3:
        return {}
    idle = max(found["HugePages_Free"] - found["HugePages_Rsvd"], 0.0)
    return {"huge_pages_idle_bytes": idle * found["Hugepagesize"] * KB}


def _dirty_limits(root: Path, memory: float | None) -> dict[str, float]:
    """The bytes of dirty memory from which writers wait, and those from which the kernel writes: by bytes, or share."""
    found: dict[str, float | None] = {}
    for name, metric in (("dirty", "dirty_limit_bytes"), ("dirty_background", "dirty_background_bytes")):
        limit = number(root / "proc/sys/vm" / f"{name}_bytes")
        share = number(root / "proc/sys/vm" / f"{name}_ratio")
        of_memory = None if share is None or memory is None else share / 100 * memory
        found[metric] = limit or of_memory
    return present(found)


def _nodes(root: Path) -> list[Path]:
    try:
        return [
            n for n in (root / "sys/devices/system/node").iterdir() if n.name[4:].isdecimal() and n.name[:4] == "node"
        ]
    except OSError:
        return []


def _chosen(path: Path) -> float | None:
    """1 if `always` is in brackets."""
    said = text(path)
    return float("[always]" in said) if said else None
