"""What is known of the server's settings, and of its host's."""

from importlib import resources

CATALOGUE = resources.files(__name__) / "toykv.toml"
HOST = resources.files(__name__) / "toykv_host.toml"
