"""The operator's rules on the service for this database, kept on this disk: they hold while the service is away."""

from __future__ import annotations

import logging

from lutra_models.guardrails import GuardName, Guardrail, laid_over, tightened
from lutra_models.wire import Rules
from pydantic import ValidationError

from lutra_agent.config.types import GuardConfig
from lutra_agent.state.store import State

RULES = "rules"

log = logging.getLogger(__name__)


class ServiceRules:
    """`current` are the rules as the service has them; `guardrails` are the same after the agent's own file has limited
    them.
    """

    def __init__(self, state: State, file: GuardConfig) -> None:
        self._state = state
        self._file = file
        self.current = _stored(state)

    def update(self, rules: Rules) -> None:
        """Take the service's rules over, and store them."""
        if rules != self.current:
            self._state.save(RULES, rules.model_dump(mode="json"))
            self.current = rules
            counts = len(rules.guardrails), len(rules.maintenance_windows)
            log.info("the service's rules changed: %d guardrails, %d maintenance windows", *counts)
            for problem in self.problems():
                log.warning("%s", problem)

    def guardrails(self) -> dict[GuardName, Guardrail]:
        """Each guardrail: the file's, or the default, and stricter if the service's is.

        If the file lets the service loosen them, the service's guardrail counts unchanged.
        """
        floor, wanted = laid_over(self._file.guardrails), self.current.guardrails
        return laid_over(floor, wanted) if self._file.service_may_loosen else tightened(floor, wanted)

    def problems(self) -> list[str]:
        """The rules that the service asks for and the file does not grant, in words."""
        guardrails = self.guardrails()
        held = [n for n, wanted in self.current.guardrails.items() if guardrails[n] != wanted]
        names = ", ".join(held)
        how = "guard.service_may_loosen = true in the agent's own file allows it"
        return [f"the agent's own file is stricter than the service's guardrails: {names}; {how}"] if held else []


def _stored(state: State) -> Rules:
    try:
        return Rules.model_validate(state.load(RULES) or {})
    except ValidationError as error:  # another version's file: the service sends them again
        log.warning("the stored rules are unreadable: %s", error)
        return Rules()
