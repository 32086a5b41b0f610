"""Database engines: a family is a folder here and a line in `families`."""
