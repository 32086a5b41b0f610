"""A Galera cluster: whether this node is part of it and serves, and how long it paused for slower nodes."""

from __future__ import annotations

from dataclasses import dataclass

from lutra_agent.engines.common.answers import number_in
from lutra_agent.engines.common.telemetry import Reading
from lutra_agent.engines.mysql.server.connect import Connection
from lutra_agent.engines.mysql.telemetry.collectors.base import Status

COUNTERS = {"paused_ns": "wsrep_flow_control_paused_ns", "conflicts": "wsrep_local_cert_failures"}


@dataclass(frozen=True)
class Cluster:
    name: str = "cluster"
    view: str = "status of the cluster"

    def read(self, connection: Connection, status: Status) -> Reading | None:
        if not status.get("wsrep_provider_name"):
            return None  # no cluster, whatever wsrep_on says
        counters = {ours: n for ours, theirs in COUNTERS.items() if (n := number_in(status.get(theirs))) is not None}
        gauges = {
            "ready": float(status["wsrep_ready"] == "ON"),
            "primary": float(status.get("wsrep_cluster_status", "").lower() == "primary"),
        }
        size = number_in(status.get("wsrep_cluster_size"))
        return Reading(counters, gauges if size is None else {**gauges, "size": size})


CLUSTER = Cluster()
