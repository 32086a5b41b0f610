"""The test whether a host was busy with something else in a window, from the agent's metrics.

The share of the processors and the disk that others used, as the agent reports it from the server, counts directly: a
host that is always crowded is always busy. Steal and throttling are compared with all windows. Two figures may come
from the database itself: time that waits for a disk, and the queue for a processor whose owners are unknown. They are
compared with windows under the same settings at comparable load, and a queue with the short ones among them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import median

from lutra_models.judgement.loaded import LIKE, LoadedWindow, at_like_load
from lutra_models.metrics import MOST_TAKEN, TAKEN

OTHERS = ("host.cpu_steal_s_per_s", "host.cpu_throttled_s_per_s")
OWN = ("host.cpu_user_s_per_s", "host.cpu_system_s_per_s")
WAITING = "host.cpu_iowait_s_per_s"
LOAD = "host.load1"
HOST = (TAKEN, *OTHERS, *OWN, WAITING, LOAD)
"""The metrics by which a host was busy with something else."""
USUAL = 0.15
"""A share of time waited or queued that lies so far above the others' median is still usual."""
NEWEST = 3
"""The number of windows that define the current load and pressure."""
ENOUGH = 3
"""The number of other windows at comparable load with which one is compared."""
SHORT = 0.25
"""The share of the peers with shorter queues than the one that is attributed to the load itself."""
MARKED = 0.1
"""The share from which a window is marked as disturbed."""


def busy_elsewhere(windows: Sequence[LoadedWindow]) -> list[float]:
    """For each window the share by which something else slowed the server; 0 if nothing did.

    A window without the host's metrics counts as quiet.
    """
    return [busy_among(window, windows) for window in windows]


def busy_among(window: LoadedWindow, others: Sequence[LoadedWindow]) -> float:
    """The same for one window, compared with the others (itself included)."""
    return max(taken_share(window.metrics), beyond_usual(window, others))


def taken_share(metrics: Mapping[str, float]) -> float:
    """The share that others used, as the agent reports it; 0 if it does not."""
    return min(max(metrics.get(TAKEN, 0.0), 0.0), MOST_TAKEN)


def slowdown(metrics: Mapping[str, float]) -> float:
    """The logarithm of the factor by which others slowed the server."""
    return -math.log(1.0 - taken_share(metrics))


def as_now(windows: Sequence[LoadedWindow]) -> list[LoadedWindow]:
    """The windows, oldest first, under the load and the pressure of the newest ones; none without clients' requests."""
    newest = windows[-NEWEST:]
    if not newest or newest[-1].idle:
        return []
    now = median(slowdown(w.metrics) for w in newest)
    alike = at_like_load([w for w in windows if not w.idle], newest, LIKE)
    return [w for w in alike if abs(slowdown(w.metrics) - now) <= math.log(LIKE)]


def beyond_usual(window: LoadedWindow, others: Sequence[LoadedWindow]) -> float:
    """The share of the window's processor time that something took beyond what is usual; 0 if nothing did."""
    taken = _above(window, lost_share, others)
    if not any(name in window.metrics for name in (WAITING, LOAD)):
        return max(taken, 0.0)
    peers = at_like_load([w for w in others if w.group == window.group], [window], LIKE)
    waited = _above(window, _waiting, peers) - USUAL
    return max(taken, waited, 0.0 if TAKEN in window.metrics else _queued(window, peers), 0.0)


def lost_share(metrics: Mapping[str, float]) -> float | None:
    """The share of the requested processor time that others or a quota took; None if unknown."""
    if not any(name in metrics for name in OTHERS):
        return None
    lost = sum(metrics.get(name, 0.0) for name in OTHERS)
    return _share(lost, metrics)


def _waiting(metrics: Mapping[str, float]) -> float | None:
    return _share(metrics[WAITING], metrics) if WAITING in metrics else None


def _queued(window: LoadedWindow, peers: Sequence[LoadedWindow]) -> float:
    """The share of what runs, waits and is queued that is beyond the peers' short queues, which are the load's own."""
    loads = sorted(_queue(w.metrics) for w in peers if LOAD in w.metrics)
    if LOAD not in window.metrics or len(loads) <= ENOUGH:
        return 0.0
    beyond = _queue(window.metrics) - loads[int(len(loads) * SHORT)]
    return beyond / max(window.metrics[LOAD], beyond) - USUAL if beyond > 0 else 0.0


def _queue(metrics: Mapping[str, float]) -> float:
    """What neither runs nor waits for a disk."""
    return max(metrics[LOAD] - sum(metrics.get(name, 0.0) for name in (*OWN, WAITING)), 0.0)


def _share(lost: float, metrics: Mapping[str, float]) -> float:
    used = sum(metrics.get(name, 0.0) for name in OWN)
    return lost / (lost + used) if lost > 0 else 0.0


def _above(
    window: LoadedWindow, of: Callable[[Mapping[str, float]], float | None], peers: Sequence[LoadedWindow]
) -> float:
    """By how much the window's share lies above its peers' median; 0 if it or too few of them say."""
    share = of(window.metrics)
    if share is None:
        return 0.0
    others = [s for w in peers if (s := of(w.metrics)) is not None]
    return share - median(others) if len(others) > ENOUGH else 0.0
