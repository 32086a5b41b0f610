"""Options as documents that people write: what each option means, its range, and the parts that packages bring."""

from lutra_models.gp.documents.parts import Plugged, plugged
from lutra_models.gp.documents.text import Form, checked, read, toml

__all__ = ["Form", "Plugged", "checked", "plugged", "read", "toml"]
