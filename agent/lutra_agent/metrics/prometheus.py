"""A window's p99 from the application's own histogram, by a configured Prometheus query."""

from __future__ import annotations

import math
from datetime import datetime
from urllib.parse import urlencode

from lutra_agent.config.types import PrometheusConfig
from lutra_agent.engines.common.telemetry import Latency
from lutra_agent.errors import CollectionFailed
from lutra_agent.http.client import Bound, BoundedHttp, Http, HttpFailed

BOUND = Bound(seconds=5.0)
MS_PER_UNIT = {"s": 1000.0, "ms": 1.0}


class Prometheus:
    def __init__(self, config: PrometheusConfig, http: Http | None = None) -> None:
        self._config = config
        self._http = http or BoundedHttp(config.url)

    def latency(self, start: datetime, end: datetime) -> Latency | None:
        """The query's value at the window's end; None if the series has none (NaN: nothing ran).

        Raises CollectionFailed if Prometheus cannot be asked or does not answer with one number.
        """
        window = f"{max(round((end - start).total_seconds()), 1)}s"
        query = {"query": self._config.query.replace("$window", window), "time": f"{end.timestamp():.3f}"}
        try:
            answer = self._http.exchange("GET", f"/api/v1/query?{urlencode(query)}", BOUND)
            if answer.status != 200:
                raise CollectionFailed(f"Prometheus answers {answer.status} {answer.reason[:100]}")
            value = _single(answer.document()["data"])
        except (HttpFailed, ValueError, KeyError, TypeError, IndexError) as error:
            raise CollectionFailed(f"{type(error).__name__} {error}"[:300]) from error
        if value is None or not math.isfinite(value) or value < 0:
            return None
        return Latency(value * MS_PER_UNIT[self._config.unit], "prometheus", self._config.of)


def _single(data: dict[str, object]) -> float | None:
    result = data["result"]
    if not isinstance(result, list):
        raise TypeError(f"expected a list of results, got {result!r}")
    if data["resultType"] == "scalar":
        return float(result[1])
    if not result:
        return None
    if len(result) > 1:
        raise ValueError(f"the query returns {len(result)} series; reduce them to one, for example with sum()")
    return float(result[0]["value"][1])
