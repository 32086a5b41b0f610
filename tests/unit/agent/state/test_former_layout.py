"""State folders of the former layout, in which a change was spread over five files, are taken over at every stage.

The folders were made by the agent of that layout, killed before and after each of its writes. `expected` is what that
agent itself made of them when it was started again.
"""

from __future__ import annotations

import errno
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lutra_agent.state import former_layout
from lutra_agent.state.change_record import Changes
from lutra_agent.state.change_store import ChangeStore
from lutra_agent.state.store import State

from tests.support.directed import Directed, directed

DATA = Path(__file__).parents[3] / "support" / "data" / "former_state_folders.json"
FOLDERS: list[dict[str, Any]] = json.loads(DATA.read_text())
STAGES = {"applying", "restarting", "undoing", "provisional", "watching", "done"}


def left_behind(found: dict[str, Any], folder: Path) -> Directed:
    """An agent that is started where another version was killed."""
    made = directed(folder)
    for name, content in found["state"].items():
        text = json.dumps(content).replace("@FOLDER@", str(folder))
        (folder / "state" / f"{name}.json").write_text(text)
    server, engine = found["server"], made.engine
    engine.path.write_text(server["file"])
    engine.up, engine.came_up = server["up"], server["came_up"]
    for name, (value, waits) in server["settings"].items():
        engine.settings[name] = replace(engine.settings[name], value=value, pending_restart=waits)
    return made


def files(folder: Path) -> set[str]:
    return {p.stem for p in (folder / "state").glob("*.json")}


def test_there_is_a_folder_of_every_stage(tmp_path: Path) -> None:
    stages, progress = set(), set()
    for number, found in enumerate(FOLDERS):
        (tmp_path / str(number)).mkdir()
        for record in left_behind(found, tmp_path / str(number)).changes.records:
            stages.add(record.stage)
            progress.add(record.undo and record.undo.progress)
    assert stages == STAGES
    assert progress == {None, "started", "restarted"}


@pytest.mark.parametrize("found", FOLDERS, ids=[f["name"] for f in FOLDERS])
def test_a_folder_of_the_former_layout_ends_as_its_own_agent_would_have_ended_it(
    found: dict[str, Any], tmp_path: Path
) -> None:
    made, expected = left_behind(found, tmp_path), found["expected"]
    ChangeStore(made.state).adopt()
    assert files(tmp_path) <= {"changes"}
    recovered = made.executor().recover()
    changes = ChangeStore(State(tmp_path / "state")).load()
    assert (recovered and [recovered.directive, recovered.state, recovered.code]) == expected["recovered"]
    assert (made.active(), made.engine.path.read_text()) == (expected["active"], expected["file"])
    assert changes.in_hand is None
    assert (changes.watched and [changes.watched.directive, changes.watched.confirmed]) == expected["watched"]
    assert {r.directive: r.outcome and r.outcome.state for r in changes.records} == expected["answers"]
    due = {(o.directive, o.state) for o in changes.due}
    promised = {(directive, state) for directive, state in expected["outbox"]}
    assert promised <= due
    assert due <= promised | never_reported(found) | {(recovered.directive, recovered.state) if recovered else ()}


def never_reported(found: dict[str, Any]) -> set[tuple[str, str]]:
    answers = found["state"].get("answers", {})
    return {(name, a["outcome"]["state"]) for name, a in answers.items() if not a["reported"]}


@pytest.mark.parametrize("found", FOLDERS[::9], ids=[f["name"] for f in FOLDERS[::9]])
def test_the_former_files_are_gone_only_once_the_new_one_is_durable(
    found: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = left_behind(found, tmp_path)
    before, changes = files(tmp_path), made.changes

    def full(path: Path, content: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr("lutra_agent.state.store.write_json", full)
        ChangeStore(made.state).adopt()
        assert (files(tmp_path), made.changes) == (before, changes)
    ChangeStore(State(tmp_path / "state")).adopt()
    assert files(tmp_path) <= {"changes"}
    assert made.changes == changes


def test_an_agent_killed_before_it_removed_the_former_files_removes_them_and_believes_its_own(tmp_path: Path) -> None:
    made = left_behind(next(f for f in FOLDERS if f["expected"]["watched"]), tmp_path)
    changes = made.changes
    text = (tmp_path / "state" / "provisional.json").read_text()
    ChangeStore(made.state).adopt()
    (tmp_path / "state" / "provisional.json").write_text(text.replace("rec_1", "rec_9"))
    ChangeStore(made.state).adopt()
    assert files(tmp_path) <= {"changes"}
    assert made.changes == changes


@pytest.mark.parametrize("name", former_layout.FILES)
@pytest.mark.parametrize("content", ["{", "[]", "3", '{"directive": 1}', '{"rec_1": {"outcome": null}}'])
def test_a_former_file_that_makes_no_sense_is_as_if_it_were_absent(tmp_path: Path, name: str, content: str) -> None:
    made = directed(tmp_path)
    (tmp_path / "state" / f"{name}.json").write_text(content)
    assert made.changes == Changes()
    ChangeStore(made.state).adopt()
    assert files(tmp_path) <= {"changes"}
