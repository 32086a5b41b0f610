"""Keys and values: all of them on disk, the latest in a cache, and counters of what was asked."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict
from pathlib import Path

from settings import Settings

VALUE_KB = 1
MISS_S = 0.001
"""What reading a value from the disk takes."""
SYNC_S = 0.002


class Store:
    def __init__(self, file: Path, settings: Settings) -> None:
        self._settings = settings
        self._values = dict(line.split(" ", 1) for line in file.read_text().splitlines()) if file.exists() else {}
        self._log = file.open("a", buffering=1)
        self._cache: OrderedDict[str, None] = OrderedDict()
        self._disk = asyncio.Semaphore(settings.number("readers"))
        self.counts: Counter[str] = Counter(dict.fromkeys(("commands", "hits", "misses", "puts", "errors"), 0))
        self.latencies: Counter[int] = Counter()

    def __len__(self) -> int:
        return len(self._values)

    async def get(self, key: str) -> str | None:
        hit = key in self._cache
        self.counts["hits" if hit else "misses"] += 1
        if not hit:
            async with self._disk:
                await asyncio.sleep(MISS_S)
        self._remember(key)
        return self._values.get(key)

    async def put(self, key: str, value: str) -> None:
        self.counts["puts"] += 1
        self._values[key] = value
        self._log.write(f"{key} {value}\n")
        if self._settings["sync"] == "always":
            await asyncio.sleep(SYNC_S)
        self._remember(key)

    def measured(self, began_s: float) -> None:
        """Counts a command's duration in the range of microseconds, by powers of two, that it lies in."""
        self.counts["commands"] += 1
        self.latencies[1 << int((time.perf_counter() - began_s) * 1e6).bit_length()] += 1

    def _remember(self, key: str) -> None:
        self._cache[key] = None
        self._cache.move_to_end(key)
        room = self._settings.number("cache") // VALUE_KB * (2 if self._settings["compress"] == "yes" else 1)
        while len(self._cache) > room:
            self._cache.popitem(last=False)
