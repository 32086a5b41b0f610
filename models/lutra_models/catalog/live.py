"""The settings of a live server: its engine's catalogue, combined with it once and queried afterwards."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from lutra_models.catalog import changes, limits, spaces, starts, sums
from lutra_models.catalog.changes import Change, ChangeSteps
from lutra_models.catalog.limits import Limited
from lutra_models.catalog.reported import ReportedSettings
from lutra_models.catalog.rows import of_engine
from lutra_models.catalog.sums import MemorySum
from lutra_models.knobs import Configuration, KnobSpace, Refusal, Value
from lutra_models.server import Policy, Server


@dataclass(frozen=True)
class LiveSettings(ReportedSettings):
    """The settings of one live server, their allowed values, and the steps to change them.

    An object describes the server as it was read; after a change, the server is read and combined again. Every method
    may raise InvalidConfiguration if the server reports an invalid value.
    """

    def space(
        self, policy: Policy, reference: Configuration | None = None, known: Iterable[Mapping[str, Value]] = ()
    ) -> KnobSpace:
        """The settings that may move. Ranges contain `reference` (else the live values); rules judge memory and
        couplings.

        `known` are configurations that the server ran under: a configuration that needs no more memory in any part
        passes, and a setting that has an effect there may move. Raises InvalidConfiguration if the policy contradicts
        the server, or no setting is left.
        """
        return spaces.space(self, policy, reference, known)

    def rule_based(
        self, policy: Policy, known: Iterable[Mapping[str, Value]] = (), only: Collection[str] | None = None
    ) -> Configuration:
        """The rules' values for this host: complete over `space(policy)`, scaled into the memory limit.

        With `only` these settings, while all others keep their values.
        """
        return starts.rule_based(self, policy, known, only)

    def changes(self, target: Mapping[str, Value]) -> tuple[Change, ...]:
        """Each setting that differs from `target`, in the order of the change."""
        return changes.changes(self, target)

    def steps(self, made: Sequence[Change]) -> tuple[ChangeSteps, ...]:
        """The steps of changes that are made together, and the exact undo of each.

        Raises NotFound if no renderer handles this catalogue.
        """
        return changes.steps(self, made)

    def not_active(self, name: str) -> str | None:
        """The part of the setting's value in the settings file that is not active in the running server, in words; None
        if there is none.
        """
        return changes.not_active(self, name)

    def worst_case(self, configuration: Mapping[str, Value]) -> MemorySum:
        """The memory that the server needs with `configuration` over its current settings, everything full at once."""
        return sums.memory(self, configuration, "worst_case")

    def memory(self, policy: Policy, configuration: Mapping[str, Value]) -> MemorySum:
        """The memory of `configuration` merged into the current settings, as the policy counts it."""
        return sums.memory(self, configuration, policy.memory_count)

    def memory_limit(self, policy: Policy) -> int:
        """The bytes that no new configuration may need."""
        return sums.memory_limit(self, policy)

    def memory_refusal(
        self, policy: Policy, proposed: Mapping[str, Value], known: Iterable[Mapping[str, Value]] = ()
    ) -> Refusal | None:
        """The refusal: the sum is above the limit, and a part of it is above that of every known configuration.

        `known` are further configurations that the server ran under, in addition to the current one. A return to an
        earlier configuration is not a proposal: do not check it here.
        """
        return sums.memory_rule(self, policy, known)(Configuration(proposed))

    def limited(self, configuration: Mapping[str, Value]) -> tuple[Limited, ...]:
        """The host's limits in addition to memory, and the worst-case need of `configuration` over the current
        settings.
        """
        return limits.limited(self, configuration)

    def limit_refusal(self, proposed: Mapping[str, Value], known: Iterable[Mapping[str, Value]] = ()) -> Refusal | None:
        """The refusal: it needs more of a resource other than memory than the host gives, and more than every known
        configuration.
        """
        return limits.limit_rule(self, known)(Configuration(proposed))


def meet(server: Server) -> LiveSettings:
    """The catalogues of the engine's setting sources, met with the server.

    Raises NotFound for an engine without a catalogue.
    """
    own, *others = of_engine(server.engine)
    return LiveSettings(server, own, tuple(others))
