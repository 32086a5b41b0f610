"""The persistence of settings in the family: MySQL keeps them by itself, MariaDB in an option file of the agent."""
