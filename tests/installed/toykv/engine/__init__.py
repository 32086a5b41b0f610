"""What the agent asks of the server: whether it runs, what it does, and its settings."""
