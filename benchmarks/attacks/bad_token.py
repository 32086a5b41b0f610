"""One agent's token gone bad: it floods its own database while three others report, read and ask for recommendations.

First a quiet phase, then the flood. The store's quota for a database is set low, so that the flood reaches it within
minutes; an older service has none, and its disk goes on filling.
"""

from __future__ import annotations

import time
from pathlib import Path
from statistics import quantiles
from typing import Any

import click

from benchmarks.attacks import bad_token_flood, bad_token_others
from benchmarks.attacks.stores import Stored, env_option, environment, out_option, store_option, stored
from benchmarks.attacks.verdicts import Verdict, conclude, table
from benchmarks.attacks.watching import Worker, sampled

NEIGHBOURS = 3
SAMPLE_S = 5.0
OVERHEAD = 3.0
"""Of what is stored, on the disk: indices, the log, and rows that are gone and not yet given back."""


@click.command()
@click.option("--quiet-minutes", default=1.0, show_default=True)
@click.option("--minutes", default=5.0, show_default=True, help="Of the flood.")
@click.option("--quota-mb", default=20, show_default=True, help="A database's daily quota, LUTRA_DAILY_BYTES.")
@click.option("--seed", default=1, show_default=True)
@store_option
@env_option
@out_option
def main(
    quiet_minutes: float, minutes: float, quota_mb: int, seed: int, store: str, env: tuple[str, ...], out: Path | None
) -> None:
    """The other databases' errors and latencies, and the disk that one token can fill."""
    with stored(store, {"LUTRA_DAILY_BYTES": str(quota_mb << 20), **environment(env)}) as made:
        found = flooded(made, quiet_minutes * 60, minutes * 60, seed)
    show(found)
    figures = {k: v for k, v in found.items() if k not in ("quiet", "loud")}
    figures |= {phase: {kind: _p95(ms) for kind, ms in found[phase]["taken"].items()} for phase in ("quiet", "loud")}
    conclude("bad_token", judged(found, quota_mb), {"store": store, "minutes": minutes, **figures}, out)


def flooded(made: Stored, quiet_s: float, loud_s: float, seed: int) -> dict[str, Any]:
    api, url = made.served.api, f"http://127.0.0.1:{made.served.port}"
    assert made.served.process is not None
    bad = registered(api, "bad", "agent")
    neighbours = [(*registered(api, f"shop-{n}", "agent"), n) for n in range(NEIGHBOURS)]
    tokens = [(db, token, token_of(api, db, "operate")) for db, token, _ in neighbours]
    quiet = _phase(made, url, tokens, quiet_s)
    with sampled(made.served.process.pid) as memory:
        flood = Worker(bad_token_flood.run, url, bad[1], bad[0], seed)
        loud = _phase(made, url, tokens, loud_s)
        came_of = flood.result()
    return {
        "quiet": quiet,
        "loud": loud,
        "came_of": came_of,
        "disk": quiet["disk"][-1:] + loud["disk"],
        "rss_mb": [round(memory.samples[0] / 2**20), round(max(memory.samples) / 2**20)],
        "alive": made.served.process.poll() is None,
    }


def _phase(made: Stored, url: str, tokens: list[tuple[str, str, str]], seconds: float) -> dict[str, Any]:
    """What the neighbours saw in so many seconds, and what the store took on the disk meanwhile."""
    workers = [Worker(bad_token_others.live, url, *each) for each in tokens]
    ends, disk = time.monotonic() + seconds, []
    while time.monotonic() < ends:
        disk.append(made.disk_bytes())
        time.sleep(SAMPLE_S)
    taken: dict[str, list[float]] = {}
    errors: list[str] = []
    for found in [worker.result(180) for worker in workers]:
        errors += found["errors"]
        for kind, ms in found["taken"].items():
            taken.setdefault(kind, []).extend(ms)
    return {"taken": taken, "errors": errors, "disk": [*disk, made.disk_bytes()]}


def registered(api: Any, name: str, scope: str) -> tuple[str, str]:
    database = api.take("POST", "/v1/databases", {"name": name, "engine": "postgresql"})["id"]
    return database, token_of(api, database, scope)


def token_of(api: Any, database: str, scope: str) -> str:
    made = api.take("POST", f"/v1/databases/{database}/tokens", {"name": scope, "scopes": [scope]})
    return str(made["token"])


def _p95(ms: list[float]) -> float:
    return round(quantiles(ms, n=20)[-1] if len(ms) > 1 else ms[0], 1)


def show(found: dict[str, Any]) -> None:
    quiet, loud = found["quiet"]["taken"], found["loud"]["taken"]
    rows = [
        (kind, len(quiet[kind]), _p95(quiet[kind]), len(ms), _p95(ms), f"{_p95(ms) / _p95(quiet[kind]):.1f}")
        for kind, ms in loud.items()
        if kind in quiet
    ]
    print(table(("the others' calls", "quiet", "p95 ms", "flooded", "p95 ms", "ratio"), rows))
    for kind, counted in found["came_of"].items():
        print(f"  flood, {kind}: {', '.join(f'{n} {times}' for n, times in counted.items())}")
    print("store on the disk, MB:", " ".join(f"{size / 2**20:.0f}" for size in found["disk"]))
    print("memory, MB, before and at most:", *found["rss_mb"])
    for error in found["loud"]["errors"][:10]:
        print("  ", error)


def judged(found: dict[str, Any], quota_mb: int) -> list[Verdict]:
    errors, disk = len(found["loud"]["errors"]), found["disk"]
    grown = (disk[-1] - disk[0]) / 2**20
    bound = OVERHEAD * quota_mb * 1.5
    last = (disk[-1] - disk[len(disk) * 2 // 3]) / 2**20
    return [
        Verdict("the service runs on", str(found["alive"]), "True", found["alive"]),
        Verdict("the others' errors", str(errors), "0", errors == 0),
        Verdict(
            "disk, growth under the flood",
            f"{grown:.0f} MB, {last:.0f} in its last third",
            f"<= {bound:.0f} MB",
            grown <= bound,
        ),
    ]


if __name__ == "__main__":
    main(prog_name="python -m benchmarks attacks bad_token")
