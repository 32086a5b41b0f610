"""The common parts of the examples."""

from __future__ import annotations

from typing import Any

Example = dict[str, Any]
DATABASE, SESSION, RECOMMENDATION = (f"{kind}_01m80d4s387knw3w7ehz98" for kind in ("db", "ts", "rec"))
EVENING, LATER = "2026-03-01T18:00:00Z", "2026-03-01T18:05:00Z"
