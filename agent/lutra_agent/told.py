"""What the operator has set on the service for this database, kept on this disk: it holds with the service away."""

from __future__ import annotations

import logging

from lutra_models.guardrails import GuardName, Guardrail, laid_over
from lutra_models.wire import Rules
from pydantic import ValidationError

from lutra_agent.guard_config import GuardConfig
from lutra_agent.state import State

RULES = "rules"

log = logging.getLogger(__name__)


class Told:
    def __init__(self, state: State, file: GuardConfig) -> None:
        self._state = state
        self._file = file
        self.rules = _stored(state)

    def keep(self, rules: Rules) -> None:
        if rules != self.rules:
            self._state.save(RULES, rules.model_dump(mode="json"))
            self.rules = rules
            told = len(rules.guardrails), len(rules.maintenance_windows)
            log.info("the service's rules changed: %d guardrails, %d maintenance windows", *told)

    def rails(self) -> dict[GuardName, Guardrail]:
        """Every guard's rail: the service's, else the file's, else the default."""
        return laid_over(self._file.rails, self.rules.guardrails)


def _stored(state: State) -> Rules:
    try:
        return Rules.model_validate(state.load(RULES) or {})
    except ValidationError as error:  # another version's file: the service tells them again
        log.warning("the stored rules are unreadable: %s", error)
        return Rules()
