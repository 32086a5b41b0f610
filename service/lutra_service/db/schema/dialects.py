"""The databases that can store the service's own rows."""

from __future__ import annotations

DIALECTS = ("sqlite", "postgresql")
URLS = "sqlite:/// or postgresql://"
"""The same, as beginnings of URLs."""
BYTES = {
    "sqlite": "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
    "postgresql": "SELECT pg_database_size(current_database())",
}
"""The size of the database on its disk."""
