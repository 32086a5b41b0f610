"""A PostgreSQL server's counters, the target metrics of a window, and the account's rights to see them."""
