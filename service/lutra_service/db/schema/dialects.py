"""What the service's own rows may be kept in."""

from __future__ import annotations

DIALECTS = ("sqlite", "postgresql")
URLS = "sqlite:/// or postgresql://"
"""The same, as a URL begins."""
