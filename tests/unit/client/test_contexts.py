"""Which service a program talks to: what is saved, and what the environment says instead."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lutra_client import Client, contexts
from lutra_client.contexts import Context, UnusableContexts

HOME = Context("home", "https://home.example:8443", "lutra_home", "/etc/home.pem")
WORK = Context("work", "https://work.example", "lutra_work")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("LUTRA_URL", "LUTRA_TOKEN", "LUTRA_CA_FILE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "lutra"


def test_what_was_saved_last_is_in_use_until_another_is(folder: Path) -> None:
    contexts.save(HOME)
    contexts.save(WORK)
    assert contexts.current() == WORK
    assert contexts.use("home") == HOME
    assert contexts.current() == HOME
    assert set(contexts.load().saved) == {"home", "work"}


def test_the_file_is_private_and_another_mode_is_refused(folder: Path) -> None:
    contexts.save(HOME)
    assert stat.S_IMODE((folder / "contexts.toml").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert "lutra_home" not in repr(contexts.load())
    (folder / "contexts.toml").chmod(0o644)
    with pytest.raises(UnusableContexts, match=r"chmod 600 .*contexts\.toml"):
        contexts.current()


def test_the_environment_wins_field_by_field(monkeypatch: pytest.MonkeyPatch) -> None:
    contexts.save(HOME)
    monkeypatch.setenv("LUTRA_TOKEN", "lutra_other")
    assert contexts.current() == Context("home", HOME.url, "lutra_other", HOME.ca_file)
    monkeypatch.setenv("LUTRA_CA_FILE", "/etc/other.pem")
    assert contexts.current().ca_file == "/etc/other.pem"
    monkeypatch.setenv("LUTRA_URL", "http://127.0.0.1:1")
    assert contexts.current() == Context("environment", "http://127.0.0.1:1", "lutra_other", "/etc/other.pem")


def test_a_saved_token_goes_to_no_other_service(monkeypatch: pytest.MonkeyPatch) -> None:
    contexts.save(HOME)
    contexts.save(WORK)
    monkeypatch.setenv("LUTRA_URL", "https://elsewhere.example")
    assert contexts.current() == Context("environment", "https://elsewhere.example")
    monkeypatch.setenv("LUTRA_URL", HOME.url + "/")
    assert contexts.current().token == HOME.token


def test_with_nothing_saved_it_is_this_machines_service_without_a_token() -> None:
    assert contexts.current() == Context("environment", "http://127.0.0.1:8000")
    with pytest.raises(ValueError, match=r"`lutra up`.*`lutra login URL`.*LUTRA_TOKEN"):
        Client.from_environment()


def test_a_client_takes_its_service_from_the_context(monkeypatch: pytest.MonkeyPatch) -> None:
    contexts.save(WORK)
    with Client.from_environment() as client:
        assert str(client.driver.http.base_url) == "https://work.example"


def test_a_forgotten_context_leaves_none_in_use() -> None:
    contexts.save(HOME)
    contexts.save(WORK)
    contexts.forget("work")
    assert contexts.load().used is None
    with pytest.raises(UnusableContexts, match="no context 'work': there are home; `lutra login URL`"):
        contexts.use("work")
    with pytest.raises(UnusableContexts, match="no context 'work'"):
        contexts.forget("work")


@pytest.mark.parametrize("text", ["contexts = 1", "[contexts.home]", "[contexts.home]\nurl = 3", "\x00", 'a = "'])
def test_a_broken_file_is_named_with_the_way_out(folder: Path, text: str) -> None:
    contexts.save(HOME)
    (folder / "contexts.toml").write_text(text)
    with pytest.raises(UnusableContexts, match=r"contexts\.toml .*correct it, or delete it and log in again"):
        contexts.current()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))
    with pytest.raises(UnusableContexts, match="set XDG_CONFIG_HOME to a folder of yours"):
        contexts.save(HOME)


@pytest.mark.parametrize("name", ["", "two words", "-x", "a" * 65])
def test_a_name_that_no_argument_can_be_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="a context's name"):
        Context(name, "http://127.0.0.1")


printable = st.text(st.characters(codec="utf-8").filter(str.isprintable), min_size=1, max_size=20)


@given(printable, printable, printable)
def test_any_printable_text_comes_back_as_it_was_saved(url: str, token: str, ca_file: str) -> None:
    context = Context("any", url, token, ca_file)
    contexts.save(context)
    assert contexts.load().saved["any"] == context
