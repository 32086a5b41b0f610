"""What a server of the family does: INFO, its slow log, its own histogram of execution times, and the agent's probe."""
