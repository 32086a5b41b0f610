"""What the agent remembers between runs: its lock, the pause flag, the outcomes of directives, its notes."""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lutra_models.wire import Outcome

from lutra_agent.errors import ConfigError
from lutra_agent.files.accounts import acting_for, is_anothers, owner_of
from lutra_agent.files.atomic import make_empty, make_folder, read_json, remove, write_json

ANSWERS = "answers"
KEPT_OUTCOMES = 200
OTHERS_WRITE = 0o022


@dataclass(frozen=True)
class RecordedOutcome:
    """A directive's outcome. `reported` turns true once the report that carries it is in the spool."""

    outcome: Outcome
    reported: bool


class State:
    """The agent's folder on disk. Nothing here needs the service or the database.

    Root works in another account's folder with that account's rights.
    """

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
        if folder.stat().st_mode & OTHERS_WRITE:
            raise ConfigError(f"agent.state_dir: other accounts may write to {folder}: chmod 700 {folder}")
        self.folder = folder
        self._lock: int | None = None

    @property
    def is_anothers(self) -> bool:
        """Whether what lies here is the word of another account."""
        return is_anothers(self.folder)

    @property
    def owner(self) -> int:
        return owner_of(self.folder)[0]

    def lock(self) -> bool:
        """Take the folder for this process; False where another agent holds it. Freed when the process ends."""
        with acting_for(self.folder):
            make_empty(self.folder / "lock")
            descriptor = os.open(self.folder / "lock", os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
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
        return os.path.lexists(self.folder / "paused")

    def pause(self) -> None:
        with acting_for(self.folder):
            make_empty(self.folder / "paused")

    def resume(self) -> None:
        with acting_for(self.folder):
            (self.folder / "paused").unlink(missing_ok=True)

    def recorded_outcome(self, directive: str) -> RecordedOutcome | None:
        kept = self._outcomes().get(directive)
        return None if kept is None else RecordedOutcome(Outcome.model_validate(kept["outcome"]), kept["reported"])

    def record_outcome(self, outcome: Outcome, reported: bool = False) -> None:
        outcomes = self._outcomes()
        outcomes.pop(outcome.directive, None)
        outcomes[outcome.directive] = {"outcome": outcome.model_dump(mode="json"), "reported": reported}
        self.save(ANSWERS, dict(list(outcomes.items())[-KEPT_OUTCOMES:]))

    def load(self, name: str) -> Any:
        with acting_for(self.folder):
            return read_json(self.folder / f"{name}.json")

    def save(self, name: str, content: Any) -> None:
        with acting_for(self.folder):
            write_json(self.folder / f"{name}.json", content)

    def forget(self, name: str) -> None:
        with acting_for(self.folder):
            remove(self.folder / f"{name}.json")

    def _outcomes(self) -> dict[str, Any]:
        outcomes = self.load(ANSWERS)
        return outcomes if isinstance(outcomes, dict) else {}
