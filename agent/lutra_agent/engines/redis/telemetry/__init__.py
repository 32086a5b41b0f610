"""The activity of a server of the family: INFO, its slow log, its own histogram of execution times, and the agent's
probe.
"""
