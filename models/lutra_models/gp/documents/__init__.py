"""Options as documents that people write: the meaning and the range of each option, and the parts that packages add."""

from lutra_models.gp.documents.parts import Plugged, plugged
from lutra_models.gp.documents.text import Form, checked, read, toml

__all__ = ["Form", "Plugged", "checked", "plugged", "read", "toml"]
