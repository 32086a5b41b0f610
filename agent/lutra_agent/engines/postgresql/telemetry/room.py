"""The free space of the file system of the server's log, which may differ from that of the data."""

from __future__ import annotations

import os
from pathlib import Path

from lutra_agent.engines.common.telemetry import Reading

NAME = "room"


def room(data_dir: Path) -> Reading | None:
    """Gauges in bytes. The free space is the part that an ordinary account may write.

    A log's folder that this account may not look into is assumed to be next to the data. None if neither is visible.
    """
    for folder in (data_dir / "pg_wal", data_dir):
        try:
            s = os.statvfs(folder)
        except OSError:
            continue
        free, used = s.f_bavail * s.f_frsize, (s.f_blocks - s.f_bfree) * s.f_frsize
        return Reading(gauges={"log_free_bytes": float(free), "log_bytes": float(free + used)})
    return None
