"""Answers that are tables: lists in pages, and observations as they stream. Both are data frames where pandas is."""

from __future__ import annotations

import builtins
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from lutra_client.drivers import Awaiting, Blocking
from lutra_client.exchange import Flow, Retries, answered
from lutra_client.frames import Observed, html, reader, wide
from lutra_client.moments import read
from lutra_client.requests import Request

if TYPE_CHECKING:
    import pandas as pd
import os
from contextlib import contextmanager
from typing import BinaryIO


@contextmanager
def whole(file: str | Path) -> Iterator[BinaryIO]:
    """Writes beside `file` and takes its place at the end; whatever goes wrong before leaves `file` as it was."""
    place = Path(file)
    beside = place.with_name(f"{place.name}.{os.getpid()}.part")
    try:
        with beside.open("xb") as out:
            yield out
        beside.replace(place)
    finally:
        beside.unlink(missing_ok=True)


T = TypeVar("T")
SHOWN = 50
"""Items of a list that a notebook shows."""
Format = Literal["jsonl", "csv", "parquet"]


def page_of(request: Request[T], retries: Retries) -> Flow[tuple[list[T], Request[T] | None]]:
    """The items of a page, and the request for the next one; None at the end."""
    page: Any = yield from answered(replace(request, answer=None), retries)
    items = [read(item, request.answer) for item in page["items"]]
    return items, None if page["next"] is None else request.asking(after=page["next"])


def whole_of(request: Request[T], retries: Retries) -> Flow[list[T]]:
    """The items of all pages."""
    found: list[T] = []
    asked: Request[T] | None = request
    while asked is not None:
        items, asked = yield from page_of(asked, retries)
        found += items
    return found


def _told(request: Request[Any], what: str) -> str:
    asked = "&".join(f"{name}={value}" for name, value in request.query.items())
    return f"<{request.method} {request.path}{f'?{asked}' if asked else ''}, {what}>"


@dataclass(frozen=True, eq=False, repr=False)
class Pages(Sequence[T]):
    """A list's items, page by page as a loop reads them; the next loop requests them again.

    `len`, an index and what needs them, such as `list(…)` or `reversed(…)`, read all of it once and keep it. An index
    from the front reads no further than it has to.
    """

    driver: Blocking
    request: Request[T]
    _kept: builtins.list[T] = field(default_factory=builtins.list, init=False)
    _whole: builtins.list[bool] = field(default_factory=builtins.list, init=False)

    def __iter__(self) -> Iterator[T]:
        # Python asks for the length of what it makes a list of after it asked for this: only then is it known.
        yield from self._kept if self._whole else self._read()

    def __len__(self) -> int:
        return len(self._all())

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> builtins.list[T]: ...
    def __getitem__(self, place: int | slice) -> T | builtins.list[T]:
        if isinstance(place, int) and place >= 0 and not self._whole:
            found = builtins.list(islice(self, place, place + 1))
            if not found:
                raise IndexError(f"{self!r} has no item {place}")
            return found[0]
        return self._all()[place]

    def __repr__(self) -> str:
        return _told(self.request, "a list: a loop, an index, first(), list() or to_frame() reads it")

    def _repr_html_(self) -> str | None:
        """The first page as a table, where pandas is installed."""
        return html(islice(self, SHOWN))

    def first(self) -> T | None:
        """The first item, or None; each call requests a page."""
        items, _ = self.driver.run(page_of(self.request, self.driver.retries))
        return items[0] if items else None

    def list(self) -> builtins.list[T]:
        """Every item; each call requests all pages."""
        return self.driver.run(whole_of(self.request, self.driver.retries))

    def _all(self) -> builtins.list[T]:
        if not self._whole:
            self._kept[:] = self.list()
            self._whole.append(True)
        return self._kept

    def _read(self) -> Iterator[T]:
        asked: Request[T] | None = self.request
        while asked is not None:
            items, asked = self.driver.run(page_of(asked, self.driver.retries))
            yield from items

    def to_frame(self) -> pd.DataFrame:
        """A row an item; what is nested has its name in its column's, as in `policy.durability`."""
        return wide(self)


@dataclass(frozen=True, eq=False, repr=False)
class AsyncPages(Generic[T]):
    """The same for asyncio, without what cannot be awaited: it has no length and no index."""

    driver: Awaiting
    request: Request[T]

    def __repr__(self) -> str:
        return _told(self.request, "a list: `async for`, `await ….first()`, `….list()` or `….to_frame()` reads it")

    async def __aiter__(self) -> AsyncIterator[T]:
        asked: Request[T] | None = self.request
        while asked is not None:
            items, asked = await self.driver.run(page_of(asked, self.driver.retries))
            for item in items:
                yield item

    async def first(self) -> T | None:
        items, _ = await self.driver.run(page_of(self.request, self.driver.retries))
        return items[0] if items else None

    async def list(self) -> builtins.list[T]:
        return await self.driver.run(whole_of(self.request, self.driver.retries))

    async def to_frame(self) -> pd.DataFrame:
        return wide(await self.list())


@dataclass(frozen=True, eq=False, repr=False)
class Rows(Generic[T]):
    """Observations as they come; never are more than a few in memory, but in a frame."""

    driver: Blocking
    request: Request[T]

    def __repr__(self) -> str:
        return _told(self.request, "observations: a loop, to_frame() or save(file, format) reads them")

    def __iter__(self) -> Iterator[T]:
        with self.driver.streamed(self.request.asking(format="jsonl")) as response:
            for line in response.iter_lines():
                yield read(json.loads(line), self.request.answer)

    def to_frame(self) -> pd.DataFrame:
        """A row an observation, with the columns of the CSV: `setting.…`, `metric.…`, `context.…`."""
        seen, read = Observed(self.request.query.get("metric", ())), reader()
        with self.driver.streamed(self.request.asking(format="jsonl")) as response:
            for line in response.iter_lines():
                seen.add(read(line))
        return seen.frame()

    def save(self, file: str | Path, format: Format) -> None:  # noqa: A002  (the parameter's name in the interface)
        """Write them as they come. A file of which not all came is removed."""
        with whole(file) as out, self.driver.streamed(self.request.asking(format=format)) as response:
            for chunk in response.iter_bytes():
                out.write(chunk)


@dataclass(frozen=True, eq=False, repr=False)
class AsyncRows(Generic[T]):
    """The same for asyncio."""

    driver: Awaiting
    request: Request[T]

    def __repr__(self) -> str:
        return _told(self.request, "observations: `async for`, `await ….to_frame()` or `await ….save(…)` reads them")

    async def __aiter__(self) -> AsyncIterator[T]:
        async with self.driver.streamed(self.request.asking(format="jsonl")) as response:
            async for line in response.aiter_lines():
                yield read(json.loads(line), self.request.answer)

    async def to_frame(self) -> pd.DataFrame:
        seen, read = Observed(self.request.query.get("metric", ())), reader()
        async with self.driver.streamed(self.request.asking(format="jsonl")) as response:
            async for line in response.aiter_lines():
                seen.add(read(line))
        return seen.frame()

    async def save(self, file: str | Path, format: Format) -> None:  # noqa: A002
        with whole(file) as out:
            async with self.driver.streamed(self.request.asking(format=format)) as response:
                async for chunk in response.aiter_bytes():
                    out.write(chunk)
