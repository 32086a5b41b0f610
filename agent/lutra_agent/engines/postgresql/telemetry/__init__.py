"""What a PostgreSQL server counts, the target metrics of a window, and what the account can see of it."""
