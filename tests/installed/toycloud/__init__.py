"""A managed server: its settings are a parameter group of a cloud, which an API changes."""
