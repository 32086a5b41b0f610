"""A scenario from the well-tuned server over its fault to what three proposals made of it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lutra_lab.servers.errors import LabError
from lutra_lab.servers.mariadb import HISTOGRAM
from lutra_lab.servers.postgresql import ScratchPostgres
from lutra_models.catalog import meet
from lutra_models.knobs import Configuration
from lutra_models.server import Policy

from benchmarks.lab.data import Setting, made
from benchmarks.lab.labs import LABS, Lab
from benchmarks.lab.place import Place, opened
from benchmarks.lab.race.loads import PROGRAMS
from benchmarks.lab.small_host import Limits
from benchmarks.live.clients import SLICE_S, Busy
from benchmarks.live.operator import Operator, operating, settings_of
from benchmarks.live.scenarios import Scenario
from benchmarks.tuning.rows import CODE, Results

RESULTS = Path(__file__).parent / "results"
KEY = ("scenario", "code")
Say = Callable[[str], None]
Row = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """How many slices of a load make a reading of p99 (their median), and how many proposals are looked at."""

    slices: int = 5
    proposals: int = 3
    observed_s: int = 120
    setting: Setting = field(default_factory=Setting)


def lab_of(scenario: Scenario) -> Lab:
    """As in the lab; the server counts statements or their times. PostgreSQL is Debian's 15."""
    lab = LABS[scenario.engine]
    if scenario.engine != "postgresql":
        counts = HISTOGRAM if scenario.engine == "mariadb" else {}
        return replace(lab, options={**lab.options, **counts}, pins={})

    def make(folder: Path, options: Any) -> ScratchPostgres:
        return ScratchPostgres(folder, options=options, programs=PROGRAMS)

    options = {**lab.options, "shared_preload_libraries": "pg_stat_statements"}
    return replace(lab, make=make, options=options, files=(*lab.files, "postgresql.auto.conf"))


def run(scenario: Scenario, plan: Plan, say: Say, results: Path = RESULTS) -> None:
    """Measure it where its row is not there yet. Raises LabError."""
    file = Results(results / "scenarios.jsonl", KEY)
    if {"scenario": scenario.name, "code": CODE} in file:
        return
    setting = replace(plan.setting, limits=Limits(memory_bytes=scenario.memory_gib << 30))
    lab = lab_of(scenario)
    data = made(lab, f"live-{scenario.engine}-{setting.size.tables}x{setting.size.rows}", setting)
    began = time.monotonic()
    with opened(f"live-{scenario.engine}", lab, data, setting, ranges="server") as place:
        row = _course(scenario, plan, place, say)
    seconds = round(time.monotonic() - began)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    file.add({"scenario": scenario.name, "code": CODE, **row, "seconds": seconds, "at": at})


def _course(scenario: Scenario, plan: Plan, place: Place, say: Say) -> Row:
    live = meet(place.look())
    tuned = live.values.replace(live.rule_based(Policy()))
    _apply(place, tuned)
    if scenario.engine == "postgresql":
        place.server.sql("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
    with Busy(place.server, scenario.clients, plan.setting.size) as busy:

        def p99(what: str) -> list[float]:
            found = busy.next(plan.slices + 1)[1:]  # the first begins with cold caches
            say(f"{scenario.name}: {what}: p99 {statistics.median(found):.1f} ms")
            return found

        row: Row = {"slice_s": SLICE_S, "well_tuned": p99("well tuned")}
        if scenario.fault:
            _apply(place, tuned.replace({n: live.parse(n, v) for n, v in scenario.fault.items()}))
            row["faulty"] = p99("with its fault")
        folder = place.server.directory.parent / "operator"
        with operating(place.server, place.host.command, folder, plan.observed_s) as operator:
            return {**row, **_proposals(scenario, plan, operator, p99)}


def _proposals(scenario: Scenario, plan: Plan, operator: Operator, p99: Callable[[str], list[float]]) -> Row:
    seen: list[Row] = []
    while len(seen) < plan.proposals:
        proposal = operator.next()
        if proposal is None:
            break
        ended = operator.approve(proposal)
        named = sorted(scenario.named & set(settings_of(proposal)))
        seen.append(
            {
                "changes": [[c["setting"], c["before_text"], c["after_text"]] for c in proposal["changes"] or ()],
                "reasons": [r["sentence"] for r in proposal.get("reasons") or ()],
                "origin": proposal["origin"],
                "state": ended["state"],
                "ended": {key: ended.get(key) for key in ("outcome", "error", "reason", "failed") if ended.get(key)},
                "named": named,
                "p99": p99(f"after proposal {len(seen) + 1} ({ended['state']}; {', '.join(named) or 'not the fault'})"),
            }
        )
        if named and scenario.fault:
            break
    return {"proposals": seen, "said": operator.said()}


def _apply(place: Place, configuration: Configuration) -> None:
    """Raises LabError."""
    with place.host.unhurried():
        outcome = place.applied(configuration, restore=True)
    if outcome.state != "applied":
        raise LabError(f"not applied: {outcome.code}: {outcome.message}")
