"""Connections and the threads that serve them."""

from __future__ import annotations

from lutra_agent.engines.mysql.telemetry.collectors.base import FromStatus

THREADS = FromStatus(
    "threads",
    {
        "connections": "Connections",
        "created": "Threads_created",
        "aborted_clients": "Aborted_clients",
        "aborted_connects": "Aborted_connects",
        "aborted_before_login": "Aborted_connects_preauth",
        "access_denied": "Access_denied_errors",
        "refused": "Connection_errors_max_connections",
        "refused_internal": "Connection_errors_internal",
        "refused_accept": "Connection_errors_accept",
        "refused_select": "Connection_errors_select",
        "slow_launch": "Slow_launch_threads",
        "bytes_received": "Bytes_received",
        "bytes_sent": "Bytes_sent",
    },
    {
        "connected": "Threads_connected",
        "running": "Threads_running",
        "cached": "Threads_cached",
        "most_used": "Max_used_connections",
        "pool_threads": "Threadpool_threads",
        "pool_idle": "Threadpool_idle_threads",
    },
)
