"""One measured window: by the clock in live modes, around a driver's run in lab mode."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from lutra_models.aims import under
from lutra_models.ending import Level
from lutra_models.errors import LutraError
from lutra_models.guardrails import WATCHED
from lutra_models.knobs import Value
from lutra_models.metrics import bounded

from lutra_agent.clock import Clock
from lutra_agent.drivers.base import Driver, Measurement
from lutra_agent.engines.common.place import Place
from lutra_agent.engines.common.telemetry import Latency, Sample, Telemetry
from lutra_agent.errors import CollectionFailed, DatabaseUnavailable, DriverFailed
from lutra_agent.log_throttle import LogThrottle
from lutra_agent.metrics.host import HostProbe, request_sizes
from lutra_agent.metrics.prometheus import Prometheus
from lutra_agent.metrics.rates import Discarded, Span, span
from lutra_agent.metrics.taken import taken
from lutra_agent.reporting.content import Content, plausible

SECONDS = "window_s"
"""The length of a window that was ended early."""

log = logging.getLogger(__name__)
LONGEST_NAME = 128
"""The length limit of a metric's name on the wire."""


class Measure:
    """Samples of the database and the host, and the window between two of them.

    This host is not read unless the server is known to run here. Without `names` no window has a text.
    """

    def __init__(
        self,
        telemetry: Telemetry,
        probe: HostProbe,
        clock: Clock,
        place: Callable[[], Place],
        prometheus: Prometheus | None = None,
        *,
        names: bool = True,
    ) -> None:
        self._telemetry = telemetry
        self._probe = probe
        self._clock = clock
        self._place = place
        self._prometheus = prometheus
        self._names = names
        self._throttle = LogThrottle(log)
        self._last_place = Place()

    def sample(self) -> Sample:
        """Raises DatabaseUnavailable."""
        sample = self._telemetry.sample(self._clock.now(), self._clock.monotonic())
        for problem in sample.problems:
            self._throttle.failed(f"collector {problem.partition(':')[0]}", problem)
        place = self._place()
        if not place.here:
            return sample
        host = self._probe.reading(place.folder, place.process)
        return replace(sample, readings={**sample.readings, "host": host})

    def window(self, before: Sample, after: Sample) -> Content | Discarded:
        """The window between two samples, with the best source of p99 that answers."""
        found = span(before, after)
        if isinstance(found, Discarded):
            return found
        for problem in found.problems:
            self._throttle.failed(f"collector {problem.partition(':')[0]}", problem)
        rates, targets = found.rates, self._telemetry.targets(found.before, found.after)
        return Content(
            window=(before.at, after.at),
            metrics=plausible(
                {**rates, **request_sizes(rates), **taken(rates), **targets.diagnostics, **targets.metrics}
            ),
            latency=self._from_prometheus(before, after) or _plausible(targets.latency),
            problems=(*after.problems, *found.problems),
            texts=self._texts(found),
        )

    def guardrail_values(self, content: Content, sample: Sample | None) -> dict[str, float]:
        """The values for guardrails: a window's targets, gauges of the last sample, and the host's free space.

        Without a sample the server did not answer.
        """
        place = self._known_place()
        process = None if sample is None else place.process
        room = self._probe.room(process, place.folder) if place.here else {}
        values = {"unreachable": float(sample is None), **room}
        if sample is not None:
            readings = sample.readings.items()
            values |= {f"{name}.{g}": v for name, reading in readings for g, v in reading.gauges.items()}
        values |= content.metrics
        values = {name: value for name, value in values.items() if name in WATCHED}
        if content.latency is not None:
            values[f"p99_ms@{content.latency.source}"] = content.latency.p99_ms
        return values

    def driven(self, driver: Driver, must_reach: Level | None = None) -> Content:
        """One run of a driver: its own figures of the targets, runtime counters of the measured part only.

        A window that was ended early, because it could not reach `must_reach`, has counters and no figures. Raises
        DriverFailed, including when the database went away under the load.
        """
        return _of_driver(self._run(driver, must_reach))

    def driven_under(self, loads: Mapping[str, Driver]) -> Content:
        """One run of each load's driver, one after the other, as one window. Raises DriverFailed."""
        return together({name: self._run(driver) for name, driver in loads.items()})

    def _run(self, driver: Driver, must_reach: Level | None = None) -> Driven:
        samples: list[Sample] = []

        def note() -> None:
            try:
                samples.append(self.sample())
            except DatabaseUnavailable as error:
                self._throttle.failed("sampling under the driver", error)

        try:
            measured = driver.run(note, note) if must_reach is None else driver.run(note, note, must_reach)
        except (DriverFailed, DatabaseUnavailable, CollectionFailed):
            raise
        except Exception as error:  # a driver is anybody's code: what it raises must not repeat its trial for ever
            raise DriverFailed(f"{driver.name}: {type(error).__name__}: {error}") from error
        both = span(*samples) if len(samples) == 2 else Discarded("no sample on both ends")
        found: dict[str, float] = {}
        texts: dict[str, str] = {}
        if isinstance(both, Discarded):
            log.warning("no runtime counters for this run: %s", both.reason)
        else:
            found = {**both.rates, **self._telemetry.targets(both.before, both.after).diagnostics}
            texts = self._texts(both)
        if measured.ended is None and not {"p99_ms", "qps", "tps"} & set(measured.metrics):
            raise DriverFailed(f"{driver.name} returned neither p99_ms nor qps nor tps")
        return Driven(measured, {**found, **request_sizes(found)}, driver.context(), texts)

    def _texts(self, found: Span) -> dict[str, str]:
        return bounded(found.texts) if self._names else {}

    def _known_place(self) -> Place:
        """Where the server is on this host; while it does not answer, where it was last."""
        with suppress(LutraError):
            self._last_place = self._place()
        return self._last_place

    def _from_prometheus(self, before: Sample, after: Sample) -> Latency | None:
        if self._prometheus is None:
            return None
        try:
            latency = self._prometheus.latency(before.at, after.at)
        except CollectionFailed as error:
            self._throttle.failed("the Prometheus query", error)
            return None
        self._throttle.worked("the Prometheus query")
        return latency


def _plausible(latency: Latency | None) -> Latency | None:
    return latency if latency and plausible({"p99_ms": latency.p99_ms}) else None


def _of_driver(driven: Driven) -> Content:
    window = driven.measured.window_start, driven.measured.window_end
    if driven.measured.ended is not None:
        counted = {**driven.counters, SECONDS: (window[1] - window[0]).total_seconds()}
        return Content(window=window, metrics=counted, context=driven.context, ended=driven.measured.ended)
    metrics = {**driven.counters, **driven.measured.metrics}
    p99 = metrics.pop("p99_ms", None)
    return Content(
        window=window,
        metrics=metrics,
        latency=None if p99 is None else Latency(p99, "driver", driven.measured.p99_of),
        context=driven.context,
        texts=driven.texts,
    )


@dataclass(frozen=True)
class Driven:
    """One load's window: its clients' readings, the server's counters meanwhile, and the circumstances of the load."""

    measured: Measurement
    counters: Mapping[str, float]
    context: Mapping[str, Value]
    texts: Mapping[str, str] = field(default_factory=dict)


def together(driven: Mapping[str, Driven]) -> Content:
    """The clients' readings under each load as `<metric>.<load>`, and the context in the same way; the counters' mean
    over all windows.

    The window lasts from the start of the first load's window to the end of the last one's. Raises DriverFailed.
    """
    metrics = {under(m, load): v for load, one in driven.items() for m, v in one.measured.metrics.items()}
    if long := [name for name in metrics if len(name) > LONGEST_NAME]:
        raise DriverFailed(f"{long[0]}: with several loads, a metric's name has at most {LONGEST_NAME} letters")
    context: dict[str, Value] = {"driver": f"loads {', '.join(driven)}"}
    for load, one in driven.items():
        context |= {under(name, load): value for name, value in one.context.items()}
        context[under("p99_of", load)] = one.measured.p99_of
    windows = [one.measured for one in driven.values()]
    return Content(
        window=(min(w.window_start for w in windows), max(w.window_end for w in windows)),
        metrics={**_mean(list(driven.values())), **metrics},
        context=context,
        texts=list(driven.values())[-1].texts,
    )


def _mean(driven: Sequence[Driven]) -> dict[str, float]:
    """Of the counters that each window has, by the windows' lengths."""
    seconds = [(d.measured.window_end - d.measured.window_start).total_seconds() for d in driven]
    common = set.intersection(*(set(d.counters) for d in driven))
    return {
        name: sum(s * d.counters[name] for s, d in zip(seconds, driven, strict=True)) / sum(seconds)
        for name in driven[0].counters
        if name in common
    }
