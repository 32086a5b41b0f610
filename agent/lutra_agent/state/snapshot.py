"""A configuration that can be restored."""

from __future__ import annotations

import base64
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from lutra_models.server import SERVER
from pydantic import BaseModel, Field, StringConstraints, TypeAdapter

from lutra_agent.files.saved_file import SavedFile
from lutra_agent.state.store import State

MOST_SETTINGS = 5000
MOST_SOURCES = 20
LONGEST_FILE = 8 << 20
PERMISSIONS = 0o777
"""Never a set-user-id bit."""

LAST_KNOWN_GOOD = "last_known_good"
BASELINE = "baseline"

Progress = Literal["started", "restarted"]
"""The progress of a restore: a start or restart of the server began; the server came up from the restored file."""

Text = Annotated[str, StringConstraints(max_length=10_000)]

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Snapshot:
    """The settings of one source: the text of each in the settings file, and its active value.

    `file` is None if the source keeps none, or the agent's account may not read it: then they are restored by steps
    alone, the server's own while it is up. `data_dir` is the folder of a server that does not answer, and `name`
    identifies the data there: the file is written only while it matches. `identifier` is the server's name for itself.
    """

    texts: Mapping[str, str | None]
    active: Mapping[str, str]
    file: SavedFile | None
    data_dir: Path | None = None
    name: str = ""
    identifier: str = ""

    def to_dict(self) -> dict[str, Any]:
        file = self.file and {
            "path": str(self.file.path),
            "content": None if self.file.content is None else base64.b64encode(self.file.content).decode(),
            "mode": self.file.mode,
            "owner": list(self.file.owner),
        }
        folder = self.data_dir and str(self.data_dir)
        whose = {k: text for k, text in (("name", self.name), ("identifier", self.identifier)) if text}
        return {"texts": dict(self.texts), "active": dict(self.active), "file": file, "data_dir": folder, **whose}

    @classmethod
    def from_dict(cls, content: Any) -> Snapshot:
        """Raises ValueError for any other document: its folder may belong to another account."""
        kept = _Kept.model_validate(content)
        file = None if kept.file is None else kept.file.saved()
        folder = Path(kept.data_dir) if kept.data_dir else None
        return cls(kept.texts, kept.active, file, folder, kept.name, kept.identifier)


Snapshots = Mapping[str, Snapshot]
"""By the name of the setting source that keeps the settings."""


def texts_in(snapshots: Snapshots) -> dict[str, str | None]:
    return {n: text for s in snapshots.values() for n, text in s.texts.items()}


def active_in(snapshots: Snapshots) -> dict[str, str]:
    return {n: value for s in snapshots.values() for n, value in s.active.items()}


def store_snapshots(state: State, name: str, snapshots: Snapshots) -> None:
    """Store snapshots, unless the same ones already exist: the file's bytes count, because others write there as
    well.
    """
    if stored_snapshots(state, name) != snapshots:
        beside = {source: s.to_dict() for source, s in snapshots.items() if source != SERVER}
        state.save(name, snapshots[SERVER].to_dict() | ({"beside": beside} if beside else {}))


def stored_snapshots(state: State, name: str) -> Snapshots | None:
    """None if no readable ones are stored."""
    content = state.load(name)
    try:
        if content is None:
            return None
        own = Snapshot.from_dict(content)
        beside = _BESIDE.validate_python(content.get("beside", {}))
        return {SERVER: own, **{source: Snapshot.from_dict(s) for source, s in beside.items() if source != SERVER}}
    except ValueError as error:
        log.error("the snapshot %s is unreadable: %s", name, error)
        return None


class _KeptFile(BaseModel):
    path: Text
    content: Annotated[str, Field(max_length=LONGEST_FILE)] | None
    mode: Annotated[int, Field(ge=0)]
    owner: tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]]

    def saved(self) -> SavedFile:
        content = None if self.content is None else base64.b64decode(self.content, validate=True)
        return SavedFile(Path(self.path), content, self.mode & PERMISSIONS, self.owner)


class _Kept(BaseModel):
    texts: Annotated[dict[Text, Text | None], Field(max_length=MOST_SETTINGS)]
    active: Annotated[dict[Text, Text], Field(max_length=MOST_SETTINGS)]
    file: _KeptFile | None
    data_dir: Text | None = None
    name: Text = ""
    identifier: Text = ""


_BESIDE = TypeAdapter(Annotated[dict[Text, Any], Field(max_length=MOST_SOURCES)])
