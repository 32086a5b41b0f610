from __future__ import annotations

import os
from pathlib import Path

import pytest
from lutra_agent.files.atomic import made_in
from lutra_agent.reporting.spool import Spool
from lutra_agent.state.store import State

AGENT = (1234, 4321)


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[int, int]]:
    """File → whom a process that runs as root gives it to, in a folder of the agent's; nothing is really given away."""
    found: dict[str, tuple[int, int]] = {}

    def give(path: str | Path, uid: int, gid: int, follow_symlinks: bool = True) -> None:
        found[Path(path).name.lstrip(".").split(".")[0]] = (uid, gid)

    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("lutra_agent.files.atomic.made_in", lambda folder: AGENT)
    monkeypatch.setattr("os.chown", give)
    monkeypatch.setattr("os.fchown", lambda file, uid, gid: give(Path(f"/proc/self/fd/{file}").readlink(), uid, gid))
    return found


def test_what_root_writes_into_the_agents_folder_is_the_agents_to_read(
    tmp_path: Path, given: dict[str, tuple[int, int]]
) -> None:
    state = State(tmp_path / "state")
    assert state.lock()
    state.pause()
    state.save("outcomes", [])
    Spool(tmp_path / "state" / "spool").append(lambda sequence: b"report")
    state.unlock()
    files = {"state", "lock", "paused", "outcomes", "spool", "refused", "held", f"{0:020d}"}
    assert given == dict.fromkeys(files, AGENT)


def test_what_is_there_already_is_given_to_nobody(tmp_path: Path, given: dict[str, tuple[int, int]]) -> None:
    (tmp_path / "paused").symlink_to(tmp_path / "somebody_elses")
    (tmp_path / "lock").touch()
    state = State(tmp_path)
    state.pause()
    assert state.lock()
    state.unlock()
    assert given == {}
    assert not (tmp_path / "somebody_elses").exists()


def test_a_new_file_is_its_makers_and_as_root_its_folders_owners(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert made_in(tmp_path) == (os.geteuid(), os.getegid())
    folder = tmp_path.stat()
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("os.getegid", lambda: 77)
    assert made_in(tmp_path) == (folder.st_uid, folder.st_gid)
