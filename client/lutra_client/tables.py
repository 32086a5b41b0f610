"""Answers that are tables: lists in pages, and observations as they stream. Both are data frames where pandas is."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from lutra_client.drivers import Awaiting, Blocking
from lutra_client.exchange import answered
from lutra_client.files import whole
from lutra_client.frames import Observed, reader, wide
from lutra_client.requests import Request

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")
Page = Mapping[str, Any]
Format = Literal["jsonl", "csv", "parquet"]


def following(request: Request[T], page: Page) -> Request[T] | None:
    """What asks for the page after this one; None at the end."""
    return None if page["next"] is None else request.asking(after=page["next"])


@dataclass(frozen=True)
class Pages(Generic[T]):
    """A list's items, page by page as they are looked at. It may be looked at again, and is asked for again then."""

    driver: Blocking
    request: Request[T]

    def __iter__(self) -> Iterator[T]:
        asked: Request[T] | None = self.request
        while asked is not None:
            page: Any = self.driver.run(answered(asked, self.driver.retries))
            yield from page["items"]
            asked = following(asked, page)

    def to_frame(self) -> pd.DataFrame:
        """A row an item; what is nested has its name in its column's, as in `policy.durability`."""
        return wide(self)


@dataclass(frozen=True)
class AsyncPages(Generic[T]):
    """The same for asyncio."""

    driver: Awaiting
    request: Request[T]

    async def __aiter__(self) -> AsyncIterator[T]:
        asked: Request[T] | None = self.request
        while asked is not None:
            page: Any = await self.driver.run(answered(asked, self.driver.retries))
            for item in page["items"]:
                yield item
            asked = following(asked, page)

    async def to_frame(self) -> pd.DataFrame:
        return wide([item async for item in self])


@dataclass(frozen=True)
class Rows(Generic[T]):
    """Observations as they come; never are more than a few in memory, but in a frame."""

    driver: Blocking
    request: Request[T]

    def __iter__(self) -> Iterator[T]:
        with self.driver.streamed(self.request.asking(format="jsonl")) as response:
            for line in response.iter_lines():
                yield json.loads(line)

    def to_frame(self) -> pd.DataFrame:
        """A row an observation, with the columns of the CSV: `setting.…`, `metric.…`, `context.…`."""
        seen, read = Observed(), reader()
        with self.driver.streamed(self.request.asking(format="jsonl")) as response:
            for line in response.iter_lines():
                seen.add(read(line))
        return seen.frame()

    def save(self, file: str | Path, format: Format) -> None:  # noqa: A002  (the parameter's name in the interface)
        """Write them as they come. A file of which not all came is removed."""
        with whole(file) as out, self.driver.streamed(self.request.asking(format=format)) as response:
            for chunk in response.iter_bytes():
                out.write(chunk)


@dataclass(frozen=True)
class AsyncRows(Generic[T]):
    """The same for asyncio."""

    driver: Awaiting
    request: Request[T]

    async def __aiter__(self) -> AsyncIterator[T]:
        async with self.driver.streamed(self.request.asking(format="jsonl")) as response:
            async for line in response.aiter_lines():
                yield json.loads(line)

    async def to_frame(self) -> pd.DataFrame:
        seen, read = Observed(), reader()
        async with self.driver.streamed(self.request.asking(format="jsonl")) as response:
            async for line in response.aiter_lines():
                seen.add(read(line))
        return seen.frame()

    async def save(self, file: str | Path, format: Format) -> None:  # noqa: A002
        with whole(file) as out:
            async with self.driver.streamed(self.request.asking(format=format)) as response:
                async for chunk in response.aiter_bytes():
                    out.write(chunk)
