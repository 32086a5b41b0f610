"""The worst-case memory of a configuration, line by line, and the limit that no new configuration passes."""

from __future__ import annotations

from collections.abc import Mapping

from lutra_models.catalog.reader import load
from lutra_models.catalog.sums import MemorySum, MemoryTerm, limit_bytes
from lutra_models.knobs import Configuration, Refusal, Value
from lutra_models.server import Policy, Server

__all__ = ["MemorySum", "MemoryTerm", "check", "limit_bytes", "worst_case"]


def worst_case(server: Server, configuration: Mapping[str, Value]) -> MemorySum:
    """The sum with `configuration` laid over the server's current settings. Raises NotFound for an unknown engine."""
    return load(server.engine).worst_case(server, configuration)


def check(server: Server, policy: Policy, proposed: Mapping[str, Value]) -> Refusal | None:
    """A refusal where the worst case is above the limit or, where the current one already is, above the current sum.

    Going back to what was active before is not a proposal: do not ask here.
    """
    return load(server.engine).memory_rule(server, policy)(Configuration(proposed))
