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

from tests.support.cli import commands

HEAVY = (
    "httpx", "pydantic", "sqlalchemy", "fastapi", "lutra_service.api", "lutra_service.app", "lutra_service.db",
    "lutra_agent.engines", "lutra_lab", "numpy", "lutra_models.catalog",
)  # fmt: skip
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


@pytest.mark.parametrize("arguments", ["--help", "--version", "databases list --help", "next --help", "up --help"])
def test_no_help_loads_what_only_a_call_needs(arguments: str) -> None:
    code = ASKED.format(arguments=arguments.split(), heavy=HEAVY)
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


def test_every_verb_has_an_example() -> None:
    """In its own help or in that of its group, so that nobody has to put the first call together from options."""
    helps = {path: command.help or "" for path, command in commands()}
    groups = {name: main.get_command(click.Context(main), name) for name in HERE}
    for path, text in helps.items():
        group = groups[path[0]]
        assert group is not None
        examples = (text + (group.help or "")).partition("\b")[2]
        assert f"lutra {' '.join(path)}" in examples, path


def test_a_verb_of_a_distribution_that_is_missing_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "entry_points", lambda **_: EntryPoints())
    said = CliRunner().invoke(main, ["--help"]).output
    assert "\n  status " in said
    assert "\n  demo " not in said
    ended = CliRunner().invoke(main, ["demo"])
    assert (ended.exit_code, "pip install lutra-lab" in ended.output) == (2, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["stauts"], "There is no verb 'stauts'. Did you mean `lutra status`?"),
        (
            ["retire", "shop"],
            "There is no verb 'retire'. Did you mean `lutra databases retire`",
        ),
        (["sessions", "opn"], "No such command 'opn'. Did you mean 'open'?"),
        (["status", "--sicne", "3d"], "'--since'"),
        (["models", "promot"], "Did you mean 'promote'?"),
        (["undo\x1b[2J"], "There is no verb 'undo?[2J'."),
    ],
)
def test_an_unknown_word_is_answered_with_near_ones(words: list[str], said: str) -> None:
    ended = CliRunner().invoke(main, words)
    assert (ended.exit_code, said in ended.output) == (2, True), ended.output


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
