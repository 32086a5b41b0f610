"""Lutra's agent: measures a database, makes changes, undoes them."""

from __future__ import annotations

__version__ = "0.1.0"
