"""Whether a directive may be applied: the agent's own limits, checked before the first statement."""
