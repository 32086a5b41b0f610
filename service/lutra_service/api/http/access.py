"""Access to a route: declared on the route's function, enforced by `route.GuardedRoute` before anything is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from lutra_service.app.access.tokens import Principal, Scope
from lutra_service.db.store import UnitOfWork

Of = Literal["service", "any", "database", "session", "recommendation"]
Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])
_DECLARED = "lutra_access"


@dataclass(frozen=True)
class Access:
    """The bearer needs one of `scopes` for the object of the route.

    `of` names the path parameter whose database the token has to reach. `service`: data that belong to no database,
    which a token that is bound to one does not reach. `any`: the route itself shows each bearer only their own data.
    """

    scopes: tuple[Scope, ...]
    of: Of
    large_body: bool = False

    @property
    def needs_store(self) -> bool:
        """Whether only the store knows the owner of the route's object."""
        return self.of in ("session", "recommendation")

    def check(self, unit: UnitOfWork | None, who: Principal, path: Mapping[str, str]) -> None:
        """Raises Forbidden, and NotFound if the session or recommendation does not exist.

        `unit` may be None if the store is not needed.
        """
        who.require(*self.scopes, database_id=self.database_of(unit, who, path))

    def database_of(self, unit: UnitOfWork | None, who: Principal, path: Mapping[str, str]) -> str | None:
        """The database that the route is about; None if it is about none. Raises as `check`."""
        match self.of:
            case "service":
                return None
            case "any":
                return who.database_id
            case "database":
                return path["database"]
        assert unit is not None
        if self.of == "session":
            return unit.sessions.get(path["session"]).database_id
        return unit.recommendations.get(path["recommendation"]).database_id


def allow(*scopes: Scope, of: Of, large_body: bool = False) -> Callable[[Endpoint], Endpoint]:
    """Decorate a route's function: bearers of one of `scopes` may call it."""

    def declare(endpoint: Endpoint) -> Endpoint:
        setattr(endpoint, _DECLARED, Access(scopes, of, large_body))
        return endpoint

    return declare


def declared(endpoint: Callable[..., Any]) -> Access:
    """Raises TypeError for a route without a declared access."""
    access = getattr(endpoint, _DECLARED, None)
    if not isinstance(access, Access):
        raise TypeError(f"the route {endpoint.__name__} does not say who may call it: decorate it with @allow(…)")
    return access
