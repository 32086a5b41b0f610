"""A toy key-value server as an engine of Lutra, installed beside it as anybody's package would be.

It is the example of how an engine is added: a folder for each of its parts, and the lines that name them among its
entry points.
"""
