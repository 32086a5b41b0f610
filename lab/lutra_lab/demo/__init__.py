"""The demo: a real server tuned end to end, by the product's own commands and over its own REST interface.

Nothing here reaches into the service or the agent: both run as processes, and the demo is a user's program.
"""
