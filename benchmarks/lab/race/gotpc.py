"""Runs go-tpc for a while and prints, as one JSON object, what its clients saw after the warm-up.

`python gotpc.py GO_TPC DRIVER CLIENTS WORD…`: where and how long is in the environment, as the agent's driver `command`
tells it. go-tpc prints its figures every few seconds; those of the warm-up are left out. Its histograms have steps of
some 5 %. This file runs by itself, with the standard library alone.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO

INTERVAL_S = 5
MAIN = "NEW_ORDER"
"""The transaction whose latency counts: 45 % of all."""
LINE = re.compile(r"^\[Current\] (\w+) - .*?Count: (\d+),.*? 99th\(ms\): ([\d.]+)")
CONNECTION = {"postgres": ["--conn-params", "sslmode=disable"], "mysql": []}


@dataclass(frozen=True)
class Told:
    """One line of go-tpc: in which interval (0 is the first) so many transactions of a kind ended."""

    interval: int
    kind: str
    count: int
    p99_ms: float


def told(line: str, after_s: float) -> Told | None:
    """What a line that came so long after the start says; None for any other line."""
    found = LINE.match(line)
    if found is None:
        return None
    return Told(round(after_s / INTERVAL_S) - 1, found[1], int(found[2]), float(found[3]))


def summary(lines: Iterable[Told], warmup_s: float, duration_s: float) -> dict[str, float | str]:
    """Rates over the window, and those within: `tps_1` is its first interval's. Raises ValueError for none."""
    first, last = round(warmup_s / INTERVAL_S), round((warmup_s + duration_s) / INTERVAL_S)
    window = [t for t in lines if first <= t.interval < last]
    done = [t for t in window if not t.kind.endswith("_ERR")]
    main = [t for t in done if t.kind == MAIN]
    if not main:
        raise ValueError("no transaction ended within the window")
    within = dict.fromkeys(range(first, last), 0)
    for t in done:
        within[t.interval] += t.count
    return {
        "tps": sum(within.values()) / duration_s,
        "new_orders_per_s": sum(t.count for t in main) / duration_s,
        "failed_tps": sum(t.count for t in window if t.kind.endswith("_ERR")) / duration_s,
        "p99_ms": sum(t.count * t.p99_ms for t in main) / sum(t.count for t in main),
        "p99_of": "transaction",
        "statement": MAIN.lower(),
        **{f"tps_{n - first + 1}": count / INTERVAL_S for n, count in within.items()},
    }


def arguments(where: Mapping[str, str], driver: str, clients: str, seconds: float, words: Sequence[str]) -> list[str]:
    """go-tpc's own, for a load of so many seconds."""
    server = [
        "-H",
        where["LUTRA_HOST"],
        "-P",
        where["LUTRA_PORT"],
        "-U",
        where["LUTRA_USER"],
        "-D",
        where["LUTRA_DBNAME"],
    ]
    span = ["--time", f"{seconds:g}s", "--interval", f"{INTERVAL_S}s", "-T", clients]
    # A deadlock is an answer like any other: the client goes on, and it is counted.
    return [*words, "--driver", driver, *server, *CONNECTION[driver], *span, "--ignore-error", "--silence"]


def main(argv: Sequence[str]) -> None:
    program, driver, clients, *words = argv
    warmup_s, duration_s = (float(os.environ[f"LUTRA_{name}_S"]) for name in ("WARMUP", "DURATION"))
    command = [program, *arguments(os.environ, driver, clients, warmup_s + duration_s + 2, words)]
    started = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        heard, last = _heard(process.stdout or [], started)
    if process.returncode != 0:
        sys.exit(f"go-tpc: exit {process.returncode}: {last}")
    try:
        print(json.dumps(summary(heard, warmup_s, duration_s)))
    except ValueError as error:
        sys.exit(f"{error}: {last}")


def _heard(output: IO[str] | Iterable[str], started: float) -> tuple[list[Told], str]:
    """All that is told, each line dated as it comes, and the last line of any other kind."""
    heard, last = [], ""
    for line in output:
        found = told(line, time.monotonic() - started)
        if found is None:
            last = line.strip() or last
        else:
            heard.append(found)
    return heard, last


if __name__ == "__main__":
    main(sys.argv[1:])
