"""The settings of a server of the family: how they are read, changed, kept in its file and taken back."""
