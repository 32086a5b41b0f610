"""The parsed configurations of servers: each is read by the catalogue once, and then kept for a while.

Many servers of a fleet have the same settings. The catalogue's parsed values of one are shared by the others.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from hashlib import sha256
from threading import Lock

from lutra_models.catalog import meet
from lutra_models.errors import InvalidReport, LutraError
from lutra_models.server import Server, ServerSetting
from lutra_models.wire import Report

from lutra_service.common.documents import Document
from lutra_service.db.schema.storable import Written

KEPT_BYTES = 64 << 20


def contents(settings: str) -> str:
    """A unique name for stored settings, whatever hash their agent gave them."""
    return sha256(settings.encode()).hexdigest()


def configuration(report: Report, settings: Mapping[str, ServerSetting]) -> Document:
    """The catalogue's values of a server under `settings`. Raises InvalidReport."""
    facts = report.host, report.role, report.peak_connections, report.identifier
    try:
        return dict(meet(Server(report.engine, report.engine_version, settings, *facts)).values)
    except LutraError as error:
        raise InvalidReport(f"settings: {error}") from error


class Configurations:
    """Serialized, by their settings and the server's version; at most KEPT_BYTES, the least used are dropped."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, Written] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def find(self, report: Report, settings: Hashable) -> Written | None:
        """`settings` name the stored ones, by their position or by their `contents`."""
        key = _key(report, settings)
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def keep(self, report: Report, settings: Hashable, written: Written) -> Written:
        key = _key(report, settings)
        with self._lock:
            former = self._kept.pop(key, None)
            self._bytes += len(written.text) - (len(former.text) if former else 0)
            self._kept[key] = written
            while self._bytes > KEPT_BYTES:
                self._bytes -= len(self._kept.popitem(last=False)[1].text)
        return written


def _key(report: Report, settings: Hashable) -> Hashable:
    return settings, report.engine, report.engine_version
