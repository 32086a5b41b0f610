"""The setup of the machine beneath a server, and its deficits: gauges and counters, read only from files.

Facts that the host does not show, or not to this account, are absent.
"""
