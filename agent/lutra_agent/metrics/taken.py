"""The server's share of the host's processors and disk, and the share that others took from it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from lutra_models.metrics import MOST_TAKEN, TAKEN

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
SECONDS, RAN, WAITED, BYTES = "cpu_server_s", "cpu_server_ran_s", "cpu_server_waited_s", "disk_server_bytes"
BACKGROUND = 0.15
"""The share that the kernel, the agent and the clients on a host may use in addition to the server without counting."""
NS = 1e9


class ServerProcesses:
    """The counters of a server: its process and those that it started."""

    def __init__(self, root: Path) -> None:
        self._proc = root / "proc"
        self._pid: int | None = None
        self._summed: dict[str, float] = {}
        self._tasks: dict[str, tuple[int, ...]] = {}

    def counters(self, pid: int | None) -> dict[str, float]:
        """Seconds of processor time, and bytes to and from disks if this account may read them; and the time for
        which its tasks ran and waited for a processor, if the kernel reports it.

        A process that ends between two looks is missed until the next: a counter that decreased keeps its value.
        """
        if pid != self._pid:
            self._pid, self._summed, self._tasks = pid, {}, {}
        if pid is None:
            return {}
        folders = [self._proc / str(pid)]
        folders += [self._proc / child for child in _text(folders[0] / "task" / str(pid) / "children").split()]
        each = [_of_process(folder) for folder in folders]
        found = {name: sum(one.get(name, 0.0) for one in each) for name in each[0]}
        most = {name: max(value, self._summed.get(name, 0.0)) for name, value in found.items()}
        self._summed = {**most, **self._scheduled(folders)}
        return self._summed

    def _scheduled(self, folders: list[Path]) -> dict[str, float]:
        """The kernel forgets what a task had when it ends: what each has had since the last look is added up."""
        texts = {str(file): _text(file).split() for folder in folders for file in folder.glob("task/*/schedstat")}
        tasks = {name: tuple(map(int, words[:2])) for name, words in texts.items() if len(words) == 3}
        if not tasks:
            return {}
        found = {}
        for place, counter in enumerate((RAN, WAITED)):
            more = sum(now[place] - self._tasks.get(name, (0, 0))[place] for name, now in tasks.items())
            found[counter] = self._summed.get(counter, 0.0) + max(more, 0) / NS
        self._tasks = tasks
        return found


def _of_process(folder: Path) -> dict[str, float]:
    """What a child had when it ended is its parent's."""
    found = {}
    # Behind the name, which may hold spaces: user and system time, and that of children that ended.
    times = _text(folder / "stat").rpartition(")")[2].split()[11:15]
    if len(times) == 4:
        found[SECONDS] = sum(map(int, times)) / TICKS_PER_S
    lines = dict(line.partition(": ")[::2] for line in _text(folder / "io").splitlines())
    if "read_bytes" in lines and "write_bytes" in lines:
        found[BYTES] = float(lines["read_bytes"]) + float(lines["write_bytes"])
    return found


def taken(rates: Mapping[str, float]) -> dict[str, float]:
    """The share by which others slowed the server in a window, from its rates; absent if they do not show it.

    Waiting counts as far as others had the processor or the disk meanwhile: a server that waits for itself has no
    neighbour.
    """
    crowd = _crowd(rates)
    if crowd is None:
        return {}
    stolen = rates.get("host.cpu_steal_s_per_s", 0.0)
    left = (1 - _share(stolen, stolen + _used(rates))) * (1 - _disk(rates)) / (1 + crowd)
    return {TAKEN: 1 - left}


def _crowd(rates: Mapping[str, float]) -> float | None:
    """How long the server waited for a processor because of others, in multiples of how long it ran.

    Where the kernel does not tell: by how much of the time somebody waited, and by how many tasks for each processor.
    """
    own, processors, load = (rates.get(f"host.{n}") for n in (f"{SECONDS}_per_s", "processors", "load1"))
    if own is None or not processors or load is None:
        return None
    others = _beyond(_share(_used(rates) - own, _used(rates)))
    ran, waited = (rates.get(f"host.{n}_per_s", 0.0) for n in (RAN, WAITED))
    if ran > 0:
        return others * waited / ran
    queue = max(load - processors, 0.0) / processors
    pressed = rates.get("host.cpu_waiting_s_per_s")
    if pressed is None:
        return others * queue
    pressed = min(pressed, 1.0)
    return others * pressed * max(queue, 1.0)


def _disk(rates: Mapping[str, float]) -> float:
    """The share of the time in which somebody waited for a disk, as far as others used it; 0 if that is unknown."""
    waited, own = rates.get("host.io_waiting_s_per_s"), rates.get(f"host.{BYTES}_per_s")
    moved = sum(rates.get(f"host.disk_{kind}_bytes_per_s", 0.0) for kind in ("read", "write"))
    if waited is None or own is None or moved <= 0:
        return 0.0
    return MOST_TAKEN * min(waited, 1.0) * _beyond(_share(moved - own, moved))


def _used(rates: Mapping[str, float]) -> float:
    return sum(rates.get(f"host.cpu_{kind}_s_per_s", 0.0) for kind in ("user", "system"))


def _share(part: float, whole: float) -> float:
    return min(max(part / whole, 0.0), 1.0) if whole > 0 else 0.0


def _beyond(share: float) -> float:
    return max(share - BACKGROUND, 0.0) / (1 - BACKGROUND)


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # also a process that has ended, and one that is another account's
        return ""
