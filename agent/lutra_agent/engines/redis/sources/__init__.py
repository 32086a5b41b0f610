"""The settings of a server of the family: reading, changing, keeping in its file, and restoring."""
