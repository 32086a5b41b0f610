"""How a change is made, verified and undone."""
