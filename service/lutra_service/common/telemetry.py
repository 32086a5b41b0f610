"""Prometheus metrics of the service itself."""

from __future__ import annotations

from prometheus_client import CONTENT_TYPE_LATEST, Counter, Gauge, Histogram, generate_latest

REQUESTS = Counter("lutra_requests_total", "Requests answered", ("method", "route", "status"))
REQUEST_SECONDS = Histogram("lutra_request_seconds", "Time to answer, waiting included", ("method", "route"))
REPORTS = Counter("lutra_reports_total", "Agents' reports", ("result",))
WAITERS = Gauge("lutra_waiters", "Requests that wait for news", ("kind",))
JOBS = Counter("lutra_jobs_total", "Computations ended, and attempts at one that were lost", ("result",))
JOB_SECONDS = Histogram("lutra_job_seconds", "Time of a computation", ("task",), buckets=(0.1, 0.3, 1, 3, 10, 30, 100))


def exposition() -> tuple[bytes, str]:
    return generate_latest(), CONTENT_TYPE_LATEST
