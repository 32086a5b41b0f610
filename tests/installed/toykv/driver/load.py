"""`load.py HOST PORT CLIENTS KEYS WRITES WARMUP_S DURATION_S` prints what its clients saw as one line of JSON."""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time

REST_S = 0.005
"""Between two commands of a client: a toy's load need not keep a processor busy."""


async def client(host: str, port: int, keys: int, writes: float, span: tuple[float, float], seen: list[float]) -> None:
    reader, writer = await asyncio.open_connection(host, port)
    chance = random.Random()
    while (began := time.perf_counter()) < span[1]:
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
        await asyncio.sleep(REST_S)
    writer.close()


async def main(host: str, port: int, clients: int, keys: int, writes: float, warmup_s: float, seconds: float) -> None:
    start, seen = time.perf_counter() + warmup_s, list[float]()
    span = (start, start + seconds)
    await asyncio.gather(*(client(host, port, keys, writes, span, seen) for _ in range(clients)))
    seen.sort()
    rate = len(seen) / seconds
    figures = {"qps": rate, "tps": rate, "p99_ms": seen[int(0.99 * len(seen))], "mean_ms": sum(seen) / len(seen)}
    print(json.dumps({**figures, "p99_of": "command", "statement": "GET and PUT"}))


if __name__ == "__main__":
    host, port, clients, keys, *rest = sys.argv[1:]
    asyncio.run(main(host, int(port), int(clients), int(keys), *map(float, rest)))
