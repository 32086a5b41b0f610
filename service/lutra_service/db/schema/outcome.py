"""The outcome of a change on its server: its agent's report, and the service's additions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal

from lutra_models.identity import Identity
from lutra_models.wire import Outcome

from lutra_service.common.documents import Document

OutcomeState = Literal["applied", "confirmed", "refused", "failed", "reverted"]


@dataclass(frozen=True)
class ChangeOutcome:
    """`document` is stored and shown unchanged; only this module reads the parts that the service uses."""

    document: Document

    @classmethod
    def told(cls, outcome: Outcome) -> ChangeOutcome:
        """The agent's own message."""
        return cls(outcome.model_dump(mode="json"))

    @classmethod
    def found_applied(cls, message: str, at: datetime) -> ChangeOutcome:
        """The settings were found active, without a report of an agent."""
        return cls({"state": "applied", "message": message, "at": at.isoformat()})

    @classmethod
    def taken_back(cls, at: datetime) -> ChangeOutcome:
        """A change that was found active was undone, without a report of an agent."""
        return cls({"state": "reverted", "message": "", "at": at.isoformat()})

    def undone_by(self, who: str) -> ChangeOutcome:
        """The same, with the actor of the undo: a guard, an agent, or somebody with a token or on the host."""
        return ChangeOutcome({**self.document, "undone_by": who})

    def on(self, epoch: str, server: Identity | None) -> ChangeOutcome:
        """The same, by an agent of this epoch, on the server that it reported last."""
        return ChangeOutcome({**self.document, "epoch": epoch, "server": server and asdict(server)})

    def confirmed(self, at: datetime) -> ChangeOutcome:
        return ChangeOutcome({**self.document, "confirmed_at": at.isoformat()})

    def reverted(self, outcome: Outcome, events: Sequence[Document]) -> ChangeOutcome:
        """The agent undid the change, because of these events if guards had fired."""
        seen = {"events": list(events)} if events else {}
        return ChangeOutcome({**self.document, **outcome.model_dump(mode="json"), **seen})

    @property
    def state(self) -> OutcomeState:
        state: OutcomeState = self.document["state"]
        return state

    @property
    def is_active(self) -> bool:
        """Whether the change was made active, and not undone since."""
        return self.state in ("applied", "confirmed")

    @property
    def is_provisional(self) -> bool:
        """Whether its agent may still undo it by itself because it is not confirmed."""
        return self.document.get("confirm_by") is not None and self.confirmed_at is None

    @property
    def confirmed_at(self) -> datetime | None:
        """The time at which its agent confirmed the change."""
        told: str | None = self.document.get("confirmed_at")
        return None if told is None else datetime.fromisoformat(told)

    @property
    def reverted_on_host(self) -> bool:
        """Whether an operator undid it there: an undo by the agent itself has a code."""
        return self.state == "reverted" and self.document.get("code") is None

    @property
    def active(self) -> Mapping[str, Any]:
        """The settings that were active then."""
        active: Mapping[str, Any] = self.document.get("active", {})
        return active

    @property
    def epoch(self) -> str | None:
        """The epoch of the agent that applied it."""
        epoch: str | None = self.document.get("epoch")
        return epoch

    @property
    def server(self) -> Identity | None:
        """The server on which it was applied."""
        server = self.document.get("server")
        return Identity(**server) if server else None

    @property
    def shown(self) -> Document:
        """Without the fields that only the service uses, and those that a recommendation shows itself."""
        return {name: part for name, part in self.document.items() if name not in ("epoch", "undone_by")}
