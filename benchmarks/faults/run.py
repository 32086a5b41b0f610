"""One fault from a healthy server under load to what the agent's look says, and whether the cure makes it go away."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from lutra_agent.clock import SystemClock
from lutra_agent.commands.symptoms import look
from lutra_agent.config.types import Config
from lutra_agent.runtime.compose import local_database
from lutra_lab.servers.base import ScratchServer
from lutra_lab.servers.errors import LabError
from lutra_models.catalog import meet
from lutra_models.catalog.statements import FileLine
from lutra_models.errors import LutraError
from lutra_models.server import Policy
from lutra_models.symptoms import Diagnosis, Symptom

from benchmarks.faults.fault import Fault, Scene
from benchmarks.faults.lines import answer
from benchmarks.faults.shop import Busy, fill
from tests.support.agent.processes import config
from tests.support.servers.engines import scratch

FIRST = 3
"""Of this many lines one has to name the fault."""
RIGHT_AWAY_S = 60.0
Row = dict[str, Any]


def run(fault: Fault, usual: str) -> Row:
    """A row of what was found. Raises LabError where the server could not be made wrong."""
    name = fault.server or usual
    with (
        tempfile.TemporaryDirectory(prefix="lutra-faults-") as folder,
        scratch(name, **fault.options) as server,
        Busy(prepared(server)),
        ExitStack() as ends,
    ):
        scene = Scene(server, Path(folder), ends)
        # A server that is made wrong may not say what an agent's file has of it.
        made = config(server, "http://127.0.0.1:9", Path(folder) / "agent", "restart_in_window")
        if fault.make is not None:
            fault.make(scene)
        found = seen(made, fault.seconds)
        lines = told(found)
        named = next((s for s in found.symptoms if s.name in fault.causes), None)
        row: Row = {
            "fault": fault.name,
            "family": fault.family,
            "server": name,
            "seconds": fault.seconds,
            "lines": lines,
            "answer": answered(server, Path(folder), found),
            "place": place(found.symptoms, fault.causes),
            "sentence": named.sentence if named else "",
            "not_judged": [n for n in found.not_judged if n in fault.causes],
            "gone": None,
        }
        if named is not None and fault.treatable:
            carry_out(fault, scene, named)
            again = seen(made, fault.seconds)
            row["gone"] = place(again.symptoms, fault.causes) is None
            row["after"] = told(again)
        return row


def prepared(server: ScratchServer) -> ScratchServer:
    fill(server)
    if server.engine == "postgresql" and server.options.get("shared_preload_libraries"):
        server.sql("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
    return server


def seen(made: Config, seconds: float) -> Diagnosis:
    """The look that `lutra-agent symptoms` takes."""
    return look(made, seconds, SystemClock())


def told(found: Diagnosis) -> list[list[Any]]:
    """Kind, name, strength and sentence of each finding, the most harmful first."""
    return [[s.kind, s.name, round(s.strength, 2), s.sentence] for s in found.symptoms]


def answered(server: ScratchServer, folder: Path, found: Diagnosis) -> list[str]:
    """The first answer of a session on this server; nothing where the fault keeps its settings from being read."""
    database = local_database(
        config(server, "http://127.0.0.1:9", folder / "agent", "restart_in_window"), SystemClock()
    )
    try:
        return answer(meet(database.observed_server()), Policy(), found)
    except LutraError:
        return []
    finally:
        database.engine.health.close()


def place(symptoms: Sequence[Symptom], causes: frozenset[str]) -> int | None:
    """Of the first finding that names the fault, from 1."""
    return next((n for n, s in enumerate(symptoms, 1) if s.name in causes), None)


def carry_out(fault: Fault, scene: Scene, finding: Symptom) -> None:
    """What the finding says: its cures, where it has some, and else a person's statements. Raises LabError."""
    if fault.treat is not None:
        fault.treat(scene, finding)
        return
    wanted = {c.setting: c.after for c in finding.cures if c.after is not None}
    if wanted:
        change(scene.server, scene.folder, wanted)
        return
    if not finding.statements:
        raise LabError(f"{fault.name}: {finding.name} says nothing that could be carried out")
    with scene.server.session() as execute:
        for statement in finding.statements:
            with _named(fault.name):
                execute(statement.rstrip(";"))
    if any("restart" in s for s in (finding.sentence, *finding.statements)):
        scene.server.stop()
        scene.server.start()


def change(server: ScratchServer, folder: Path, wanted: dict[str, Any]) -> None:
    """The settings, by the steps that an operator is shown; with a restart where one of them needs it."""
    database = local_database(config(server, "http://127.0.0.1:9", folder / "agent", "lab"), SystemClock())
    try:
        live = meet(database.observed_server())
        made = live.changes(wanted)
        steps = [step for each in live.steps(made) for step in each.do_by_hand]
    finally:
        database.engine.health.close()
    for step in steps:
        if isinstance(step, FileLine):
            _keep(server, step.text)
        else:
            server.sql(step.text)
    if any(c.applies == "restart" for c in made):
        server.stop()
        server.start()


def _keep(server: ScratchServer, line: str) -> None:
    """In the file that the server reads at its start."""
    section = "" if server.include_file is None else "[mysqld]\n"
    path = server.include_file or server.directory / "server.conf"
    with path.open("a") as file:
        file.write(f"{section}{line}\n")


@contextmanager
def _named(name: str) -> Iterator[None]:
    try:
        yield
    except LabError as error:
        raise LabError(f"{name}: {error}") from error
