"""Bodies that are small on the network and large in memory, and bytes that are no HTTP."""

from __future__ import annotations

import gzip
import json
import random

EXPANDED = 16 << 20


def bombs() -> list[bytes]:
    """Gzip bodies just below the service's bounds, each of another shape."""
    shapes = (
        b"[" + b"[]," * (EXPANDED // 3 - 2) + b"[]]",
        b"[" * (1 << 20),
        b"{" + b",".join(b'"k%d":1' % n for n in range(1_000_000)) + b"}",
        b'{"settings":"' + b"a" * (EXPANDED - 20) + b'"}',
        b" " * EXPANDED,
        b"[" + b"1e9," * (EXPANDED // 4 - 2) + b"1]",
        b" " * (200 << 20),
    )
    return [gzip.compress(shape, 6) for shape in shapes]


def unknown_keys(count: int = 100_000) -> bytes:
    return gzip.compress(json.dumps({f"key{n}": n for n in range(count)}).encode())


def tls_hello() -> bytes:
    """The beginning of a TLS 1.2 handshake, as a client sends it to a port that speaks plain HTTP."""
    hello = b"\x03\x03" + bytes(32) + b"\x00" + b"\x00\x02\x13\x01" + b"\x01\x00"
    handshake = b"\x01" + len(hello).to_bytes(3, "big") + hello
    return b"\x16\x03\x01" + len(handshake).to_bytes(2, "big") + handshake


def garbage(rng: random.Random) -> bytes:
    return rng.randbytes(rng.randint(1, 4096))
