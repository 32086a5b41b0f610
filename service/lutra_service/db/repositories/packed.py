"""Large documents, packed: a history repeats the same names, and takes a tenth of its room like this."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping

from lutra_service.common.documents import Document

PACKED = "packed"


def pack(document: Mapping[str, object], plain: tuple[str, ...] = ()) -> Document:
    """A document that holds the other one. The parts named in `plain` stay readable beside it."""
    content = base64.b85encode(zlib.compress(json.dumps(document).encode(), 6)).decode()
    return {**{name: document[name] for name in plain if name in document}, PACKED: content}


def unpack(stored: Document) -> Document:
    """The value that was passed to `pack`."""
    found = json.loads(zlib.decompress(base64.b85decode(stored[PACKED])))
    assert isinstance(found, dict)
    return found
