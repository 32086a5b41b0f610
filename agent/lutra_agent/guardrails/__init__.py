"""Whether the database still does well: windows judged by limits."""
