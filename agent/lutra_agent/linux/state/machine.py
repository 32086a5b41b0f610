"""Clock, processors and the kernel's tables of processes, files and requests."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from lutra_agent.linux.state.files import number, present, text

SLOW_CLOCKS = {
    "hpet": 1,
    "acpi_pm": 2,
    "xen": 3,
    "jiffies": 4,
    "refined-jiffies": 5,
    "pit": 6,
    "hyperv_clocksource_msr": 7,
}
"""Clock sources for which each reading of the time has to leave the processor, or the program."""
DYNAMIC_DRIVERS = ("intel_pstate", "amd-pstate-epp", "amd_pstate_epp")
"""Under these the governor `powersave` follows the load, and a preference decides how fast."""
UNSYNCHRONISED = 0x40
LONGEST_TIMEX = 512
MOST_PROCESSORS = 1024


def gauges(root: Path) -> dict[str, float]:
    running, tasks = _tasks(root)
    return present(
        {
            "clock_slow": _clock(root),
            "clock_unsynchronised": _unsynchronised(root),
            "processors_slowed": _slowed(root),
            "tasks": tasks,
            "tasks_running": running,
            "tasks_most": _least(root, "kernel/pid_max", "kernel/threads-max"),
            "files_open": _first(root / "proc/sys/fs/file-nr"),
            "files_most": number(root / "proc/sys/fs/file-max"),
            "requests_in_flight": number(root / "proc/sys/fs/aio-nr"),
            "requests_most": number(root / "proc/sys/fs/aio-max-nr"),
        }
    )


def _clock(root: Path) -> float | None:
    source = text(root / "sys/devices/system/clocksource/clocksource0/current_clocksource")
    return float(SLOW_CLOCKS.get(source, 0)) if source else None


def _unsynchronised(root: Path) -> float | None:
    """1 if nobody keeps the kernel's clock: its own word, which any account may ask for. Of this machine alone."""
    if root != Path("/"):
        return None
    ask = _adjtimex()
    if ask is None:
        return None
    timex = ctypes.create_string_buffer(LONGEST_TIMEX)
    if ask(timex) < 0:
        return None
    status = ctypes.c_int.from_buffer(timex, 5 * ctypes.sizeof(ctypes.c_long)).value
    return float(bool(status & UNSYNCHRONISED))


@lru_cache(maxsize=1)
def _adjtimex() -> Callable[..., int] | None:
    try:
        found: Callable[..., int] = ctypes.CDLL(None).adjtimex
    except (OSError, AttributeError):
        return None
    return found


def _slowed(root: Path) -> float | None:
    """The share of processors that are told to save power: held at their least speed, or slow to leave it.
    Where nothing governs their speed, none is.
    """
    folder = root / "sys/devices/system/cpu"
    try:
        policies = sorted((folder / "cpufreq").glob("policy*"))[:MOST_PROCESSORS]
    except OSError:
        return None
    if not policies:
        return 0.0
    return sum(map(_saves, policies)) / len(policies)


def _saves(policy: Path) -> bool:
    if text(policy / "scaling_driver") in DYNAMIC_DRIVERS:
        return text(policy / "energy_performance_preference") == "power"
    return text(policy / "scaling_governor") == "powersave"


def _tasks(root: Path) -> tuple[float | None, float | None]:
    """Those that run or could, and all of them: the fourth word of /proc/loadavg."""
    words = text(root / "proc/loadavg").split()
    running, slash, all_ = words[3].partition("/") if len(words) > 3 else ("", "", "")
    return (float(running), float(all_)) if slash and running.isdecimal() and all_.isdecimal() else (None, None)


def _least(root: Path, *names: str) -> float | None:
    found = [value for name in names if (value := number(root / "proc/sys" / name)) is not None]
    return min(found, default=None)


def _first(path: Path) -> float | None:
    words = text(path).split()
    return float(words[0]) if words and words[0].isdecimal() else None
