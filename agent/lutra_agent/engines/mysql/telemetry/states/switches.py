"""Settings that are words or lists, and states that a statement switches: each as 1 or 0."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lutra_agent.engines.common.answers import text
from lutra_agent.engines.common.telemetry import Reading
from lutra_agent.engines.mysql.server.connect import Connection
from lutra_agent.engines.mysql.telemetry.collectors.base import MARIADB, Status

STRICT = ("STRICT_TRANS_TABLES", "STRICT_ALL_TABLES")
LOOPBACK = ("127.0.0.1", "::1", "localhost")


def _words(value: str) -> list[str]:
    return [word for word in re.split(r"[\s,]+", value) if word]


def _not_strict(value: str) -> bool:
    return not any(mode in _words(value.upper()) for mode in STRICT)


def _skips(value: str) -> bool:
    return value.upper() not in ("", "OFF", "0")


def _beyond(value: str) -> bool:
    return any(word.lower() not in LOOPBACK for word in _words(value) or ["*"])


def _old(value: str) -> bool:
    return any(word.upper() in ("TLSV1", "TLSV1.0", "TLSV1.1") for word in _words(value))


SWITCHES: Mapping[str, tuple[str, Callable[[str], bool]]] = {
    "not_strict": ("sql_mode", _not_strict),
    "files_anywhere": ("secure_file_priv", lambda value: not value),
    "listens_beyond": ("bind_address", _beyond),
    "skips_errors": ("slave_skip_errors", _skips),
    "replica_skips_errors": ("replica_skip_errors", _skips),
    "old_tls": ("tls_version", _old),
    "aurora": ("aurora_version", lambda _: True),
}
NAMES = ", ".join(f"'{theirs}'" for theirs, _ in SWITCHES.values())
VIEWS = {True: "information_schema.GLOBAL_VARIABLES", False: "performance_schema.global_variables"}
QUERIES = {
    mariadb: f"SELECT VARIABLE_NAME, VARIABLE_VALUE FROM {view} WHERE VARIABLE_NAME IN ({NAMES})"  # noqa: S608
    for mariadb, view in VIEWS.items()
}


@dataclass(frozen=True)
class SwitchedSettings:
    name: str = "switches"
    view: str = "settings that are words"

    def read(self, connection: Connection, status: Status) -> Reading | None:
        rows = connection.rows(QUERIES[MARIADB in connection.server_version.lower()])
        found = {text(name).lower(): text(value) for name, value in rows if value is not None}
        gauges = {ours: float(test(found[theirs])) for ours, (theirs, test) in SWITCHES.items() if theirs in found}
        if "Innodb_redo_log_enabled" in status:
            gauges["redo_off"] = float(status["Innodb_redo_log_enabled"] == "OFF")
        return Reading(gauges=gauges) if gauges else None


SWITCHED_SETTINGS = SwitchedSettings()
