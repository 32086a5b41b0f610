"""The Linux host as a setting source beside an engine's own, and the program that writes its settings as root.

`helper` and what it imports use only the standard library, because they run as root.
"""
