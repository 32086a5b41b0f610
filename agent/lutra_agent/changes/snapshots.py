"""The active configuration, kept by setting source, so that it can be restored."""

from __future__ import annotations

from collections.abc import Sequence

from lutra_models.catalog import Change, LiveSettings
from lutra_models.catalog.statements import Step
from lutra_models.errors import InvalidConfiguration
from lutra_models.server import SERVER, Server

from lutra_agent.admission.preconditions import Plan
from lutra_agent.engines.common.engine import Engine
from lutra_agent.engines.common.source import SettingSource, by_source
from lutra_agent.state.snapshot import (
    BASELINE,
    Snapshot,
    Snapshots,
    active_in,
    store_snapshots,
    stored_snapshots,
    texts_in,
)
from lutra_agent.state.store import State


def take_snapshots(engine: Engine, server: Server) -> Snapshots:
    """One for each setting source, of all the settings that it keeps."""
    return {
        source.name: _taken(engine, source, server, names)
        for source, names in by_source(engine.sources, server.settings)
    }


def _taken(engine: Engine, source: SettingSource, server: Server, names: Sequence[str]) -> Snapshot:
    texts = {n: server.settings[n].persisted for n in names}
    active = {n: server.settings[n].value for n in names}
    file = None if source.backing is None else source.backing.save()
    if source.name != SERVER:
        return Snapshot(texts, active, file)
    folder = engine.health.place().folder
    name = "" if folder is None else engine.health.name_in(folder)
    return Snapshot(texts, active, file, folder, name, server.identifier)


def concerned(plan: Plan, snapshots: Snapshots) -> Snapshots:
    """The sources that keep some of the plan's settings, and the server's own, because the server is restarted."""
    kept = {SERVER, *(source.name for source in plan.sources)}
    return {name: s for name, s in snapshots.items() if name in kept}


def complete_baseline(state: State, before: Snapshots) -> None:
    """Keep the configuration from before the agent's first change, in each source that the baseline does not
    have yet.
    """
    baseline = stored_snapshots(state, BASELINE)
    if baseline is not None or state.load(BASELINE) is None:
        store_snapshots(state, BASELINE, {**before, **(baseline or {})})


def differences(server: Server, snapshots: Snapshots) -> list[str]:
    """The settings whose file text, or whose active value, is not the snapshot's."""
    texts, active = texts_in(snapshots), active_in(snapshots)
    return [
        name
        for name, setting in server.settings.items()
        if name in texts and (setting.persisted != texts[name] or setting.value != active[name])
    ]


def baseline_steps(state: State, live: LiveSettings, plan: Plan) -> list[tuple[SettingSource, list[Step]]]:
    """The steps of each source, with the baseline's own text if the baseline has the requested value of a setting.

    A setting without a line in the baseline's file therefore gets none.
    """
    baseline = stored_snapshots(state, BASELINE)
    if baseline is None:
        return []
    texts, actives = texts_in(baseline), active_in(baseline)

    def steps(source: SettingSource, change: Change) -> tuple[Step, ...]:
        active = actives.get(change.name)
        if active is not None and _means(live, change, active):
            return source.undo(change.name, texts[change.name], active, plan.restart)
        return source.plan(change, plan.restart)

    return [(part.source, [s for c in part.changes for s in steps(part.source, c)]) for part in plan.parts]


def _means(live: LiveSettings, change: Change, text: str) -> bool:
    try:
        return live.parse(change.name, text) == change.after
    except InvalidConfiguration:  # this server takes it no longer
        return False
