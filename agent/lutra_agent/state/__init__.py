"""The agent's memory on its own disk between runs."""
