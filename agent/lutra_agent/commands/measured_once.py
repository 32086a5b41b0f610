"""One short window, so that `lutra-agent check` says of nothing that it is measured which is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from lutra_agent.clock import Clock
from lutra_agent.config.types import PrometheusConfig
from lutra_agent.engines.common.telemetry import Telemetry
from lutra_agent.errors import CollectionFailed
from lutra_agent.metrics.prometheus import Prometheus
from lutra_agent.metrics.rates import Discarded, span

SECONDS = 1.0
MINUTE = timedelta(minutes=1)
TARGETS = ("qps", "tps")


@dataclass(frozen=True)
class MeasuredOnce:
    """`targets` are in their metric's unit; `problems` name what could not be read."""

    targets: Mapping[str, float] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        if not self.targets:
            return "neither qps nor tps"
        return ", ".join(f"{name} {value:.0f}" for name, value in self.targets.items())


def measure_once(telemetry: Telemetry, clock: Clock, prometheus: PrometheusConfig | None) -> MeasuredOnce:
    """Raises DatabaseUnavailable."""
    clock.sleep(SECONDS)  # what the agent asked until now has reached the server's counters by then
    before = telemetry.sample(clock.now(), clock.monotonic())
    clock.sleep(SECONDS)
    after = telemetry.sample(clock.now(), clock.monotonic())
    problems = [f"this cannot be read: {problem}" for problem in after.problems]
    if prometheus is not None:
        try:
            Prometheus(prometheus).latency(clock.now() - MINUTE, clock.now())
        except CollectionFailed as error:
            problems.append(f"prometheus.query returns no p99: {error}")
    both = span(before, after)
    if isinstance(both, Discarded):
        return MeasuredOnce({}, (*problems, f"no figures: {both.reason}"))
    problems += both.problems
    found = telemetry.targets(both.before, both.after).metrics
    return MeasuredOnce({name: found[name] for name in TARGETS if name in found}, tuple(problems))
