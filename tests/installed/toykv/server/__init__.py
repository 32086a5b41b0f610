"""The server itself. It knows nothing of Lutra, and needs nothing but Python."""
