"""The commands for operators: one module per command of `lutra-agent`."""
