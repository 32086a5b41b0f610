"""Runs go-tpc's analytical queries once through and prints, as one JSON object, how long that took.

`python gotpch.py GO_TPC STREAMS WORD…`: each stream executes every query once, each beginning with another. A query
that takes longer than LONGEST_S is ended by the server and counts as failed: it took that long, and answered nothing.
This file runs by itself, with the standard library alone.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

QUERIES = tuple(f"q{n}" for n in range(1, 23))
LONGEST_S = 60
LINE = re.compile(r"^\[Summary\] (Q\d+)(_ERR)?: ([\d.]+)s", re.MULTILINE)
PARAMETERS = f"sslmode=disable&statement_timeout={LONGEST_S * 1000}"


def arguments(where: Mapping[str, str], streams: int, words: Sequence[str]) -> list[str]:
    """go-tpc's own, for one pass of each stream."""
    server = ["-H", where["LUTRA_HOST"], "-P", where["LUTRA_PORT"], "-U", where["LUTRA_USER"]]
    database = ["-D", where["LUTRA_DBNAME"], "--driver", "postgres", "--conn-params", PARAMETERS]
    times = ["--queries", ",".join(QUERIES), "-T", str(streams), "--count", str(streams * len(QUERIES))]
    return [*words, *server, *database, *times, "--ignore-error", "--silence"]


def summary(printed: str, streams: int, elapsed_s: float) -> dict[str, float | str]:
    """Queries a second, the pass and each query's mean. Raises ValueError where one is missing."""
    took = {name.lower(): float(seconds) for name, error, seconds in LINE.findall(printed) if not error}
    ended = {name.lower() for name, error, _ in LINE.findall(printed) if error}
    missing = [name for name in QUERIES if name not in took and name not in ended]
    if missing:
        raise ValueError(f"no word of {', '.join(missing)}")
    slowest = max([*took.values(), *(LONGEST_S for _ in ended)])
    return {
        "qps": streams * len(took) / elapsed_s,
        "pass_s": elapsed_s,
        "failed": len(ended),
        "p99_ms": slowest * 1000,
        "p99_of": "statement",
        "statement": "slowest_query",
        **{f"{name}_s": seconds for name, seconds in took.items()},
    }


def main(argv: Sequence[str]) -> None:
    program, streams, *words = argv
    started = time.monotonic()
    command = [program, *arguments(os.environ, int(streams), words)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    elapsed_s = time.monotonic() - started
    last = (done.stdout + done.stderr).strip()[-300:]
    if done.returncode != 0:
        sys.exit(f"go-tpc: exit {done.returncode}: {last}")
    try:
        print(json.dumps(summary(done.stdout, int(streams), elapsed_s)))
    except ValueError as error:
        sys.exit(f"{error}: {last}")


if __name__ == "__main__":
    main(sys.argv[1:])
