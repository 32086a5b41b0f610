"""The commands for operators: one module per command of `lutra-agent`."""

LOG = "agent.log"
"""Beside the agent's file: the log of an agent that `lutra add` started."""
