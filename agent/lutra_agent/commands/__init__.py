"""What an operator types: one module a command of `lutra-agent`."""
