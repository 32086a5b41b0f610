"""Documents: data that are sent and stored as JSON."""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]
