"""`lutra` itself: its help, which loads no verb, and the verbs that other distributions plug in."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint, EntryPoints

import click
import pytest
from click.testing import CliRunner
from lutra_client.commands import program
from lutra_client.commands.program import VERBS, main

HEAVY = ("httpx", "pydantic", "sqlalchemy", "fastapi", "lutra_service", "lutra_agent", "lutra_lab", "numpy")
HERE = main.list_commands(click.Context(main))
ASKED = """
import sys
from lutra_client.commands.program import main
main({arguments!r}, standalone_mode=False)
print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr)
"""


@click.command()
def _theirs() -> None:
    """Count the otters. Then more."""


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_neither_help_nor_version_loads_a_verb(arguments: list[str]) -> None:
    code = ASKED.format(arguments=arguments, heavy=HEAVY)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "[]\n")


def test_the_help_lists_every_verb_in_its_section_once() -> None:
    said = CliRunner().invoke(main, ["--help"]).output
    place = 0
    for section, verbs in VERBS.items():
        place = said.index(f"\n{section}:\n", place)
        for name, verb in ((n, v) for n, v in verbs.items() if n in HERE):
            assert f"\n  {name} " in said[place:], name
            assert " ".join(verb.about.split()) in " ".join(said.split()), name


@pytest.mark.parametrize("name", HERE)
def test_every_verb_explains_itself(name: str) -> None:
    told = CliRunner().invoke(main, [name, "--help"])
    assert told.exit_code == 0, told.output
    assert f"Usage: lutra {name}" in told.output or f"Usage: main {name}" in told.output
    command = main.get_command(click.Context(main), name)
    assert command is not None
    assert command.help


def test_a_verb_of_a_distribution_that_is_missing_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "entry_points", lambda **_: EntryPoints())
    said = CliRunner().invoke(main, ["--help"]).output
    assert "\n  status " in said
    assert "\n  demo " not in said
    ended = CliRunner().invoke(main, ["demo"])
    assert (ended.exit_code, "pip install lutra-lab" in ended.output) == (2, True)
    assert "No such command 'undo'" in CliRunner().invoke(main, ["undo"]).output


def test_a_verb_that_anybody_else_brings_is_listed_and_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = EntryPoint("otters", f"{__name__}:_theirs", program.ELSEWHERE)
    monkeypatch.setattr(EntryPoint, "load", lambda _: _theirs)
    monkeypatch.setattr(program, "entry_points", lambda **_: EntryPoints([theirs]))
    said = CliRunner().invoke(main, ["--help"]).output
    assert "Other:\n  otters" in said
    assert "Count the otters." in said
    assert CliRunner().invoke(main, ["otters"]).exit_code == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_the_verbs(shell: str) -> None:
    made = CliRunner().invoke(main, prog_name="lutra", env={"_LUTRA_COMPLETE": f"{shell}_source"})
    assert "_LUTRA_COMPLETE=" in made.output
    words = {"COMP_WORDS": "lutra sess", "COMP_CWORD": "sess" if shell == "fish" else "1"}
    told = CliRunner().invoke(main, prog_name="lutra", env={"_LUTRA_COMPLETE": f"{shell}_complete", **words})
    assert "sessions" in told.output
