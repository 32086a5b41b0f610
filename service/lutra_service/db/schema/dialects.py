"""What the service's own rows may be kept in."""

from __future__ import annotations

DIALECTS = ("sqlite", "postgresql")
URLS = "sqlite:/// or postgresql://"
"""The same, as a URL begins."""
BYTES = {
    "sqlite": "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
    "postgresql": "SELECT pg_database_size(current_database())",
}
"""What tells how much the database takes on its disk."""
