"""Lutra's agent: measures a database, carries out a change, takes it back."""

from __future__ import annotations

__version__ = "0.1.0"
