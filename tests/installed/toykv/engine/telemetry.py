from __future__ import annotations

from datetime import datetime

from lutra_agent.engines.common.telemetry import Latency, Reading, Sample, Targets, Visible, percentile

from toykv.engine.client import Client

COUNTERS = ("commands", "hits", "misses", "puts", "errors")
GAUGES = ("clients", "keys")
US_PER_MS = 1000.0

Histogram = dict[int, int]
"""Commands by the upper end of their range, in microseconds; each range begins at half of that."""


class ToykvTelemetry:
    def __init__(self, client: Client) -> None:
        self._client = client
        self.peak_connections = 0

    def sample(self, at: datetime, monotonic_s: float) -> Sample:
        facts = self._client.pairs("STATS")
        self.peak_connections = max(self.peak_connections, int(facts["most_clients"]))
        counters, gauges = ({n: float(facts[n]) for n in names} for names in (COUNTERS, GAUGES))
        histogram = {int(us): int(count) for us, count in self._client.pairs("LATENCY").items()}
        return Sample(at, monotonic_s, {"server": Reading(counters, gauges, facts["started"])}, histogram)

    def targets(self, before: Sample, after: Sample) -> Targets:
        seconds = after.monotonic_s - before.monotonic_s
        old, new = before.readings["server"].counters, after.readings["server"].counters
        commands, errors = (new[n] - old[n] for n in ("commands", "errors"))
        metrics = {"qps": commands / seconds} | ({"error_share": errors / commands} if commands else {})
        p99_us = _p99_us(before.statements, after.statements)
        latency = None if p99_us is None else Latency(p99_us / US_PER_MS, "histogram", "command")
        return Targets(metrics, latency)

    def visible(self) -> tuple[Visible, ...]:
        self._client.ask("STATS")
        return (Visible("STATS", True), Visible("LATENCY", True, p99="the server's histogram of commands"))


def _p99_us(before: Histogram, after: Histogram) -> float | None:
    ends = sorted(after)
    return percentile([(us / 2, us) for us in ends], [after[us] - before.get(us, 0) for us in ends])
