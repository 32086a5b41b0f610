"""Completion at the prompt, by each shell itself: verbs, their verbs, options, and the names of the databases."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.servers.engines import missing
from tests.support.service.served import LUTRA, Served

pytestmark = pytest.mark.slow
SHELLS = {
    "bash": """
        eval "$(_LUTRA_COMPLETE=bash_source lutra)"
        COMP_WORDS=(lutra {words}); COMP_CWORD={count}
        _lutra_completion lutra
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """,
    "zsh": """
        compdef() {{ :; }}
        _describe() {{ local -a found; found=("${{(@P)3}}"); print -rl -- "${{found[@]%%:*}}"; }}
        compadd() {{ while [[ $1 == -* ]]; do shift; [[ $1 == unsorted ]] && shift; done; print -rl -- "${{(@P)1}}"; }}
        eval "$(_LUTRA_COMPLETE=zsh_source lutra)"
        words=(lutra {words}); CURRENT={count}+1
        _lutra_completion
    """,
    "fish": """
        _LUTRA_COMPLETE=fish_source lutra | source
        complete -C "lutra {line}" | string replace -r '\\t.*' ''
    """,
}
"""A script that prints what the shell offers after some words; zsh offers it by two functions of its own."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of somebody who works with a service that has two databases, of which one is retired."""
    home: Path = tmp_path_factory.mktemp("completion")
    with Served(home) as served:
        for name in ("shop", "shop-old", "bakery"):
            served.api.take("POST", "/v1/databases", {"name": name, "engine": "postgresql"})
        old = served.api.take("GET", "/v1/databases?name=shop-old")["items"][0]["id"]
        served.api.take("PUT", f"/v1/databases/{old}/retired")
        yield {
            "PATH": f"{LUTRA.parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(home),
            "LUTRA_URL": f"http://127.0.0.1:{served.port}",
            "LUTRA_TOKEN": served.token,
        }


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes_verbs_options_and_names(place: dict[str, str], shell: str) -> None:
    if shutil.which(shell) is None:
        missing(shell)

    def offered(line: str) -> set[str]:
        words = line.split(" ")
        quoted = " ".join(f"'{word}'" for word in words)
        script = SHELLS[shell].format(words=quoted, count=len(words), line=line)
        no_files = {"fish": [], "zsh": ["-f"], "bash": ["--norc"]}[shell]
        done = subprocess.run([shell, *no_files, "-c", script], env=place, capture_output=True, text=True, check=False)
        assert done.stderr == ""
        return set(done.stdout.split())

    assert offered("sess") == {"sessions"}
    assert offered("sessions st") == {"stop"}
    assert {"--since", "--json"} <= offered("status --")
    assert offered("status sh") == {"shop"}
    assert offered("databases unretire ") == {"shop-old"}
    assert offered("approve ba") == {"bakery"}


def test_where_no_service_answers_no_name_is_offered_and_nothing_is_said(place: dict[str, str]) -> None:
    for away in ({"LUTRA_URL": "http://127.0.0.1:9"}, {"LUTRA_TOKEN": ""}, {"LUTRA_URL": "http://lutra.example"}):
        asked = {"_LUTRA_COMPLETE": "bash_complete", "COMP_WORDS": "lutra status ", "COMP_CWORD": "2"}
        done = subprocess.run([LUTRA], env={**place, **away, **asked}, capture_output=True, text=True, check=False)
        assert (done.stdout.strip(), done.stderr) == ("", ""), away
