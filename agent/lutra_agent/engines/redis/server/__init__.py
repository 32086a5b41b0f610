"""The connection to one server of the family, the server's identity, and the rights of an account there."""
