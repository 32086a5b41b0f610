"""Settings of the server's host, in a file that its kernel reads at once: a second source beside the server's own."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from lutra_agent.engines.common.source import Activation, Backing, Permissions, Scope
from lutra_agent.errors import ApplyRefused, CollectionFailed
from lutra_agent.files.atomic import write_atomically
from lutra_models.catalog import Change
from lutra_models.catalog.statements import Step, renderer
from lutra_models.errors import ApplyCode
from lutra_models.server import ServerSetting

from toykv.engine import conf

DEFAULTS = {
    "readahead": ServerSetting("128", "kB", "integer", 0, 65536),
    "hugepages": ServerSetting("no", kind="bool"),
}
PAGE_KB = 4


class HostFile(Backing):
    def __init__(self, file: Path) -> None:
        self._file = file

    def settings_file(self) -> Path | None:
        return self._file

    def settings_file_in(self, data_dir: Path | None) -> Path | None:
        return self._file

    def rewritten(self, content: bytes, texts: Mapping[str, str | None]) -> bytes:
        return conf.rewritten(content, texts)

    def says(self, content: bytes) -> Mapping[str, str]:
        return conf.says(content)


class ToykvHost:
    """A step is the line that `file` gets, or a remark that it has none.

    The kernel takes `readahead` in whole pages alone, which no catalogue says: anything else is refused by the step.
    """

    name = "host"
    catalogue = "toykv_host"
    scope: Scope = "host"
    activation = Activation()

    def __init__(self, file: Path) -> None:
        self._file = file
        self.backing = HostFile(file)

    def read(self) -> Mapping[str, ServerSetting]:
        said = conf.says(self._content())
        return {name: _as_said(default, said.get(name)) for name, default in DEFAULTS.items()}

    def permissions(self, names: Iterable[str]) -> Permissions:
        if os.access(self._file.parent, os.W_OK):
            return Permissions(frozenset(names), may_reload=True)
        return Permissions(frozenset(), may_reload=True, remedies=(f"chown lutra {self._file.parent}",))

    def plan(self, change: Change, restart: bool) -> tuple[Step, ...]:
        return renderer(self.catalogue).change(change.name, change.value_text, restart)

    def undo(self, name: str, text: str | None, active: str, restart: bool) -> tuple[Step, ...]:
        return renderer(self.catalogue).undo(name, text, active, restart)

    def execute(self, steps: Sequence[Step]) -> None:
        for step in steps:
            text = conf.says(step.text.encode()).get(step.setting)
            if text is not None and step.setting == "readahead" and int(text) % PAGE_KB:
                raise ApplyRefused(ApplyCode.INVALID_VALUE, f"{step.setting}: {text} kB is no multiple of a page")
            self._write(step.setting, text)

    def _content(self) -> bytes:
        try:
            return self._file.read_bytes()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise CollectionFailed(f"{self._file}: {error.strerror}") from error

    def _write(self, name: str, text: str | None) -> None:
        content = conf.rewritten(self._content(), {name: text})
        try:
            if content:
                write_atomically(self._file, content, 0o644)
            else:
                self._file.unlink(missing_ok=True)
        except OSError as error:
            raise ApplyRefused(ApplyCode.INSUFFICIENT_PRIVILEGE, f"{self._file}: {error.strerror}") from error


def _as_said(default: ServerSetting, text: str | None) -> ServerSetting:
    if text is None:
        return default
    return ServerSetting(text, default.unit, default.kind, default.low, default.high, source="file", persisted=text)
