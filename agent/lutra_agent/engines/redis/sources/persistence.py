"""Whether a restart keeps the server's data.

A server writes a snapshot at a shutdown if it has save points. It starts from the source that its file names: the
append-only file alone if that is on, however old, otherwise the snapshot. The live server and its file therefore count
together (https://redis.io/docs/latest/operate/oss_and_stack/management/persistence/).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

PLACES = frozenset({"dir", "dbfilename", "appenddirname", "appendfilename"})
"""The settings that name the location of the data."""
START_FROM = PLACES | {"appendonly"}
"""The settings that decide from which data a server starts."""


def why_lost(live: Mapping[str, str], file: Mapping[str, str], state: Mapping[str, str]) -> str:
    """The reason why a restart would lose data; empty if it would not.

    `live` are the active values, `file` are the values in the server's file, `state` is the section "persistence" of
    INFO.
    """
    if (
        "appendonly" not in live or "db-path" in live
    ):  # pika writes all to its disk, and says "appendonly no" from 3.5 on
        return ""
    if moved := sorted(n for n in PLACES & file.keys() & live.keys() if _elsewhere(n, file[n], live[n])):
        return f"the server's file names different data than the running server: {', '.join(moved)}"
    if "include" in file:  # which may switch the append-only file on or off
        return _no_log(live, state) or _no_snapshot(live, state)
    if file.get("appendonly", "no").lower() == "yes":
        return _no_log(live, state)
    return _no_snapshot(live, state)


def _elsewhere(name: str, text: str, value: str) -> bool:
    if name == "dir":
        return Path(text).is_absolute() and Path(text).resolve() != Path(value).resolve()
    return text != value


def _no_log(live: Mapping[str, str], state: Mapping[str, str]) -> str:
    if live["appendonly"] != "yes":
        return "it would start from its append-only file, but appendonly is off in the running server"
    if state.get("aof_last_write_status", "ok") != "ok":
        return "its append-only file cannot be written (aof_last_write_status)"
    return ""


def _no_snapshot(live: Mapping[str, str], state: Mapping[str, str]) -> str:
    if not live.get("save"):
        return "it would start from a snapshot, but writes none at shutdown: save is empty"
    if state.get("rdb_last_bgsave_status", "ok") != "ok":
        return "its snapshot cannot be written (rdb_last_bgsave_status)"
    return ""
