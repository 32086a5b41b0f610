"""`lutra` in tests: its verbs, and what its JSON has to be."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import click
from jsonschema import Draft202012Validator
from lutra_client.commands.program import main

Path_ = tuple[str, ...]
DOCUMENT = Path(__file__).parents[2] / "service" / "openapi.json"


@cache
def components() -> Any:
    """The types of the REST interface."""
    return json.loads(DOCUMENT.read_text())["components"]


def faults(name: str, output: str) -> list[str]:
    """What of a verb's JSON does not fit a type of the REST interface; that nothing was printed is a fault as well."""
    checker = Draft202012Validator({"$ref": f"#/components/schemas/{name}", "components": components()})
    found = objects(output)
    return [e.message for one in found for e in checker.iter_errors(one)] or ([] if found else ["nothing was printed"])


def objects(output: str) -> list[Any]:
    try:
        return [json.loads(line) for line in output.splitlines()]
    except ValueError:  # one document over several lines
        return [json.loads(output)]


def faults_of_unit(unit: Path) -> str:
    """What systemd says of a unit file, which begins with its name; nothing where systemd's own checker is missing."""
    checker = shutil.which("systemd-analyze")
    if checker is None:
        return ""
    place = {**os.environ, "XDG_RUNTIME_DIR": str(unit.parent)}
    done = subprocess.run([checker, "--user", "verify", unit], env=place, capture_output=True, text=True, check=False)
    return "\n".join(line for line in done.stderr.splitlines() if str(unit) in line)


def commands() -> Iterator[tuple[Path_, click.Command]]:
    """Every verb that does something by itself, and every verb of it."""
    yield from _inside(main, (), click.Context(main))


def _inside(group: click.Group, path: Path_, context: click.Context) -> Iterator[tuple[Path_, click.Command]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if not isinstance(command, click.Group) or command.invoke_without_command:
            yield (*path, name), command
        if isinstance(command, click.Group):
            yield from _inside(command, (*path, name), context)
