"""The connection to one server of the family, which server it is, and what an account may do there."""
