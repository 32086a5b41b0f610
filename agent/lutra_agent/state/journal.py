"""The change under way, or being undone: on disk from before the first statement until its outcome is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lutra_models.wire import ApplyCode

from lutra_agent.state.snapshot import Snapshot
from lutra_agent.state.store import State

JOURNAL = "journal"


class Journal:
    """`restarting`: the restart of the server was started. `failed` and `code` give the reason to undo the change."""

    def __init__(self, state: State, directive: str, names: Sequence[str], before: Snapshot) -> None:
        self._state = state
        self._content: dict[str, Any] = {
            "directive": directive,
            "names": list(names),
            "snapshot": before.to_dict(),
            "restarting": False,
            "failed": "",
            "code": None,
        }

    @classmethod
    def begin(cls, state: State, directive: str, names: Sequence[str], before: Snapshot) -> Journal:
        journal = cls(state, directive, names, before)
        journal._save()
        return journal

    @classmethod
    def load(cls, state: State) -> Journal | None:
        content = state.load(JOURNAL)
        if content is None:
            return None
        journal = cls(state, content["directive"], content["names"], Snapshot.from_dict(content["snapshot"]))
        journal._content |= content
        return journal

    @property
    def directive(self) -> str:
        return str(self._content["directive"])

    @property
    def names(self) -> list[str]:
        return list(self._content["names"])

    @property
    def before(self) -> Snapshot:
        return Snapshot.from_dict(self._content["snapshot"])

    @property
    def was_restarting(self) -> bool:
        return bool(self._content["restarting"])

    @property
    def failure(self) -> tuple[ApplyCode | None, str]:
        return self._content["code"], self._content["failed"]

    def restarting(self) -> None:
        self._content["restarting"] = True
        self._save()

    def failed(self, code: ApplyCode, message: str) -> None:
        self._content |= {"failed": message, "code": code}
        self._save()

    def _save(self) -> None:
        self._state.save(JOURNAL, self._content)
