"""Four clients that set keys, for a command driver: what they saw as one line of JSON."""

from __future__ import annotations

import json
import os
import socket
import threading
import time

CLIENTS = 4
SET = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n"


def client(until_s: float, took_s: list[float]) -> None:
    with socket.create_connection((os.environ["LUTRA_HOST"], int(os.environ["LUTRA_PORT"]))) as connection:
        began = time.perf_counter()
        while True:  # one in any case
            connection.sendall(SET)
            connection.recv(64)
            ended = time.perf_counter()
            took_s.append(ended - began)
            if (began := ended) >= until_s:
                return


def main() -> None:
    seconds = float(os.environ["LUTRA_WARMUP_S"]) + float(os.environ["LUTRA_DURATION_S"])
    took_s: list[float] = []
    threads = [threading.Thread(target=client, args=(time.perf_counter() + seconds, took_s)) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    p99_s = sorted(took_s)[len(took_s) * 99 // 100]
    print(json.dumps({"qps": len(took_s) / seconds, "p99_ms": 1000 * p99_s, "p99_of": "command", "statement": "set"}))


if __name__ == "__main__":
    main()
