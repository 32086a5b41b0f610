"""Attacks on a running service and on real agents, each with verdicts: what was promised, and what was found.

Everything is driven from outside: `lutra serve` as a process, real sockets, real database servers.
"""
