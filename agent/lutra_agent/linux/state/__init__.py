"""How the machine beneath a server is set up, and what it lacks: gauges and counters, read from files alone.

Facts that the host does not show, or not to this account, are absent.
"""
