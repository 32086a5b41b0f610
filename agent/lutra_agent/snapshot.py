"""A configuration to come back to."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lutra_agent.saved_file import SavedFile


@dataclass(frozen=True)
class Snapshot:
    """What the settings file said of each setting, and what was active.

    `file` is None where the agent's account may not read it: then there is a way back only while the server is up.
    `data_dir` is where a server that does not answer is looked for.
    """

    texts: Mapping[str, str | None]
    active: Mapping[str, str]
    file: SavedFile | None
    data_dir: Path | None = None

    def to_dict(self) -> dict[str, Any]:
        file = self.file and {
            "path": str(self.file.path),
            "content": None if self.file.content is None else base64.b64encode(self.file.content).decode(),
            "mode": self.file.mode,
            "owner": list(self.file.owner),
        }
        folder = self.data_dir and str(self.data_dir)
        return {"texts": dict(self.texts), "active": dict(self.active), "file": file, "data_dir": folder}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Snapshot:
        kept, folder = content["file"], content.get("data_dir")
        return cls(content["texts"], content["active"], kept and _file(kept), folder and Path(folder))


def _file(kept: Mapping[str, Any]) -> SavedFile:
    text = None if kept["content"] is None else base64.b64decode(kept["content"])
    return SavedFile(Path(kept["path"]), text, kept["mode"], (kept["owner"][0], kept["owner"][1]))
