"""Which file a running agent writes: the server's own, and none that somebody else names on its port."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lutra_agent.changes.source_restore import SourceRestore
from lutra_agent.config.types import RestartConfig
from lutra_agent.control.server import ServerControl
from lutra_agent.engines.common.source import SettingSource
from lutra_agent.engines.families import family
from lutra_agent.engines.redis.server.section import RedisDatabase
from lutra_agent.errors import ApplyRefused
from lutra_agent.files.atomic import pinned
from lutra_agent.files.saved_file import save_file
from lutra_agent.state.snapshot import Snapshot

from tests.support.fakes.clock import FakeClock
from tests.support.servers.engines import missing
from tests.support.servers.false_redis import false_redis

STRANGER = 65534
OURS = '{"records":[]}'


def source_of(port: int, config_file: Path | None = None) -> SettingSource:
    return family("redis").open(RedisDatabase("redis", "127.0.0.1", port, config_file=config_file)).own


@pytest.fixture
def folder() -> Iterator[Path]:
    """Not `tmp_path`: another account may not enter that."""
    if os.geteuid() != 0:
        missing("the rights of root")
    made = Path(tempfile.mkdtemp(prefix="lutra-test-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


def change(source: SettingSource) -> None:
    source.execute(source.undo("maxmemory", "100mb", "104857600", True))


def test_a_file_of_another_account_than_who_answers_is_not_written_and_the_way_out_is_named(folder: Path) -> None:
    record = folder / "changes.json"
    record.write_text(OURS)
    with false_redis(record, uid=STRANGER) as port:
        source = source_of(port)
        found = source.permissions(["maxmemory"])
        assert found.changeable == frozenset()
        assert f"{record}: only the server names this file" in found.explanation
        assert "database.config_file" in found.explanation
        with pytest.raises(ApplyRefused, match=r"database\.config_file"):
            change(source)
    assert record.read_text() == OURS


def test_a_file_of_the_account_that_answers_is_written_as_that_account_would(folder: Path) -> None:
    own = folder / "own" / "redis.conf"
    own.parent.mkdir()
    own.write_text("hz 20\n")
    for path in (own.parent, own):
        os.chown(path, STRANGER, STRANGER)
    with false_redis(own, uid=STRANGER) as port:
        source = source_of(port)
        assert source.permissions(["maxmemory"]).changeable == {"maxmemory"}
        change(source)
    assert own.read_text() == "hz 20\nmaxmemory 100mb\n"
    assert (own.stat().st_uid, own.stat().st_gid, os.geteuid()) == (STRANGER, STRANGER, 0)


def test_roots_own_file_in_the_servers_folder_is_written_by_root(folder: Path) -> None:
    own = folder / "own" / "redis.conf"
    own.parent.mkdir()
    own.write_text("hz 20\n")
    own.chmod(0o640)
    os.chown(own.parent, STRANGER, STRANGER)
    with false_redis(folder, uid=STRANGER) as port:
        change(source_of(port, own))
    assert own.read_text() == "hz 20\nmaxmemory 100mb\n"
    assert (own.stat().st_uid, own.stat().st_mode & 0o777) == (0, 0o640)


def test_the_file_that_the_agents_own_file_names_is_written_whoever_answers(folder: Path) -> None:
    record, own = folder / "changes.json", folder / "redis.conf"
    record.write_text(OURS)
    own.write_text("hz 20\n")
    with false_redis(record, uid=STRANGER) as port:
        source = source_of(port, own)
        assert source.permissions(["maxmemory"]).changeable == {"maxmemory"}
        change(source)
    assert own.read_text() == "hz 20\nmaxmemory 100mb\n"
    assert record.read_text() == OURS


def test_a_process_that_only_the_listener_calls_its_own_makes_no_file_the_servers(folder: Path) -> None:
    """Whoever may start one of root's, as by sudo, or finds one, names files of root's by it."""
    record = folder / "changes.json"
    record.write_text(OURS)
    roots = subprocess.Popen([sys.executable, "-c", "input()", "redis-server"], stdin=subprocess.PIPE)
    try:
        with false_redis(record, uid=STRANGER, pid=roots.pid) as port:
            source = source_of(port)
            assert "not on this host" in source.permissions(["maxmemory"]).explanation
            assert source.backing is not None
            assert source.backing.settings_file() is None
            change(source)
    finally:
        roots.communicate()
    assert record.read_text() == OURS


def test_an_undo_goes_into_the_file_of_the_record_whatever_the_server_names_by_then(tmp_path: Path) -> None:
    own, other = tmp_path / "redis.conf", tmp_path / "changes.json"
    own.write_text("hz 20\nmaxmemory 100mb\n")
    other.write_text(OURS)
    saved = save_file(own)
    own.write_text("hz 20\nmaxmemory 900gb\n")
    with false_redis(other) as port:
        source = source_of(port)
        before = Snapshot({"maxmemory": "100mb"}, {"maxmemory": "104857600"}, saved)
        nobody: Any = None
        control = ServerControl(RestartConfig(), nobody, FakeClock())
        SourceRestore(control, source, before, ["maxmemory"]).by_steps(restart=False, may_restart=False)
        assert source.read()["maxmemory"].value == "104857600"
    assert own.read_text() == "hz 20\nmaxmemory 100mb\n"
    assert other.read_text() == OURS


def test_a_folder_that_takes_anothers_place_meanwhile_is_not_the_one_that_is_written(tmp_path: Path) -> None:
    seen, other = tmp_path / "seen", tmp_path / "other"
    for path in (seen, other):
        path.mkdir()
        (path / "file").write_text(path.name)
    with pinned(seen / "file") as place:
        seen.rename(tmp_path / "away")
        seen.symlink_to(other)
        place.write_text("new")
    assert ((tmp_path / "away" / "file").read_text(), (other / "file").read_text()) == ("new", "other")
