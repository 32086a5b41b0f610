"""`load.py HOST PORT CLIENTS KEYS WRITES WARMUP_S DURATION_S` prints what its clients saw as one line of JSON."""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time

REST_S = 0.005
"""Between two commands of a client: a toy's load need not keep a processor busy."""


Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def client(
    connection: Connection, keys: int, writes: float, span: tuple[float, float], seen: list[float]
) -> None:
    reader, writer = connection
    chance, mine = random.Random(), 0
    while (began := time.perf_counter()) < span[1] or not mine:  # one in any case
        key = chance.randrange(keys)
        command = f"PUT k{key} {'v' * 16}" if chance.random() < writes else f"GET k{key}"
        writer.write(f"{command}\n".encode())
        status, count = (await reader.readline()).decode().split()[:2]
        if status != "OK":
            sys.exit(f"{command}: {count}")
        for _ in range(int(count)):
            await reader.readline()
        if began >= span[0]:
            seen.append(1000 * (time.perf_counter() - began))
            mine += 1
        await asyncio.sleep(REST_S)
    writer.close()


async def main(host: str, port: int, clients: int, keys: int, writes: float, warmup_s: float, seconds: float) -> None:
    connections = await asyncio.gather(*(asyncio.open_connection(host, port) for _ in range(clients)))
    start, seen = time.perf_counter() + warmup_s, list[float]()
    span = (start, start + seconds)
    await asyncio.gather(*(client(connection, keys, writes, span, seen) for connection in connections))
    seen.sort()
    rate = len(seen) / seconds
    figures = {"qps": rate, "tps": rate, "p99_ms": seen[int(0.99 * len(seen))], "mean_ms": sum(seen) / len(seen)}
    print(json.dumps({**figures, "p99_of": "command", "statement": "GET and PUT"}))


if __name__ == "__main__":
    host, port, clients, keys, *rest = sys.argv[1:]
    asyncio.run(main(host, int(port), int(clients), int(keys), *map(float, rest)))
