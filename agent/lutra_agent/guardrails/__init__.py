"""The health of the database: windows judged by limits."""
