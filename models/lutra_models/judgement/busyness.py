"""Whether a host was busy with something else in a window, by what the agent ships of it.

Steal and throttling take processor time away: they are compared with all windows. Time that waits for a disk, and what
is queued for a processor (the load average beyond what runs and waits), may be the database's own: they are compared
with windows under the same settings at like load.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median

from lutra_models.judgement.loaded import LIKE, LoadedWindow, at_like_load

OTHERS = ("host.cpu_steal_s_per_s", "host.cpu_throttled_s_per_s")
OWN = ("host.cpu_user_s_per_s", "host.cpu_system_s_per_s")
WAITING = "host.cpu_iowait_s_per_s"
LOAD = "host.load1"
USUAL = 0.15
"""A share of time waited or queued that lies so far above the others' median is still usual."""
ENOUGH = 3
"""Windows at like load, beside itself, that one is compared with."""
MARKED = 0.1
"""The share from which on a window is marked as disturbed."""


def busy_elsewhere(windows: Sequence[LoadedWindow]) -> list[float]:
    """For each window the share of its processor time that something else took, beyond the usual; 0 where none did.

    A window without what the host shows counts as quiet.
    """
    return [busy_among(window, windows) for window in windows]


def busy_among(window: LoadedWindow, others: Sequence[LoadedWindow]) -> float:
    """The same of one window, where the others, itself among them, say what is usual."""
    taken = _above(window, lost_share, others)
    if not any(name in window.metrics for name in (WAITING, LOAD)):
        return max(taken, 0.0)
    peers = at_like_load([w for w in others if w.group == window.group], [window], LIKE)
    return max(taken, *(_above(window, of, peers) - USUAL for of in (_waiting, _queued)), 0.0)


def lost_share(metrics: Mapping[str, float]) -> float | None:
    """The share of the processor time wanted that others or a quota took; None where the window does not say."""
    if not any(name in metrics for name in OTHERS):
        return None
    lost = sum(metrics.get(name, 0.0) for name in OTHERS)
    return _share(lost, metrics)


def _waiting(metrics: Mapping[str, float]) -> float | None:
    return _share(metrics[WAITING], metrics) if WAITING in metrics else None


def _queued(metrics: Mapping[str, float]) -> float | None:
    """Where the load average is shipped: what neither runs nor waits for a disk."""
    if LOAD not in metrics:
        return None
    running = sum(metrics.get(name, 0.0) for name in (*OWN, WAITING))
    return _share(max(metrics[LOAD] - running, 0.0), metrics)


def _share(lost: float, metrics: Mapping[str, float]) -> float:
    used = sum(metrics.get(name, 0.0) for name in OWN)
    return lost / (lost + used) if lost > 0 else 0.0


def _above(
    window: LoadedWindow, of: Callable[[Mapping[str, float]], float | None], peers: Sequence[LoadedWindow]
) -> float:
    """By how much the window's share lies above its peers' median; 0 where it or too few of them say."""
    share = of(window.metrics)
    others = [s for w in peers if (s := of(w.metrics)) is not None]
    return share - median(others) if share is not None and len(others) > ENOUGH else 0.0
