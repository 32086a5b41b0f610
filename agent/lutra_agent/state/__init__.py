"""What the agent remembers on its own disk between runs."""
