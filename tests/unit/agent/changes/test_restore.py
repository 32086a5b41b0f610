"""Ways back, looked at by what the server says afterwards."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import pytest
from lutra_agent.changes.restore import restore
from lutra_agent.changes.snapshots import take_snapshots
from lutra_agent.errors import ApplyRefused, DidNotStart
from lutra_agent.state.snapshot import LAST_KNOWN_GOOD, Snapshots, store_snapshots, stored_snapshots
from lutra_agent.state.store import State
from lutra_models.server import SERVER

from tests.support.fakes.clock import FakeClock
from tests.support.fakes.engine import HOST, FakeControl, FakeEngine

NAMES = ["work_mem", "shared_buffers"]
CHANGED = "work_mem = '8MB'\nshared_buffers = '256MB'\n"


class Bench:
    """A server whose file says `CHANGED` since its snapshot was taken; `active`: it has read that."""

    def __init__(self, folder: Path, active: bool = True, first: str = "") -> None:
        self.engine = FakeEngine(folder / "postgresql.auto.conf")
        self.engine.path.write_text(first)
        self.state = State(folder / "state")
        self.control = FakeControl(self.engine, FakeClock(), state=self.state)
        self.before = self.now()
        self.engine.path.write_text(CHANGED)
        if active:
            self.engine.take_file(restarted=True)

    def now(self) -> Snapshots:
        return take_snapshots(self.engine.opened, self.engine.server(HOST))

    def back(self, restart: bool = True) -> None:
        restore(self.engine.opened, self.control, self.before, NAMES, restart)

    @property
    def values(self) -> list[str]:
        return [self.engine.settings[n].value for n in NAMES]


def test_a_value_that_does_not_come_back_is_named_and_tried_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.engine.ignored = {"work_mem"}
    with pytest.raises(ApplyRefused, match="not restored yet: work_mem"):
        bench.back(restart=False)
    bench.engine.ignored = set()
    bench.back(restart=False)
    assert bench.values[0] == "4096"


def test_a_text_that_does_not_come_back_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(tmp_path, active=False)
    monkeypatch.setattr(bench.engine, "execute", lambda statements: None)
    bench.before = {SERVER: replace(bench.before[SERVER], file=None)}
    with pytest.raises(ApplyRefused, match="work_mem, shared_buffers"):
        bench.back(restart=False)


def test_a_server_that_cannot_be_read_for_a_moment_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path)
    bench.engine.ignored, bench.engine.unreadable = {"work_mem"}, True
    sleep = bench.control._clock.sleep

    def readable_again(seconds: float) -> None:
        bench.engine.unreadable = False
        sleep(seconds)

    monkeypatch.setattr(bench.control._clock, "sleep", readable_again)
    with pytest.raises(ApplyRefused, match="not restored yet: work_mem"):
        bench.back(restart=False)


def test_a_restart_that_did_not_happen_leaves_the_way_back_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(bench.control, "_run", lambda command: (1, "sudo: a password is required"))
        with pytest.raises(DidNotStart, match="a password is required"):
            bench.back()
    bench.back()
    assert (bench.values, bench.control.restarts) == (["4096", "16384"], 1)


def test_a_server_that_recovers_after_the_restart_of_a_way_back_is_only_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench, commands = Bench(tmp_path), []

    def crashes(command: tuple[str, ...]) -> tuple[int | str, str]:
        commands.append(*command)
        bench.engine.up, bench.engine.coming_up = False, True
        return 0, ""

    monkeypatch.setattr(bench.control, "_run", crashes)
    for _ in range(3):
        with pytest.raises(DidNotStart):
            bench.back()
    assert commands == ["restart"]
    bench.engine.start()
    bench.back()
    assert (commands, bench.values) == (["restart"], ["4096", "16384"])


def test_a_restart_that_changed_nothing_is_not_repeated(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.engine.ignored = {"shared_buffers"}
    bench.engine.settings["shared_buffers"] = replace(bench.engine.settings["shared_buffers"], pending_restart=True)
    for _ in range(3):
        with pytest.raises(ApplyRefused, match="shared_buffers"):
            bench.back()
    assert bench.control.restarts == 1


def test_what_never_became_active_needs_no_restart_to_be_taken_back(tmp_path: Path) -> None:
    bench = Bench(tmp_path, active=False)
    bench.back()
    assert (bench.engine.file, bench.control.restarts) == ({}, 0)


def test_a_text_that_waited_when_the_snapshot_was_taken_counts_as_back_once_it_is_active(tmp_path: Path) -> None:
    bench = Bench(tmp_path, first="work_mem = '5MB'\n")
    bench.back(restart=False)
    assert bench.values[0] == "5120"


def test_a_server_that_hangs_over_its_file_gets_the_old_one_and_one_restart(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.engine.up, bench.engine.coming_up = False, True
    bench.back()
    assert (bench.values, bench.engine.file) == (["4096", "16384"], {})
    assert (bench.control.restarts, bench.control.starts) == (1, 1)
    assert not bench.control.progress.started


def test_a_server_that_comes_up_by_the_bad_file_after_all_is_taken_back_by_statements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path)
    bench.engine.up, bench.engine.coming_up = False, True

    def comes_up(seconds: float) -> None:
        bench.control._clock.seconds += seconds  # type: ignore[attr-defined]
        bench.engine.up = True

    monkeypatch.setattr(bench.control._clock, "sleep", comes_up)
    with pytest.raises(ApplyRefused, match="work_mem, shared_buffers"):
        bench.back()
    assert bench.control.restarts == 0
    bench.back()
    assert (bench.values, bench.control.restarts) == (["4096", "16384"], 1)


def test_a_paused_agent_leaves_a_server_that_is_down_and_its_file_alone(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.state.pause()
    with pytest.raises(DidNotStart, match="paused"):
        bench.back()
    bench.engine.up = False
    bench.engine.path.write_text(CHANGED)
    with pytest.raises(DidNotStart, match="paused"):
        bench.back()
    assert (bench.engine.path.read_text(), bench.control.starts) == (CHANGED, 0)


def test_what_others_write_into_the_file_is_kept_with_the_last_known_good(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    for text in ("", "archive_command = 'cp %p /a/%f'\n", "archive_command = 'cp %p /b/%f'\n"):
        bench.engine.path.write_text(CHANGED + text)
        store_snapshots(bench.state, LAST_KNOWN_GOOD, bench.now())
        good = stored_snapshots(bench.state, LAST_KNOWN_GOOD)
        assert good is not None
        file = good[SERVER].file
        assert file is not None
        assert file.content == (CHANGED + text).encode()


def test_the_same_last_known_good_is_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(tmp_path)
    store_snapshots(bench.state, LAST_KNOWN_GOOD, bench.now())
    monkeypatch.delattr(State, "save")
    store_snapshots(bench.state, LAST_KNOWN_GOOD, bench.now())


def test_restoring_an_old_file_says_whose_lines_are_lost_and_not_what_they_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bench = Bench(tmp_path)
    bench.engine.path.write_text(CHANGED + "jit = 'off'\nprimary_conninfo = 'password=secret'\n")
    bench.engine.up, bench.engine.breaks = False, lambda file: "primary_conninfo" in file
    with caplog.at_level(logging.WARNING):
        bench.back()
    assert "undoes later edits by others: jit, primary_conninfo" in caplog.text
    assert "secret" not in caplog.text


def test_a_server_that_is_down_starts_with_what_others_wrote_since(tmp_path: Path) -> None:
    bench = Bench(tmp_path, first="jit = 'off'\n")
    bench.engine.path.write_text(CHANGED + "primary_conninfo = 'password=secret'\n")
    bench.engine.up = False
    bench.back()
    assert bench.engine.file == {"primary_conninfo": "password=secret"}
    assert bench.values == ["4096", "16384"]


def test_a_file_that_is_gone_comes_back_whole(tmp_path: Path) -> None:
    bench = Bench(tmp_path, first="jit = 'off'\n")
    bench.engine.path.unlink()
    bench.engine.up = False
    bench.back()
    assert bench.engine.path.read_text() == "jit = 'off'\n"


def test_a_folder_that_holds_another_servers_data_by_now_is_neither_written_nor_is_a_server_started(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path)
    bench.engine.up, bench.engine.names = False, {tmp_path: "another"}
    for names in (NAMES, []):
        with pytest.raises(DidNotStart, match="its folder holds another server's data"):
            restore(bench.engine.opened, bench.control, bench.before, names, restart=True)
    assert (bench.engine.path.read_text(), bench.control.starts) == (CHANGED, 0)


def test_the_settings_of_another_server_are_left_alone_and_the_file_that_was_written_is_put_right(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path)
    bench.engine.path.write_text(CHANGED + "jit = 'off'\n")
    bench.engine.here = False
    with pytest.raises(ApplyRefused, match=r"those of another server .* it runs elsewhere"):
        bench.back()
    assert bench.values == ["8192", "32768"]
    assert bench.engine.statements == []
    assert bench.engine.file == {"jit": "off"}


def test_what_was_changed_by_statements_alone_is_undone_by_statements_on_that_server_alone(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.engine.here, bench.engine.identifier = False, "first"
    bench.engine.path.write_text("")
    bench.engine.take_file(restarted=True)
    bench.before = bench.now()
    assert (bench.before[SERVER].file, bench.before[SERVER].name) == (None, "")
    bench.engine.path.write_text("work_mem = '8MB'\n")
    bench.engine.take_file(restarted=False)
    bench.engine.identifier = "second"
    with pytest.raises(ApplyRefused, match=r"another server \(first\) than the one that answers \(second\)"):
        bench.back(restart=False)
    bench.engine.identifier = "first"
    bench.back(restart=False)
    assert bench.values[0] == "4096"
    bench.engine.up = False
    with pytest.raises(DidNotStart, match="start the server by hand"):
        bench.back()
    assert bench.control.starts == 0


def test_a_snapshot_says_whose_files_it_has_after_it_was_stored(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    store_snapshots(bench.state, LAST_KNOWN_GOOD, bench.before)
    stored = stored_snapshots(bench.state, LAST_KNOWN_GOOD)
    assert stored is not None
    assert (stored[SERVER].name, stored[SERVER].data_dir) == (str(tmp_path), tmp_path)
