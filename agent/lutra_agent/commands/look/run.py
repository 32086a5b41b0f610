"""One look at the server that a URL names: measured, judged and printed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from lutra_models.symptoms.listed import junit, status

from lutra_agent.clock import Clock, SystemClock
from lutra_agent.commands.look.document import Look, document
from lutra_agent.commands.look.judge import Unknown, judge
from lutra_agent.commands.look.page import page
from lutra_agent.commands.look.reach import Address, Ask, Reached, address, reach
from lutra_agent.commands.look.told import lines
from lutra_agent.engines.common.place import Place
from lutra_agent.errors import CollectionFailed, DatabaseUnavailable
from lutra_agent.metrics.host import HostProbe
from lutra_agent.runtime.seen_database import SeenDatabase, admits_nobody

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Wanted:
    """`fail_on` is a kind of finding or a strength; `junit` and `html` are files to write."""

    url: str
    seconds: float
    fail_on: str
    as_json: bool = False
    junit: Path | None = None
    html: Path | None = None


def looked(wanted: Wanted, tell: Tell, ask: Ask | None) -> tuple[str, int]:
    """The text to print, and the exit status. `tell` takes a line for the person who waits; `ask` asks for a password,
    None if nobody can answer.

    Raises ConfigError, DatabaseUnavailable and CollectionFailed, each with the way out.
    """
    clock, named = SystemClock(), address(wanted.url)
    if named.warning:
        tell(named.warning)
    start = clock.now()
    tell(f"connecting to {named.shown}")
    found = look(named, wanted.seconds, clock, tell, ask)
    made = document(found, named.worded, start, clock.now())
    if wanted.junit is not None:
        wanted.junit.write_text(junit(made["findings"], wanted.fail_on), encoding="utf-8")
    if wanted.html is not None:
        wanted.html.write_text(page(made, start), encoding="utf-8")
    text = json.dumps(made, indent=1) if wanted.as_json else "\n".join(lines(made))
    return text, status(made["findings"], wanted.fail_on)


def look(named: Address, seconds: float, clock: Clock, tell: Tell, ask: Ask | None) -> Look:
    """Raises ConfigError, DatabaseUnavailable and CollectionFailed, each with the way out."""
    reached = reach(named, ask)
    try:
        return _seen(named, reached, seconds, clock, tell)
    except (DatabaseUnavailable, CollectionFailed) as error:
        raise type(error)(named.worded(str(error))) from error
    finally:
        reached.engine.health.close()


def _seen(named: Address, reached: Reached, seconds: float, clock: Clock, tell: Tell) -> Look:
    engine = reached.engine
    probe = HostProbe(programs=engine.health.programs)
    account = reached.section.user
    if reached.refusal is not None:
        server, window = admits_nobody(reached.refusal, reached.family.name, probe, seconds)
        judgement = judge(server, [window], (), Place())
        if not judgement.diagnosis.symptoms:
            raise reached.refusal
        nothing_else = Unknown("nothing else can be judged while the server accepts no connections", ())
        return Look(named.shown, account, Place(), (), replace(judgement, unknown=(nothing_else,)))
    database = SeenDatabase(engine, clock, probe)
    tell(f"connected to {named.shown}; nothing is changed; measuring for {seconds:g} s")
    windows, problems, measured_s = [], list[str](), 0.0
    for window, unread in database.windows(seconds):
        windows.append(window)
        problems += unread
        measured_s += window.seconds
        tell(f"measured {min(measured_s, seconds):.0f} of {seconds:g} s")
    server, place = database.observed_server(), database.place()
    judgement = judge(server, windows, [named.worded(p) for p in dict.fromkeys(problems)], place)
    visible = tuple(
        replace(v, detail=named.worded(v.detail), remedy=named.worded(v.remedy)) for v in engine.telemetry.visible()
    )
    return Look(named.shown, account, place, visible, judgement, tuple(map(named.worded, database.unreadable)))
