"""The Linux host as a setting source beside an engine's own, and the program that writes its settings as root.

`helper` and what it imports know the standard library alone: they are what runs as root.
"""
