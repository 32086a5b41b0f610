"""The connection to a PostgreSQL server, and what is known of the server behind it."""
