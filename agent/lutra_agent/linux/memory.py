"""The helper's memory, on disk before it changes anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lutra_agent.files.atomic import read_json, write_json
from lutra_agent.linux.kernel import KernelSetting, Refused


class Memory:
    """Texts by key: values that the kernel loses when one of its settings changes, and the unit with a drop-in."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def of(self, setting: KernelSetting, key: str = "") -> str | None:
        """The setting's earlier value; None if no valid one is stored."""
        text = self.text(key or setting.name)
        try:
            setting.check(text)
        except Refused:
            return None
        return text

    def text(self, key: str) -> str:
        """Empty if nothing is stored."""
        found = self._all().get(key)
        return found if isinstance(found, str) else ""

    def keep(self, key: str, value: str) -> None:
        write_json(self._file, {**self._all(), key: value})

    def drop(self, key: str) -> None:
        before = self._all()
        left = {k: v for k, v in before.items() if k != key}
        if left and left != before:
            write_json(self._file, left)
        elif not left:
            self._file.unlink(missing_ok=True)

    def _all(self) -> dict[str, Any]:
        found = read_json(self._file)
        return found if isinstance(found, dict) else {}
