"""What the agent remembers between runs: its lock, the pause flag, the answers it gave, its notes."""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lutra_models.wire import Outcome

from lutra_agent.errors import ConfigError
from lutra_agent.files import make_empty, make_folder, read_json, remove, write_json

KEPT_ANSWERS = 200


@dataclass(frozen=True)
class Answer:
    """What came of a directive. `reported` turns true once the report that carries it is in the spool."""

    outcome: Outcome
    reported: bool


class State:
    """The agent's folder on disk. Nothing here needs the service or the database."""

    def __init__(self, folder: Path) -> None:
        """Raises ConfigError where the folder is not this account's."""
        try:
            make_folder(folder)
            problem = "" if os.access(folder, os.R_OK | os.W_OK | os.X_OK) else "not this account's to read and write"
        except OSError as error:
            problem = error.strerror or str(error)
        if problem:
            account = os.geteuid()
            remedy = f"as root: install -d -o {account} -m 0700 {folder}"
            raise ConfigError(f"agent.state_dir: {folder}: {problem} (user id {account}); {remedy}")
        self.folder = folder
        self._lock: int | None = None

    def lock(self) -> bool:
        """Take the folder for this process; False where another agent holds it. Freed when the process ends."""
        make_empty(self.folder / "lock")
        descriptor = os.open(self.folder / "lock", os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self._lock = descriptor
        return True

    def unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @property
    def paused(self) -> bool:
        return (self.folder / "paused").exists()

    def pause(self) -> None:
        make_empty(self.folder / "paused")

    def resume(self) -> None:
        (self.folder / "paused").unlink(missing_ok=True)

    def answer(self, directive: str) -> Answer | None:
        kept = self._answers().get(directive)
        return None if kept is None else Answer(Outcome.model_validate(kept["outcome"]), kept["reported"])

    def remember(self, outcome: Outcome, reported: bool = False) -> None:
        answers = self._answers()
        answers.pop(outcome.directive, None)
        answers[outcome.directive] = {"outcome": outcome.model_dump(mode="json"), "reported": reported}
        write_json(self.folder / "answers.json", dict(list(answers.items())[-KEPT_ANSWERS:]))

    def load(self, name: str) -> Any:
        return read_json(self.folder / f"{name}.json")

    def save(self, name: str, content: Any) -> None:
        write_json(self.folder / f"{name}.json", content)

    def forget(self, name: str) -> None:
        remove(self.folder / f"{name}.json")

    def _answers(self) -> dict[str, Any]:
        answers = read_json(self.folder / "answers.json")
        return answers if isinstance(answers, dict) else {}
