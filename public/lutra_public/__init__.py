"""Public tables of measured database settings: `tables.toml` says what each is, where it comes from and its licence.

Data alone: `lutra import public` reads them.
"""
