"""The folder of one added database on this machine: its agent's file and secrets, its state and log."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lutra_agent.commands import LOG
from lutra_agent.errors import ConfigError
from lutra_agent.files.atomic import make_folder, read_json, write_atomically, write_json

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True)
class Account:
    """With which account the agent logs in: `section` is what `[database]` says of it.

    `drop` are the statements that drop it: empty for one that was given.
    """

    section: Mapping[str, Any] = field(default_factory=dict)
    drop: tuple[str, ...] = ()


@dataclass(frozen=True)
class Added:
    """`url` names the server, without its password. `service` is the agent's `[service]`, without its token.

    Both are empty until the database is registered. `account` is the agent's, None until there is one, and `offered`
    one that somebody else makes.
    """

    url: str
    service: Mapping[str, Any] = field(default_factory=dict)
    token_id: str = ""
    account: Account | None = None
    offered: Account | None = None


@dataclass(frozen=True)
class Folder:
    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def config(self) -> Path:
        return self.path / "agent.toml"

    @property
    def token(self) -> Path:
        return self.path / "token"

    @property
    def password(self) -> Path:
        return self.path / "password"

    @property
    def offered(self) -> Path:
        """The password of an account that somebody else makes."""
        return self.path / "offered-password"

    @property
    def log(self) -> Path:
        return self.path / LOG

    @property
    def state(self) -> Path:
        return self.path / "state"

    @property
    def process(self) -> Path:
        return self.path / "process.json"

    def read(self) -> Added | None:
        """None if the database was not added here."""
        found = read_json(self.path / "added.json")
        if found is None:
            return None
        accounts = (_account(found[kind]) for kind in ("account", "offered"))
        return Added(found["url"], found["service"], found["token_id"], *accounts)

    def write(self, added: Added) -> None:
        make_folder(self.path)
        write_json(self.path / "added.json", asdict(added))

    def write_secret(self, file: Path, secret: str) -> None:
        make_folder(self.path)
        write_atomically(file, f"{secret}\n".encode())

    def write_config(self, text: str) -> None:
        write_atomically(self.config, text.encode())

    def remove(self) -> None:
        """With the folders above it that `lutra add` made, where nothing else is in them."""
        shutil.rmtree(self.path)
        with suppress(OSError):
            self.path.parent.rmdir()
            self.path.parent.parent.rmdir()


def _account(kept: Mapping[str, Any] | None) -> Account | None:
    return None if kept is None else Account(kept["section"], tuple(kept["drop"]))


def folder_of(name: str) -> Folder:
    """Raises ConfigError for a name that a folder cannot have."""
    if not NAME.fullmatch(name):
        raise ConfigError(
            f"{name!r} cannot be the database's name here: choose one with --name, of 1 to 64 letters, digits, dots, "
            "dashes and underscores"
        )
    return Folder(_home() / name)


def folders() -> Iterator[Folder]:
    """The folders of all databases that were added here."""
    if _home().is_dir():
        yield from (Folder(path) for path in sorted(_home().iterdir()) if path.is_dir())


def _home() -> Path:
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "lutra" / "databases"


def _literal(value: Any) -> str:
    """A basic string of TOML needs the escapes of JSON, and one more."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml(document: Mapping[str, Mapping[str, Any]]) -> str:
    """Tables of texts, numbers and truth values."""
    head = "# Written by `lutra add`, which starts the agent again after an edit of this file.\n"
    return "\n".join((head, *(table(name, rows) for name, rows in document.items())))


def table(name: str, rows: Mapping[str, Any]) -> str:
    return "\n".join((f"[{name}]", *(f"{key} = {_literal(value)}" for key, value in rows.items()))) + "\n"
