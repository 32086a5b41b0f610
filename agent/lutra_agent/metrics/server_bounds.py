"""The kernel's limits of a server's process, and the used part of them: limits, priority, processors, swap."""

from __future__ import annotations

import os
from pathlib import Path

from lutra_agent.linux.state.files import named, present, text

KB = 1024
MOST_CHILDREN = 2000
"""The most processes to examine, with one read each."""
MAY_RAISE_LIMITS = 1 << 24
"""CAP_SYS_RESOURCE: limits of the account do not bind such a process."""
LEAST_PRIORITY = 19
PATIENT_POLICIES = (3, 5)
"""SCHED_BATCH and SCHED_IDLE."""
LIMITS = {
    "Max open files": "server_files_most",
    "Max processes": "server_tasks_most",
    "Max file size": "server_file_size_most_bytes",
    "Max address space": "server_address_space_bytes",
    "Max data size": "server_data_size_bytes",
    "Max cpu time": "server_cpu_time_most_s",
}


class ServerBounds:
    """The figures of the process `pid`, and of its children if that is stated."""

    def __init__(self, proc: Path) -> None:
        self._proc = proc

    def gauges(self, pid: int | None, *, swap: bool) -> dict[str, float]:
        """`swap` says whether anything can be there."""
        if pid is None:
            return {}
        folder = self._proc / str(pid)
        children = text(folder / "task" / str(pid) / "children").split()[:MOST_CHILDREN]
        status = named(folder / "status", ("Threads",))
        limits = self._limits(folder)
        if limits and self._exempt(folder):
            limits["server_tasks_most"] = 0.0
        found = {
            "server_tasks": status.get("Threads", 1.0) + len(children),
            "server_files": self._open(folder),
            "server_niceness": self._niceness(folder),
            "server_processors": self._processors(folder),
            "server_killed_first": self._killed_first(folder),
            "server_swapped_bytes": self._swapped(folder, children) if swap else 0.0,
        }
        return {**limits, **present(found)}

    def _limits(self, folder: Path) -> dict[str, float]:
        """The soft ones; 0 for what is not limited."""
        found: dict[str, float] = {}
        for line in text(folder / "limits").splitlines():
            for title, name in LIMITS.items():
                soft = line.removeprefix(title).split()[:1] if line.startswith(title) else []
                if soft:
                    found[name] = float(soft[0]) if soft[0].isdecimal() else 0.0
        return found

    def _exempt(self, folder: Path) -> bool:
        words = [line.split() for line in text(folder / "status").splitlines() if line.startswith("CapEff:")]
        try:
            return bool(words and int(words[0][1], 16) & MAY_RAISE_LIMITS)
        except (IndexError, ValueError):
            return False

    def _open(self, folder: Path) -> float | None:
        """Of the process alone, as each of its children has a limit of its own."""
        try:
            return float(sum(1 for _ in os.scandir(folder / "fd")))
        except OSError:
            return None

    def _niceness(self, folder: Path) -> float | None:
        """How far the process stands back behind others; the utmost where its whole class does."""
        words = text(folder / "stat").rpartition(")")[2].split()
        try:
            nice, policy = int(words[16]), int(words[38])
        except (IndexError, ValueError):
            return None
        return float(LEAST_PRIORITY if policy in PATIENT_POLICIES else max(nice, 0))

    def _processors(self, folder: Path) -> float | None:
        for line in text(folder / "status").splitlines():
            if line.startswith("Cpus_allowed_list:"):
                return counted(line.partition(":")[2])
        return None

    def _killed_first(self, folder: Path) -> float | None:
        """0 to 1000: what is added to a process's share of the memory when the kernel looks for one to kill."""
        try:
            return float(max(int(text(folder / "oom_score_adj")), 0))
        except ValueError:
            return None

    def _swapped(self, folder: Path, children: list[str]) -> float | None:
        folders = [folder, *(self._proc / child for child in children)]
        found = [named(f / "status", ("VmSwap",)) for f in folders]
        return sum(one["VmSwap"] for one in found if one) * KB if any(found) else None


def counted(ranges: str) -> float | None:
    """The number of numbers that `0-3,8` names."""
    total = 0
    for part in ranges.strip().split(","):
        low, _, high = part.partition("-")
        if not low.isdecimal() or (high and not high.isdecimal()):
            return None
        total += int(high or low) - int(low) + 1
    return float(total) or None
