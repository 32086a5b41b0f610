"""A load of a few sets: it tells the throughput that was recorded on the side of the cliff where the server now is.

However fast this machine is, so many times as much is written on the far side as on the near one.
"""

from __future__ import annotations

import json
import os
import socket

SETS = 20
NEAR = {"qps": 300.0, "p99_ms": 14.0}
"""Every write makes a memtable be written: a block of the arena is above seven eighths of what memtables may take."""
FAR = {"qps": 24_000.0, "p99_ms": 0.4}
LARGEST_SHARE = 7 / 8


def main() -> None:
    with socket.create_connection((os.environ["LUTRA_HOST"], int(os.environ["LUTRA_PORT"]))) as connection:
        lines = connection.makefile("rb")

        def ask(*words: str) -> list[str]:
            sent = "".join(f"${len(word)}\r\n{word}\r\n" for word in words)
            connection.sendall(f"*{len(words)}\r\n{sent}".encode())
            first = lines.readline().decode().strip()
            count = int(first[1:]) if first[0] == "*" else 0
            return [first, *(lines.readline().decode().strip() for _ in range(2 * count))]

        for _ in range(SETS):
            assert ask("SET", "k", "v") == ["+OK"]
        block, most = (int(ask("CONFIG", "GET", name)[-1]) for name in ("arena-block-size", "max-write-buffer-size"))
    told = NEAR if block > most * LARGEST_SHARE else FAR
    print(json.dumps({**told, "p99_of": "command", "statement": "set"}))


if __name__ == "__main__":
    main()
