"""`lutra-agent symptoms`: the current symptoms of the server, and the settings that would cure them. Changes
nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import click
from lutra_models.catalog import meet
from lutra_models.errors import printable
from lutra_models.server import Policy
from lutra_models.symptoms import Diagnosis, diagnose
from lutra_models.symptoms.listed import (
    Acceptance,
    junit,
    kinds_of,
    lines,
    listed,
    status,
)

from lutra_agent.clock import Clock, SystemClock
from lutra_agent.config.types import Config
from lutra_agent.errors import NoAnswer, NoConnectionLeft, ServerStarting
from lutra_agent.runtime.compose import local_database
from lutra_agent.runtime.seen_database import admits_nobody


def look(config: Config, seconds: float, clock: Clock) -> Diagnosis:
    """The diagnosis of windows of at most ten seconds. Raises DatabaseUnavailable and CollectionFailed.

    A server that refuses every login, or does not answer, is judged by that alone.
    """
    database = local_database(config, clock)
    try:
        with suppress(ServerStarting):  # some tell of themselves meanwhile
            database.engine.health.ping()
        windows = [window for window, _ in database.windows(seconds, names=config.agent.names)]
        restart = config.agent.mode != "reload_only"
        policy = Policy(
            restart=restart,
            durability=config.agent.durability,
            host=config.host.settings,
            memory_fraction=config.agent.memory_fraction,
            memory_count=config.agent.memory_count,
        )
        return diagnose(meet(database.observed_server()), policy, windows)
    except (NoConnectionLeft, NoAnswer) as error:
        nobody, window = admits_nobody(error, config.database.engine, database.probe, seconds)
        found = diagnose(meet(nobody), Policy(), [window])
        if not found.symptoms:
            raise
        return found
    finally:
        database.engine.health.close()


def report(found: Diagnosis, config: Config, now: datetime) -> dict[str, Any]:
    """The list of findings as a document; the risks that the agent's file accepts come last."""
    risks = [Acceptance(name, one.because, one.until, one.kind) for name, one in config.accepted.items()]
    return listed(found, config.database.engine, now, risks)


def looked(config: Config, seconds: float, as_json: bool, junit_file: Path | None, threshold: str) -> int:
    """Look, and print the list. Returns the command's exit status.

    Raises DatabaseUnavailable and CollectionFailed.
    """
    clock = SystemClock()
    document = report(look(config, seconds, clock), config, clock.now())
    for name in unknown(config):
        click.echo(printable(f"accepted.{name}: this engine has no symptom with this name"), err=True)
    if junit_file is not None:
        junit_file.write_text(junit(document, threshold), encoding="utf-8")
    click.echo(show(document, as_json))
    return status(document, threshold)


def show(document: Mapping[str, Any], as_json: bool) -> str:
    return json.dumps(document, indent=1) if as_json else "\n".join(lines(document))


def unknown(config: Config) -> list[str]:
    """The accepted symptoms in the agent's file that do not exist for this engine."""
    return sorted(config.accepted.keys() - kinds_of(config.database.engine).keys())
