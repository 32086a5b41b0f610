"""A package that means harm, among the candidates: what the recommendations of the databases take meanwhile.

The service has one worker. Blocks of recommendations with nothing beside take turns with blocks under attack, so that
a history that grows and a machine that has moods meet both alike.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from typing import Any

import click

from benchmarks.attacks import plugin_parts
from benchmarks.attacks.bad_token import registered, token_of
from benchmarks.attacks.bad_token_others import Neighbour
from benchmarks.attacks.stores import Stored, env_option, environment, out_option, scratch_folder, store_option, stored
from benchmarks.attacks.verdicts import Verdict, conclude, table
from tests.support.service.hosted import Api

ROOT = Path(__file__).parents[2]
KINDS = ("sleeps", "eats", "burns", "turns")
FIRST_TRIALS = 6
"""The first recommendations fit little."""
LIMIT_S = 120.0
"""A candidate has half of it, in which the conformance suite has to end on a busy machine."""
MOST = 1.2


@click.command()
@click.option("--rounds", default=2, show_default=True, help="How often each kind attacks.")
@click.option("--block", default=3, show_default=True, help="Recommendations of each block.")
@store_option
@env_option
@out_option
def main(rounds: int, block: int, store: str, env: tuple[str, ...], out: Path | None) -> None:
    """The time of other databases' recommendations under a hostile candidate, against the time without one."""
    with scratch_folder() as folder:
        package(folder)
        own = {
            "PYTHONPATH": f"{folder}:{ROOT}",
            "LUTRA_WORKERS": "1",
            "LUTRA_FIT_TIMEOUT_S": f"{LIMIT_S:.0f}",
            plugin_parts.MARKER: str(folder / "marker"),
        }
        with stored(store, {**own, **environment(env)}) as made:
            found = attacked(made, folder / "marker", rounds, block)
    show(found)
    conclude("plugin", judged(found), {"store": store, **found}, out)


def package(folder: Path) -> None:
    """Install the parts under `folder`, as a wheel would."""
    info = folder / "attack.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: attack\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(plugin_parts.ENTRY_POINTS)


def attacked(made: Stored, marker: Path, rounds: int, block: int) -> dict[str, Any]:
    api = made.served.api
    database, agent = registered(api, "shop", "agent")
    neighbour = Neighbour(str(made.served.client.base_url), database, agent, token_of(api, database, "operate"))
    neighbour.agent.send()
    neighbour.open_session()
    _block(neighbour, FIRST_TRIALS)
    quiet, loud = [_block(neighbour, block)], []
    for kind in KINDS * rounds:
        with attack(api, kind, marker):
            loud.append((kind, _block(neighbour, block)))
        quiet.append(_block(neighbour, block))
    return {"quiet": quiet, "loud": loud, "errors": neighbour.errors, "ended": _ended(api)}


def _block(neighbour: Neighbour, count: int) -> float:
    """The mean milliseconds of so many recommendations."""
    before = len(neighbour.taken.get("recommendation", ()))
    for _ in range(count):
        neighbour.round()
    return fmean(neighbour.taken["recommendation"][before:])


@contextmanager
def attack(api: Api, kind: str, marker: Path) -> Iterator[None]:
    """A candidate of this kind, scored or in the shadow, until the block ends."""
    model = api.take("POST", "/v1/models", {"name": kind, "options": {"surrogate": {"name": f"attack_{kind}"}}})["id"]
    api.take("POST", f"/v1/models/{model}/score")
    if kind == "turns":
        _wait(api, model)
        api.take("PUT", f"/v1/models/{model}/shadow")
        marker.touch()
    begun = marker.with_suffix(plugin_parts.BEGUN)
    while kind != "turns" and not begun.exists():
        time.sleep(0.2)
    try:
        yield
    finally:
        for file in (marker, begun):
            file.unlink(missing_ok=True)
        api.take("POST", f"/v1/models/{model}/retire")


def _ended(api: Api) -> str:
    """What becomes of a candidate that nobody retires."""
    model = api.take("POST", "/v1/models", {"name": "left", "options": {"surrogate": {"name": "attack_sleeps"}}})["id"]
    api.take("POST", f"/v1/models/{model}/score")
    return str(_wait(api, model)["error"])


def _wait(api: Api, model: str) -> dict[str, Any]:
    while (scoring := api.take("GET", f"/v1/models/{model}")["scoring"])["state"] == "waiting":
        time.sleep(0.5)
    return dict(scoring)


def ratios(found: dict[str, Any]) -> dict[str, float]:
    """By kind, and over all: the blocks under attack against those before and after them."""
    quiet, told = found["quiet"], {}
    pairs = [(kind, ms, fmean(quiet[n : n + 2])) for n, (kind, ms) in enumerate(found["loud"])]
    for name in (*KINDS, "all"):
        mine = [(ms, without) for kind, ms, without in pairs if name in (kind, "all")]
        if not mine:
            continue
        told[name] = round(sum(ms for ms, _ in mine) / sum(without for _, without in mine), 2)
    return told


def show(found: dict[str, Any]) -> None:
    quiet = found["quiet"]
    rows = [(kind, f"{quiet[n]:.0f}", f"{ms:.0f}", f"{quiet[n + 1]:.0f}") for n, (kind, ms) in enumerate(found["loud"])]
    print(table(("candidate", "ms before", "ms beside it", "ms after"), rows))
    print("ratios:", ", ".join(f"{kind} {ratio}" for kind, ratio in ratios(found).items()))
    for error in found["errors"][:10]:
        print("  ", error)


def judged(found: dict[str, Any]) -> list[Verdict]:
    ratio, errors, ended = ratios(found)["all"], len(found["errors"]), found["ended"]
    return [
        Verdict("a recommendation beside it, against one without", f"{ratio}", f"<= {MOST}", ratio <= MOST),
        Verdict("the others' errors", str(errors), "0", errors == 0),
        Verdict(
            "one that sleeps ends by itself", ended, "the computation was lost", "the computation was lost" in ended
        ),
    ]


if __name__ == "__main__":
    main(prog_name="python -m benchmarks attacks plugin")
