"""Prometheus metrics of the service itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

REQUESTS = Counter("lutra_requests_total", "Requests answered", ("method", "route", "status"))
REQUEST_SECONDS = Histogram("lutra_request_seconds", "Time to answer, waiting included", ("method", "route"))
REPORTS = Counter("lutra_reports_total", "Agents' reports", ("result",))
WAITERS = Gauge("lutra_waiters", "Requests that wait for news", ("kind",))
JOBS = Counter("lutra_jobs_total", "Computations ended, and attempts at one that were lost", ("result",))
DELIVERIES = Counter("lutra_deliveries_total", "Attempts to tell a receiver something", ("result",))
JOB_SECONDS = Histogram("lutra_job_seconds", "Time of a computation", ("task",), buckets=(0.1, 0.3, 1, 3, 10, 30, 100))


def exposition(*more: Metric) -> tuple[bytes, str]:
    """The metrics of this process, and `more`."""
    return generate_latest() + generate_latest(_Given(more)), CONTENT_TYPE_LATEST


def gauge(name: str, meaning: str, labels: Sequence[str], values: Iterable[tuple[Sequence[str], float]]) -> Metric:
    family = GaugeMetricFamily(name, meaning, labels=labels)
    for texts, value in values:
        family.add_metric(texts, value)
    return family


def counter(name: str, meaning: str, labels: Sequence[str], values: Iterable[tuple[Sequence[str], float]]) -> Metric:
    family = CounterMetricFamily(name, meaning, labels=labels)
    for texts, value in values:
        family.add_metric(texts, value)
    return family


class _Given(CollectorRegistry):
    """Metrics that are read where they are asked for."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        super().__init__()
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return self._metrics
