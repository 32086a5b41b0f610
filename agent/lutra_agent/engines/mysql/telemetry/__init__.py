"""What a server of the family counts, the target metrics of a window, and what the account can see of it."""
