"""The agent's own file, parsed once into types."""
