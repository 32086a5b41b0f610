"""`lutra check URL`: one look at a server by its URL, without a file, a service and a folder of the agent's own."""
