"""A second setting source beside the server in memory: a file of its host, and faults on demand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from lutra_agent.engines.common.source import Activation, Backing, Permissions, Scope
from lutra_agent.errors import ApplyRefused, DatabaseUnavailable
from lutra_models.catalog import Change, files, rows, statements
from lutra_models.catalog.statements import Renderer, Step
from lutra_models.errors import ApplyCode
from lutra_models.server import ServerSetting

CATALOGUE = Path(__file__).parents[1] / "data" / "fake_host.toml"
SETTINGS = {
    "swappiness": ServerSetting("60", "", "integer", 0, 200, applies="immediate"),
    "reserved_pages": ServerSetting("0", "", "integer", 0, 65536, applies="restart"),
    "preemption": ServerSetting("none", "", "enum", options=("none", "full"), applies="reboot"),
}


def change(name: str, text: str, _restart: bool) -> tuple[Step, ...]:
    return (Step(name, f"{name} = '{text}'"),)


def undo(name: str, text: str | None, _active: str, restart: bool) -> tuple[Step, ...]:
    return (Step(name, f"without {name}"),) if text is None else change(name, text, restart)


RENDERER = Renderer("fake_host", change, undo)


@contextmanager
def described() -> Iterator[None]:
    """Its catalogue is among those that the engine of the server in memory may have."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(files, "CATALOGUES", (*files.CATALOGUES, CATALOGUE))
        patched.setattr(statements, "RENDERERS", (*statements.RENDERERS, RENDERER))
        rows.of_engine.cache_clear()
        yield
    rows.of_engine.cache_clear()


@dataclass
class FakeHost(Backing, Activation):
    """What `settings` say is active. The server makes active at its start what waits for that.

    `needs_server` says of it that it asks the server, and whether that answers; without a `path` it keeps no file.
    `fails` is how many calls of `execute` are still refused.
    """

    path: Path | None
    needs_server: bool = False
    server_answers: bool = True
    refuses: set[str] = field(default_factory=set)
    ignored: set[str] = field(default_factory=set)
    ungranted: set[str] = field(default_factory=set)
    fails: int = 0
    reloads: int = 0
    settings: dict[str, ServerSetting] = field(default_factory=lambda: dict(SETTINGS))
    name: str = "host"
    catalogue: str = "fake_host"
    scope: Scope = "host"
    rounds: bool = False
    read_at_start_alone: bool = False
    held_while_down: frozenset[str] = frozenset()

    @property
    def backing(self) -> Backing | None:
        return None if self.path is None else self

    @property
    def activation(self) -> Activation:
        return self

    @property
    def file(self) -> dict[str, str]:
        there = self.path is not None and self.path.exists()
        return self.says(self.path.read_bytes()) if self.path is not None and there else {}

    def active(self) -> dict[str, str]:
        return {n: s.value for n, s in self.settings.items()}

    def read(self) -> dict[str, ServerSetting]:
        self._ask()
        return {n: replace(s, persisted=self.file.get(n)) for n, s in self.settings.items()}

    def permissions(self, names: Iterable[str]) -> Permissions:
        return Permissions(frozenset(names) - self.ungranted, True, ("chown it;",) if self.ungranted else ())

    def plan(self, change: Change, restart: bool) -> tuple[Step, ...]:
        return RENDERER.change(change.name, change.value_text, restart)

    def undo(self, name: str, text: str | None, active: str, restart: bool) -> tuple[Step, ...]:
        return RENDERER.undo(name, active if self.path is None else text, active, restart)

    def execute(self, steps: Sequence[Step]) -> None:
        for step in steps:
            self._ask()
            if self.fails or step.setting in self.refuses:
                self.fails = max(self.fails - 1, 0)
                raise ApplyRefused(ApplyCode.INTERNAL_ERROR, f"{step.setting}: refused by the host")
            found = re.fullmatch(r"\w+ = '(.*)'", step.text)
            self._write(step.setting, found and found[1])

    def reload(self) -> None:
        self._ask()
        self.reloads += 1
        if self.path is not None:
            self._take(self.file, "immediate")

    def server_started(self) -> None:
        if self.path is not None:
            self._take(self.file, "restart")

    def settings_file(self) -> Path | None:
        return self.path

    def settings_file_in(self, data_dir: Path | None) -> Path | None:
        return self.path

    def rewritten(self, content: bytes, texts: Mapping[str, str | None]) -> bytes:
        said = {**self.says(content), **texts}
        return "".join(f"{n} = '{t}'\n" for n, t in said.items() if t is not None).encode()

    def says(self, content: bytes) -> dict[str, str]:
        return dict(re.findall(r"^(\w+) = '(.*)'$", content.decode(), re.MULTILINE))

    def _write(self, name: str, text: str | None) -> None:
        if self.path is None:
            self._take({name: text or SETTINGS[name].value}, self.settings[name].applies)
            return
        content = self.path.read_bytes() if self.path.exists() else b""
        self.path.write_bytes(self.rewritten(content, {name: text}))
        self._take(self.file, "immediate")

    def _take(self, texts: Mapping[str, str], applies: str) -> None:
        for name, old in self.settings.items():
            default = SETTINGS[name].value if self.path is not None else old.value
            wanted = texts.get(name, default)
            if name in self.ignored:
                continue
            if old.applies == applies:
                self.settings[name] = replace(old, value=wanted, pending_restart=False)
            elif old.applies == "restart":
                self.settings[name] = replace(old, pending_restart=wanted != old.value)

    def _ask(self) -> None:
        if self.needs_server and not self.server_answers:
            raise DatabaseUnavailable("connection refused")
