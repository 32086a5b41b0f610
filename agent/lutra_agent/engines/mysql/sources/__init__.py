"""How a server of the family keeps settings: MySQL by itself, MariaDB in an option file of the agent."""
