"""Clients that send at a rate, slice after slice, whatever happens to the server, and what each slice saw."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from types import TracebackType

from lutra_agent import drivers
from lutra_agent.drivers import Measurement
from lutra_agent.errors import DriverFailed
from lutra_lab.servers.base import ScratchServer

from benchmarks.lab.data import database_of
from benchmarks.lab.labs import Size
from benchmarks.live.scenarios import Clients

SLICE_S = 20
SWING = (1.0, 2.0, 5.0, 3.0)


@dataclass(frozen=True)
class Slice:
    """`began` by the monotonic clock."""

    began: float
    p99_ms: float


class Busy:
    """As a context manager: the load runs within. `server` is up when this is made; later it may restart."""

    def __init__(self, server: ScratchServer, clients: Clients, size: Size) -> None:
        self._database, self._clients, self._size = database_of(server), clients, size
        self._slices: list[Slice] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="clients", daemon=True)

    def __enter__(self) -> Busy:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended.set()
        self._thread.join(3 * SLICE_S)

    def next(self, slices: int) -> list[float]:
        """The p99 in ms of the next whole slices; the one under way is not among them."""
        since = time.monotonic()
        while len(found := [s.p99_ms for s in self._slices if s.began > since]) < slices:
            time.sleep(1)
        return found[:slices]

    def _run(self) -> None:
        number = 0
        while not self._ended.is_set():
            began = time.monotonic()
            try:
                self._slices.append(Slice(began, self._sent(number).metrics["p99_ms"]))
            except DriverFailed:  # the server restarts
                self._ended.wait(1)
            number += 1

    def _sent(self, number: int) -> Measurement:
        section = {**self._clients.section, "warmup_s": 0, "duration_s": SLICE_S}
        if section["kind"] == "sysbench":
            section |= {"tables": self._size.tables, "table_size": self._size.rows}
        else:
            section |= {"scale": self._size.scale}
        if self._clients.swings:
            section["rate"] = int(section["rate"] * SWING[number // 3 % len(SWING)])
        return drivers.build(section, self._database).run()
