"""The connection to one server of the family, and its role in replication."""
