"""Without a token: everything at once, for minutes, while one agent reports and /healthz is asked four times a second.

Strangers come from four addresses, one of which is the agent's. Their rates are fixed and their processor time is
printed, so that what is measured is the service and not a machine that is short of time.
"""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median
from typing import Any

import click

from benchmarks.attacks import reporter, strangers_loads
from benchmarks.attacks.stores import Stored, env_option, environment, out_option, store_option, stored
from benchmarks.attacks.verdicts import Verdict, conclude, table
from benchmarks.attacks.watching import Memory, Worker, probe_health, sampled

MOST_GROWTH_MB = 50.0
WORST_HEALTH_MS = 1000.0


@click.command()
@click.option("--minutes", default=10.0, show_default=True)
@click.option("--share", default=1.0, show_default=True, help="Of the strangers' rates.")
@click.option("--seed", default=1, show_default=True)
@store_option
@env_option
@out_option
def main(minutes: float, share: float, seed: int, store: str, env: tuple[str, ...], out: Path | None) -> None:
    """Memory, /healthz and agents' reports under everything that needs no token."""
    with stored(store, environment(env)) as made:
        found = attacked(made, minutes * 60, share, seed)
    show(found, share)
    conclude("strangers", judged(found), {"store": store, "minutes": minutes, "share": share, **figures(found)}, out)


def attacked(made: Stored, seconds: float, share: float, seed: int) -> dict[str, Any]:
    served = made.served
    assert served.process is not None
    url = f"http://127.0.0.1:{served.port}"
    database = served.api.take("POST", "/v1/databases", {"name": "shop", "engine": "postgresql"})["id"]
    token = served.api.take("POST", f"/v1/databases/{database}/tokens", {"name": "a", "scopes": ["agent"]})["token"]
    reporting = Worker(reporter.report_every_second, url, token, database)
    probing = Worker(probe_health, served.port)
    time.sleep(5)
    Memory(served.process.pid).until_calm()
    with sampled(served.process.pid) as memory:
        strangers = Worker(strangers_loads.run, served.port, seed, share)
        _wait(seconds, memory, served.process)
        load = strangers.result()
        health = probing.result()
        reports = reporting.result()
        alive = served.process.poll() is None
    return {"memory": memory, "health": health, "reports": reports, "load": load, "alive": alive, "seconds": seconds}


def _wait(seconds: float, memory: Memory, process: Any) -> None:
    ends = time.monotonic() + seconds
    while (left := ends - time.monotonic()) > 0 and process.poll() is None:
        time.sleep(min(left, 30.0))
        print(f"{left:6.0f} s left, the service has {memory.own[-1] / 2**20:.0f} MB", flush=True)


def figures(found: dict[str, Any]) -> dict[str, Any]:
    memory, health = found["memory"], found["health"]["ms"]
    answered = [ms for ms in health if ms is not None]
    return {
        "rss_before_mb": round(memory.samples[0] / 2**20, 1),
        "rss_peak_mb": round(max(memory.samples) / 2**20, 1),
        "rss_after_mb": round(memory.samples[-1] / 2**20, 1),
        "descriptors_peak": max(memory.descriptors),
        "health_probes": len(health),
        "health_unanswered": len(health) - len(answered),
        "health_median_ms": round(median(answered), 1) if answered else None,
        "health_worst_ms": round(max(answered), 1) if answered else None,
        "reports": found["reports"],
        "strangers_cpu_share": round(found["load"]["cpu_s"] / found["seconds"], 3),
        "came_of": found["load"]["came_of"],
    }


def judged(found: dict[str, Any]) -> list[Verdict]:
    now, reports = figures(found), found["reports"]
    growth = now["rss_peak_mb"] - now["rss_before_mb"]
    worst, unanswered = now["health_worst_ms"], now["health_unanswered"]
    quick = not unanswered and worst is not None and worst < WORST_HEALTH_MS
    said = f"worst {worst} ms, {unanswered} of {now['health_probes']} unanswered"
    missed = reports["made"] - reports["acknowledged"]
    waited = f"{missed} of {reports['made']} missed, longest wait {reports['longest_wait_s']:.1f} s"
    return [
        Verdict("the service runs on", "yes" if found["alive"] else "no", "yes", found["alive"]),
        Verdict(
            "memory, growth at its peak", f"{growth:.0f} MB", f"< {MOST_GROWTH_MB:.0f} MB", growth < MOST_GROWTH_MB
        ),
        Verdict("/healthz", said, f"< {WORST_HEALTH_MS:.0f} ms each", quick),
        Verdict("the agent's reports", waited, "0 missed", missed == 0),
    ]


def show(found: dict[str, Any], share: float) -> None:
    came_of = found["load"]["came_of"]
    rows = [
        (load.name, load.at_once, f"{load.per_s * share:g}", _counts(came_of.get(load.name, {})))
        for load in strangers_loads.LOADS
    ]
    print(table(("load", "at once", "per s at most", "what came of it"), rows))
    connections = sum(load.at_once for load in strangers_loads.LOADS)
    print(
        f"{connections} connections at once at most; the strangers used {figures(found)['strangers_cpu_share']} cores"
    )
    for name, value in figures(found).items():
        if name != "came_of":
            print(f"{name:24} {value}")


def _counts(counted: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counted.items(), key=lambda item: -item[1]))


if __name__ == "__main__":
    main(prog_name="python -m benchmarks attacks strangers")
