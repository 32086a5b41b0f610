"""Files that are written while they are sent: a few at once, and only while the client is connected."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from anyio import CancelScope
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from lutra_service.edge.limits import Places


class JsonLines(StreamingResponse):
    media_type = "application/jsonl"


class Export(StreamingResponse):
    """The pieces of a file, some of which may be empty. If the client has left, the file ends before the next piece.

    An error before the first byte is answered like any other. Raises TooManyRequests and Busy if all slots are in use.
    """

    def __init__(self, pieces: Iterator[bytes], media_type: str, places: Places, key: str) -> None:
        """`key` is whose share of the places is counted."""
        super().__init__(pieces, media_type=media_type)
        self._places = places
        self._key = key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with CancelScope() as work:
            leaving = asyncio.ensure_future(self.listen_for_disconnect(receive))
            leaving.add_done_callback(lambda _: work.cancel())
            try:
                async with self._places.taken(self._key):
                    await self.stream_response(send)
            finally:
                leaving.cancel()

    async def stream_response(self, send: Send) -> None:
        begun = False
        async for piece in self.body_iterator:
            if piece:
                await self._begin(send, begun)
                begun = True
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await self._begin(send, begun)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _begin(self, send: Send, begun: bool) -> None:
        if not begun:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
