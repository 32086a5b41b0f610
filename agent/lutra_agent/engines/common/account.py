"""The agent's own account on a server: made, and dropped, over the connection of another account."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from lutra_agent.errors import ConfigError

PASSWORD = "…"  # noqa: S105
"""The place of the password in a statement that no digest of the password fits into."""


@dataclass(frozen=True)
class AccountPlan:
    """The statements that make an account, in their order, and those that drop it. No statement contains a password.

    `section` is what the agent's `[database]` then says. `notes` are for the person who decides.
    """

    section: Mapping[str, Any]
    make: tuple[str, ...]
    drop: tuple[str, ...]
    notes: tuple[str, ...] = field(default=())


class Accounts(Protocol):
    """Methods raise DatabaseUnavailable, and CollectionFailed if the server refuses."""

    on_replica: bool
    """Whether a replica has accounts of its own."""

    def plan(self, names: Sequence[str], settings: Sequence[str], password: str) -> AccountPlan:
        """The account has the first of `names` that is free, and may change `settings`.

        Raises ConfigError if none is free, or the server has no accounts.
        """
        ...

    def execute(self, statement: str, password: str) -> None:
        """Carry out one of a plan's statements."""
        ...

    def close(self) -> None: ...


def free_name(names: Sequence[str], taken: Collection[str]) -> str:
    """Raises ConfigError."""
    found = next((name for name in names if name not in taken), None)
    if found is None:
        raise ConfigError(f"the server already has the accounts {', '.join(names)}: drop the one that is not in use")
    return found
