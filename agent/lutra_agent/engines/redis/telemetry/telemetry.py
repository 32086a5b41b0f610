"""Samples of a server of the family, and the metrics from two of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from lutra_models.catalog.rows import version_of

from lutra_agent.engines.common.answers import Attempts, understood
from lutra_agent.engines.common.telemetry import Latency, Reading, Sample, Targets, Visible, percentile
from lutra_agent.engines.redis.server.connect import NotPermitted
from lutra_agent.engines.redis.server.rights import grant
from lutra_agent.engines.redis.server.session import NO_CONFIG, Session, is_busy, parsed
from lutra_agent.engines.redis.telemetry import clients, probe
from lutra_agent.engines.redis.telemetry.collectors import (
    COLLECTORS,
    keys_in,
    number,
    paused,
    replication,
    since_snapshot_s,
)
from lutra_agent.engines.redis.telemetry.exposure import Exposure
from lutra_agent.engines.redis.telemetry.probe import Probe, Timed
from lutra_agent.errors import CollectionFailed

EXECUTION = "histogram.command_p99_ms"
"""The server's own p99 of a command's execution: the time of a slow command, and not the wait of a client."""
HAS_HISTOGRAM = 7
LOST = ("rejected", "evicted")
"""Connections for which the server had no room."""
FILES = re.compile(r"^Max open files\s+(\d+)", re.MULTILINE)
ALWAYS = "[always]"
DELETED = " (deleted)"
"""The kernel's addition to the name of a folder that is gone."""
US_PER_MS = 1000.0
KEY = "histogram_usec"

Histogram = Mapping[float, int]
"""Commands since the server started, by the upper end of their range in microseconds."""


def histogram_in(answer: Any) -> Histogram:
    """The histogram of all commands together. A line of a different form is ignored."""
    found: dict[float, int] = {}
    for _, about in _pairs(answer):
        buckets = dict(_pairs(about)).get(KEY, ())
        before = 0
        for end, until in _pairs(buckets):
            if isinstance(end, int) and isinstance(until, int):
                found[float(end)] = found.get(float(end), 0) + until - before
                before = until
    return found


def p99_ms(before: Histogram, after: Histogram) -> float | None:
    """The p99 of commands between two readings; None if there are none, or if the histogram was reset meanwhile."""
    ends = sorted(after)
    counts = [after[end] - before.get(end, 0) for end in ends]
    if not ends or min(counts) < 0 or any(end not in after for end in before):
        return None
    found = percentile(list(pairwise([0.0, *ends])), counts)
    return None if found is None else found / US_PER_MS


def _pairs(answer: Any) -> list[tuple[Any, Any]]:
    items: Sequence[Any] = answer if isinstance(answer, list) else ()
    return list(zip(items[::2], items[1::2], strict=False))


@dataclass(frozen=True)
class Counted:
    """The components of targets, beside the readings. `own` are the agent's commands, which the server counts too."""

    own: int
    executed: Histogram = field(default_factory=dict)
    timed: Timed = field(default_factory=dict)


class RedisTelemetry:
    def __init__(self, session: Session, own: Probe | None = None) -> None:
        self._session = session
        self._probe = own
        self._peak = 0.0
        self._exposure = Exposure(session)
        self._refused: tuple[int, frozenset[str]] = (0, frozenset())
        self._start = ""
        self._unread: Mapping[str, clients.Unread] = {}

    @property
    def peak_connections(self) -> int:
        return int(self._peak)

    @understood("the server's counters")
    def sample(self, at: datetime, monotonic_s: float) -> Sample:
        details, attempts = self._session.details(), Attempts()
        try:
            info = self._session.info(self._session.product.sections)
        except CollectionFailed as error:
            if not is_busy(error):
                raise
            return self._busy(at, monotonic_s)
        # What is asked from here on is in the next count of the server's.
        own = self._session.connection.asked + (self._probe.asked if self._probe else 0)
        self._attend(info)
        server = _epoch(info)
        self._start = server.epoch
        readings = {"server": server, **_readings(info), "state": Reading(gauges={"busy": 0.0})}
        more = {
            "clients": lambda: self._clients(info, monotonic_s),
            "exposure": lambda: self._exposure.read(monotonic_s, version_of(details.version)),
            "cluster": lambda: self._cluster(info),
            "process": lambda: of_process(details.place.process),
        }
        for name, read in more.items() if self._session.product.several_since is not None else ():
            if (reading := self._asked(attempts, name, read)) is not None:
                readings[name] = reading
        executed: Histogram = {}
        if self._has_histogram(details.version):
            executed = attempts.tried("histogram", self._executed) or {}
        if (entries := attempts.tried("slowlog", self._slow_commands)) is not None:
            readings["slowlog"] = Reading({"entries": entries})
        self._peak = max(self._peak, number(info.get("connected_clients")) or 0.0)
        timed = self._probe.timed() if self._probe else {}
        return Sample(at, monotonic_s, readings, Counted(own, executed, timed), tuple(attempts.problems))

    def _busy(self, at: datetime, monotonic_s: float) -> Sample:
        """Of a server that says nothing but that it is busy: of the run that was seen last."""
        readings = {"server": Reading(epoch=self._start), "state": Reading(gauges={"busy": 1.0})}
        return Sample(at, monotonic_s, readings, Counted(self._session.connection.asked))

    def _asked(self, attempts: Attempts, name: str, read: Callable[[], Reading | None]) -> Reading | None:
        """What the account may not ask is asked once for each connection: the server counts each refusal."""
        generation = self._session.connection.generation
        if self._refused[0] != generation:
            self._refused = (generation, frozenset())
        if name in self._refused[1]:
            return None

        def asked() -> Reading | None:
            try:
                return read()
            except NotPermitted:
                self._refused = (generation, self._refused[1] | {name})
                raise

        return attempts.tried(name, asked)

    def _clients(self, info: Mapping[str, str], monotonic_s: float) -> Reading | None:
        """None if there are too many to ask for."""
        if (number(info.get("connected_clients")) or 0.0) > clients.MOST:
            return None
        text = self._session.connection.text("CLIENT", "LIST")
        gauges = dict(clients.read(text).gauges)
        waiting = clients.unread(text, self._unread, monotonic_s)
        if waiting is not None:
            self._unread = waiting
            gauges |= clients.stuck(waiting, monotonic_s)
        answer = paused(info)
        return Reading(gauges=gauges if answer is None else {**gauges, "pause": answer})

    def _cluster(self, info: Mapping[str, str]) -> Reading | None:
        """None if the server is none of a cluster."""
        if info.get("cluster_enabled") != "1":
            return None
        answer = parsed(self._session.connection.text("CLUSTER", "INFO"))
        names = {"assigned": "slots_assigned", "failing": "slots_fail", "nodes": "known_nodes"}
        counted = {
            ours: n for ours, theirs in names.items() if (n := number(answer.get(f"cluster_{theirs}"))) is not None
        }
        return Reading(gauges={**counted, "down": float(answer.get("cluster_state") != "ok")})

    def targets(self, before: Sample, after: Sample) -> Targets:
        old, new = before.statements, after.statements
        commands = _between(before, after, "commands")
        if not isinstance(old, Counted) or not isinstance(new, Counted) or "processed" not in commands:
            return Targets()
        asked = max(commands["processed"] - (new.own - old.own), 0.0)
        metrics = {"qps": asked / (after.monotonic_s - before.monotonic_s)}
        failed = _failed(before, after)
        if failed is not None and (asked or failed):
            metrics["error_share"] = failed / max(asked, failed)
        waited, ran = probe.p99_ms(old.timed, new.timed), p99_ms(old.executed, new.executed)
        latency = None if waited is None else Latency(waited, "probe", "command")
        return Targets(metrics, latency, {} if ran is None else {EXECUTION: ran})

    @understood("the rights of the account")
    def visible(self) -> tuple[Visible, ...]:
        version, remedy = self._session.details().version, grant(self._session)
        seen = [
            self._config(remedy),
            self._line(remedy, "INFO", "INFO", "server"),
            self._line(remedy, "SLOWLOG", "SLOWLOG", "GET", "1"),
        ]
        if self._session.product.several_since is not None:
            seen.append(self._line(remedy, "CLIENT LIST", "CLIENT", "LIST", "TYPE", "replica"))
        if self._has_histogram(version):
            seen.append(self._line(remedy, "LATENCY HISTOGRAM", "LATENCY", "HISTOGRAM"))
        per_s = self._session.database.probe_per_s
        if per_s and self._session.role() == "primary":
            what = f"{per_s} of the agent's own commands per second, timed as a client sees them"
            return (*seen, Visible("probe", True, what, p99=f"the agent's probe ({what})"))
        why = "off on a replica" if per_s else "database.probe_per_s is not set: without a driver there is no p99"
        return (*seen, Visible("probe", False, why))

    def _config(self, remedy: str) -> Visible:
        if self._session.lacks_config:
            return Visible("CONFIG", False, "no settings", NO_CONFIG)
        return self._line(remedy, "CONFIG", "CONFIG", "GET", "maxmemory")

    def _line(self, remedy: str, name: str, *words: str) -> Visible:
        try:
            self._session.connection.ask(*words)
        except CollectionFailed as error:
            return Visible(name, False, str(error), remedy)
        return Visible(name, True)

    def _executed(self) -> Histogram:
        return histogram_in(self._session.connection.ask("LATENCY", "HISTOGRAM"))

    def _slow_commands(self) -> float | None:
        """Since the server started; None before the first."""
        found = self._session.connection.ask("SLOWLOG", "GET", "1")
        return float(found[0][0]) + 1 if found else None

    def _has_histogram(self, version: str) -> bool:
        return self._session.product.several_since is not None and version_of(version)[0] >= HAS_HISTOGRAM

    def _attend(self, info: Mapping[str, str]) -> None:
        """The probe writes, so it runs on a primary alone."""
        if self._probe is not None:
            act: Callable[[], None] = self._probe.start if info.get("role") == "master" else self._probe.stop
            act()


def _epoch(info: Mapping[str, str]) -> Reading:
    uptime = number(info.get("uptime_in_seconds")) or 0.0
    return Reading({"uptime_s": uptime}, {"up_s": uptime}, epoch=info.get("run_id") or info.get("process_id", ""))


def _readings(info: Mapping[str, str]) -> dict[str, Reading]:
    found = {c.name: r for c in COLLECTORS if (r := c.read(info)) is not None}
    age = since_snapshot_s(info)
    more = {
        "keys": keys_in(info),
        "replication": replication(info),
        "persistence": {} if age is None else {"snapshot_age_s": age},
    }
    for name, gauges in more.items():
        if gauges and name in found:
            found[name] = replace(found[name], gauges={**found[name].gauges, **gauges})
    return found


def _failed(before: Sample, after: Sample) -> float | None:
    """Commands that the server refused, and clients that it turned away or cut off; None if it counts none."""
    refused, connections = (_between(before, after, name) for name in ("refusals", "connections"))
    counted = [*refused.values(), *(connections[name] for name in LOST if name in connections)]
    return sum(counted) if refused else None


def _between(before: Sample, after: Sample, collector: str) -> dict[str, float]:
    """By how much a collector's counters grew; one that an end lacks did not."""
    old, new = (s.readings.get(collector, Reading()).counters for s in (before, after))
    return {name: max(value - old[name], 0.0) for name, value in new.items() if name in old}


def of_process(pid: int | None, root: Path = Path("/")) -> Reading | None:
    """None if the server's process is not on this host. Figures that this account may not read are absent."""
    if pid is None:
        return None
    files = FILES.search(_text(root / f"proc/{pid}/limits"))
    huge = _text(root / "sys/kernel/mm/transparent_hugepage/enabled")
    fields = {
        "files": files[1] if files else "",
        "overcommit": _text(root / "proc/sys/vm/overcommit_memory").strip(),
        "huge_pages": str(int(ALWAYS in huge)) if huge else "",
        "folder_gone": _is_gone(root / f"proc/{pid}/cwd"),
    }
    gauges = {name: float(text) for name, text in fields.items() if text.isdecimal()}
    return Reading(gauges=gauges) if gauges else None


def _is_gone(folder: Path) -> str:
    """Whether the folder in which the process works was deleted: 1 or 0, and nothing where we may not look."""
    try:
        return str(int(str(folder.readlink()).endswith(DELETED)))
    except OSError:
        return ""


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
