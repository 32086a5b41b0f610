"""The database server's process: starting, restarting and waiting for it."""
