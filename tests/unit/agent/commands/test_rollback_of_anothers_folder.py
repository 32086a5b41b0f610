"""Root in a state folder that belongs to another account, which may have put anything there."""

from __future__ import annotations

import base64
import json
import os
import shutil
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lutra_agent.changes.vetted_snapshot import vetted
from lutra_agent.commands.agent_file import parse
from lutra_agent.commands.rollback import roll_back
from lutra_agent.config.types import Config
from lutra_agent.engines.families import family
from lutra_agent.errors import ApplyRefused, ConfigError, DidNotStart
from lutra_agent.files.accounts import acting_for
from lutra_agent.runtime.compose import running
from lutra_agent.state.snapshot import Snapshot
from lutra_agent.state.store import State
from lutra_models.server import SERVER as SERVER_SOURCE

from tests.support.fakes.clock import FakeClock
from tests.support.servers.engines import missing
from tests.support.servers.false_redis import false_redis

AGENT = (65534, 65534)
SERVER = (65533, 65533)
AUTO = "postgresql.auto.conf"
CONTROL, NAME = struct.pack("=Q16xq", 7711985954782165228, 1795595279), "system identifier 7711985954782165228"
NOW = "# by hand\nwork_mem = '900GB'\narchive_command = 'cp %p /backup'\n"


class Place:
    """A host in a folder: the agent's state of one account, the server's data of a second, and root's own files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state, self.data, self.private = (folder / name for name in ("state", "data", "private"))
        for path, owner in ((self.state, AGENT), (self.data, SERVER), (self.private, (0, 0))):
            path.mkdir(mode=0o700)
            os.chown(path, *owner)
        control = self.data / "global" / "pg_control"
        control.parent.mkdir()
        control.write_bytes(CONTROL)
        self.auto = self.data / AUTO
        self.auto.write_text(NOW)
        os.chown(self.auto, *SERVER)
        self.auto.chmod(0o600)

    def config(self, **sections: dict[str, Any]) -> Config:
        document: dict[str, dict[str, Any]] = {
            "service": {"url": "http://127.0.0.1:9", "database": "db_1"},
            "database": {"engine": "postgresql", "host": str(self.folder), "port": 5432, "dbname": "postgres"},
            "agent": {"state_dir": str(self.state)},
            "restart": {"start_command": ["true"], "timeout_s": 1, "data_dir": str(self.data)},
        }
        return parse({**document, **sections})

    def plant(self, name: str, content: Any) -> None:
        file = self.state / name
        file.write_text(content if isinstance(content, str) else json.dumps(content))
        os.chown(file, *AGENT)

    def snapshot(self, texts: dict[str, Any], **file: Any) -> None:
        active = {n: t or "0" for n, t in texts.items() if t is None or isinstance(t, str)}
        kept = {"path": str(self.auto), "content": encoded("work_mem = '4MB'\n"), "mode": 0o600, "owner": list(SERVER)}
        made = {"texts": texts, "active": active, "file": {**kept, **file}, "data_dir": str(self.data), "name": NAME}
        self.plant("last_known_good.json", made)

    def roll_back(self, **sections: dict[str, Any]) -> list[str]:
        """The server never comes: what matters is what was written until then."""
        said: list[str] = []
        with pytest.raises(DidNotStart):
            said.extend(roll_back(self.config(**sections), "last_known_good", restart=True))
        return said

    def everything(self) -> dict[str, tuple[int, int, int, bytes]]:
        """Every file outside the state folder: owner, mode and bytes."""
        found = {}
        for file in sorted(self.folder.rglob("*")):
            status = file.lstat()
            if self.state not in file.parents and not file.is_dir():
                content = bytes(file.readlink()) if file.is_symlink() else file.read_bytes()
                found[str(file)] = (status.st_uid, status.st_gid, status.st_mode & 0o7777, content)
        return found


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that never comes is waited for at once."""
    monkeypatch.setattr("lutra_agent.commands.rollback.SystemClock", FakeClock)


@pytest.fixture
def place() -> Iterator[Place]:
    """Not in `tmp_path`: another account may not enter that."""
    if os.geteuid() != 0:
        missing("the rights of root")
    folder = Path(tempfile.mkdtemp(prefix="lutra-test-"))
    folder.chmod(0o755)
    try:
        yield Place(folder)
    finally:
        shutil.rmtree(folder)


def test_the_settings_are_restored_and_every_other_line_stays(place: Place) -> None:
    place.snapshot({"work_mem": "4MB", "jit": "off", "random_page_cost": None})
    place.roll_back()
    assert place.auto.read_text() == "# by hand\narchive_command = 'cp %p /backup'\nwork_mem = '4MB'\njit = 'off'\n"
    status = place.auto.stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (*SERVER, 0o600)


def test_no_other_file_is_written_whatever_the_snapshot_names(place: Place) -> None:
    target = place.private / "authorized_keys"
    place.snapshot({"work_mem": "4MB"}, path=str(target), content=encoded("ssh-rsa"), mode=0o4755, owner=[0, 0])
    before = place.everything()
    place.roll_back()
    changed = {n for n, now in place.everything().items() if before.get(n) != now}
    assert changed == {str(place.auto)}
    assert place.auto.stat().st_mode & 0o7777 == 0o600


def test_bytes_of_the_other_accounts_choice_do_not_reach_the_file(place: Place) -> None:
    evil = "shared_preload_libraries = '/tmp/evil.so'\narchive_command = 'evil'\n"
    place.snapshot(
        {"work_mem": "4MB", "archive_command": "evil", "shared_preload_libraries": "x"}, content=encoded(evil)
    )
    place.roll_back()
    said = place.auto.read_text()
    assert "evil" not in said
    assert "shared_preload_libraries" not in said
    assert "archive_command = 'cp %p /backup'" in said


@pytest.mark.parametrize("text", ["1'\narchive_command = 'evil", "1\\' evil", "$(evil)", "x" * 300])
def test_a_text_that_is_no_value_of_a_setting_is_left_out(place: Place, text: str) -> None:
    place.snapshot({"jit": text, "work_mem": "4MB"})
    place.roll_back()
    assert place.auto.read_text() == "# by hand\narchive_command = 'cp %p /backup'\nwork_mem = '4MB'\n"


def test_a_settings_file_that_is_a_link_is_not_followed(place: Place) -> None:
    secret = place.private / "shadow"
    secret.write_text("root:x\n")
    place.auto.unlink()
    place.auto.symlink_to(secret)
    place.snapshot({"work_mem": "4MB"})
    before = place.everything()
    with pytest.raises(ApplyRefused, match=AUTO):
        list(roll_back(place.config(), "last_known_good", restart=True))
    assert place.everything() == before


def test_a_data_folder_behind_a_link_is_refused_with_its_real_path(place: Place) -> None:
    link = place.folder / "main"
    link.symlink_to(place.data)
    place.snapshot({"work_mem": "4MB"})
    restart = {"start_command": ["true"], "timeout_s": 1, "data_dir": str(link)}
    with pytest.raises(ApplyRefused, match=rf"symbolic link: name its real path {place.data}"):
        list(roll_back(place.config(restart=restart), "last_known_good", restart=True))
    assert place.auto.read_text() == NOW


def test_a_file_that_is_gone_is_made_for_the_owner_of_the_folder_alone(place: Place) -> None:
    place.auto.unlink()
    place.snapshot({"work_mem": "4MB"}, mode=0o4777, owner=[0, 0])
    place.roll_back()
    status = place.auto.stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o7733) == (*SERVER, 0o600)
    place.auto.unlink()
    place.snapshot({"work_mem": None})
    place.roll_back()
    assert not place.auto.exists()


def test_a_settings_file_that_only_the_other_account_names_is_not_touched(place: Place) -> None:
    place.snapshot({"work_mem": "4MB"})
    with pytest.raises(ApplyRefused, match=r"set restart\.data_dir"):
        list(roll_back(place.config(restart={"start_command": ["true"], "timeout_s": 1}), "last_known_good", True))
    assert place.auto.read_text() == NOW


def redis_of(port: int, **more: Any) -> dict[str, Any]:
    return {"engine": "redis", "host": "127.0.0.1", "port": port, **more}


def test_root_writes_no_file_that_only_a_listener_on_the_servers_port_names(place: Place) -> None:
    victim = place.private / "sudoers"
    victim.write_text("root ALL=(ALL:ALL) ALL\n")
    place.plant("last_known_good.json", {"texts": {"maxmemory": "50mb"}, "active": {"maxmemory": "1"}, "file": None})
    before = place.everything()
    with (
        false_redis(victim, uid=AGENT[0]) as port,
        pytest.raises(ApplyRefused, match=rf"the server alone names {victim} .* database\.config_file"),
    ):
        list(roll_back(place.config(database=redis_of(port)), "last_known_good", restart=True))
    assert place.everything() == before


def test_root_writes_the_file_of_its_own_choice_whatever_a_listener_names(place: Place) -> None:
    victim, own = place.private / "sudoers", place.data / "redis.conf"
    victim.write_text("root ALL=(ALL:ALL) ALL\n")
    own.write_text("maxmemory 900gb\nrequirepass x\n")
    own.chmod(0o640)
    os.chown(own, *SERVER)
    place.plant("last_known_good.json", {"texts": {"maxmemory": "50mb"}, "active": {"maxmemory": "1"}, "file": None})
    before = place.everything()
    with false_redis(victim, uid=AGENT[0]) as port:
        database = redis_of(port, config_file=str(own))
        said = list(roll_back(place.config(database=database), "last_known_good", restart=True))
    assert "maxmemory" in "".join(said)
    assert own.read_text() == "requirepass x\nmaxmemory 50mb\n"
    after = place.everything()
    assert {n for n, now in after.items() if before.get(n) != now} == {str(own)}
    assert after[str(own)][:3] == (*SERVER, 0o640)


def test_a_folder_of_roots_that_only_the_server_names_is_not_written(place: Place) -> None:
    source = family("mysql").open(family("mysql").section("mysql", "127.0.0.1", 1)).own
    backing: Any = source.backing
    backing.settings_file = lambda: place.private / "mysqld-auto.cnf"
    taken = {SERVER_SOURCE: Snapshot({}, {}, None)}
    with pytest.raises(ApplyRefused, match=r"set restart\.data_dir"):
        vetted([source], taken, None)
    backing.settings_file = lambda: place.data / "mysqld-auto.cnf"
    file = vetted([source], taken, None)[SERVER_SOURCE].file
    assert file is not None
    assert file.path == place.data / "mysqld-auto.cnf"


def test_the_agents_own_account_gets_its_file_back_byte_by_byte(place: Place) -> None:
    for folder in (place.state, place.data):
        os.chown(folder, 0, 0)
    place.snapshot({"work_mem": "4MB"})
    place.roll_back()
    assert place.auto.read_text() == "work_mem = '4MB'\n"


@pytest.mark.parametrize("name", ["paused", "lock", "changes.json"])
def test_what_root_writes_into_the_folder_follows_no_link(place: Place, name: str) -> None:
    target = place.private / "target"
    (place.state / name).symlink_to(target)
    state = State(place.state)
    state.pause()
    if name == "lock":
        with pytest.raises(OSError, match="symbolic"):
            state.lock()
    state.save("changes", {"records": []})
    state.forget("changes")
    state.resume()
    assert not target.exists()


def test_what_root_writes_into_the_folder_is_its_owners(place: Place) -> None:
    state = State(place.state)
    assert state.lock()
    state.pause()
    state.save("changes", [])
    state.unlock()
    assert {(p.stat().st_uid, p.stat().st_gid) for p in place.state.iterdir()} == {AGENT}
    assert state.load("changes") == []
    assert (os.geteuid(), os.getegid()) == (0, 0)


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "too long", "nested", "no snapshot"])
def test_what_is_no_snapshot_is_none_and_root_does_not_wait_for_it(place: Place, kind: str) -> None:
    file = place.state / "last_known_good.json"
    if kind == "link":
        secret = place.private / "secret.json"
        place.snapshot({"work_mem": "4MB"})
        shutil.move(file, secret)
        os.chown(secret, 0, 0)
        secret.chmod(0o600)
        file.symlink_to(secret)
    elif kind == "pipe":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    else:
        content = {"too long": " " * (17 << 20), "nested": "[" * 100_000, "no snapshot": '{"texts": 3}'}
        place.plant(file.name, content[kind])
    with pytest.raises(ConfigError, match="no last-known-good is kept"):
        list(roll_back(place.config(), "last_known_good", restart=True))
    assert place.auto.read_text() == NOW


def test_root_runs_no_agent_in_another_accounts_folder(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LUTRA_AGENT_TOKEN", "x")
    with (
        pytest.raises(ConfigError, match="belongs to user id 65534: run the agent as that account"),
        running(place.config()),
    ):
        pass


def test_rights_come_back_after_an_error(place: Place) -> None:
    groups = os.getgroups()
    with pytest.raises(PermissionError), acting_for(place.state):
        (place.private / "x").touch()
    assert (os.geteuid(), os.getegid(), os.getgroups()) == (0, 0, groups)
