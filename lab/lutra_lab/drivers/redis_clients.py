"""Runs a server's own load generator for writes and for reads side by side, and prints the readings of its clients as
JSON.

`python -m lutra_lab.drivers.redis_clients SECONDS WARMUP_S TEST=CLIENTS[,TEST=CLIENTS] PROGRAM ARGUMENT…`

The generator knows only a number of requests and no time, and reports percentiles only at its end. So it runs without
an end for the warm-up, which gives the rate, and then for the number of requests that the rate makes in the measured
time.
"""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import IO

ENDLESS = 1_000_000_000
FEWEST = 1000
OVERALL = re.compile(r"rps=[\d.]+ \(overall: ([\d.]+)\)")
COLUMNS = {"mean_ms": "avg_latency_ms", "p99_ms": "p99_latency_ms"}


def main(arguments: Sequence[str]) -> None:
    seconds, warmup_s = float(arguments[0]), float(arguments[1])
    clients = {test: int(n) for test, _, n in (part.partition("=") for part in arguments[2].split(","))}
    program = list(arguments[3:])
    rates = warmed_up(program, clients, warmup_s)
    began_s = time.time()
    print(json.dumps(measured(program, clients, rates, seconds, began_s)))  # noqa: T201 - what the driver reads


def warmed_up(program: Sequence[str], clients: Mapping[str, int], warmup_s: float) -> dict[str, float]:
    """Requests a second of each test."""
    running = [(test, *_started(program, test, n, ENDLESS)) for test, n in clients.items()]
    time.sleep(warmup_s)
    rates = {}
    for test, process, out in running:
        if process.poll() is not None:
            sys.exit(f"{program[0]} ended in its warm-up: {_said(out)[-300:]}")
        process.kill()
        process.wait()
        found = OVERALL.findall(_said(out))
        if not found:
            sys.exit(f"{program[0]} printed no rate in {warmup_s:g} s of warm-up")
        rates[test] = float(found[-1])
    return rates


def measured(
    program: Sequence[str],
    clients: Mapping[str, int],
    rates: Mapping[str, float],
    seconds: float,
    began_s: float,
) -> dict[str, object]:
    """The window and its metrics: rates add up, the p99 of all is at most the largest of the tests'."""
    running = []
    for test, n in clients.items():
        requests = max(FEWEST, n, round(rates[test] * seconds))
        running.append((test, *_started([*program, "--csv"], test, n, requests)))
    metrics: dict[str, object] = {"window_start": began_s, "p99_of": "command", "statement": " and ".join(clients)}
    qps, p99_ms = 0.0, 0.0
    for test, process, out in running:
        if process.wait() != 0:
            sys.exit(f"{program[0]}: exit {process.returncode}: {_said(out)[-300:]}")
        figures = parsed(_said(out))
        if figures is None:
            sys.exit(f"{program[0]} printed no figures of {test}: {_said(out)[-300:]!r}")
        qps, p99_ms = qps + figures["qps"], max(p99_ms, figures["p99_ms"])
        metrics |= {f"{test}_{name}": value for name, value in figures.items()}
    return {**metrics, "window_end": time.time(), "qps": qps, "p99_ms": p99_ms}


def parsed(text: str) -> dict[str, float] | None:
    """qps, mean_ms and p99_ms of the last line; None if it is not a line of figures."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    try:
        row = list(csv.DictReader(lines))[-1]
        return {"qps": float(row["rps"]), **{ours: float(row[theirs]) for ours, theirs in COLUMNS.items()}}
    except (IndexError, KeyError, TypeError, ValueError):
        return None


def _started(
    program: Sequence[str], test: str, clients: int, requests: int
) -> tuple[subprocess.Popen[bytes], IO[bytes]]:
    out = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
    argv = [*program, "-t", test, "-c", str(clients), "-n", str(requests)]
    return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT), out


def _said(out: IO[bytes]) -> str:
    out.seek(0)
    return out.read().decode(errors="replace")


if __name__ == "__main__":
    main(sys.argv[1:])
