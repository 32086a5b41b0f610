"""The first line of every notebook."""

from __future__ import annotations

import altair as alt
from lutra_client import Client


def start() -> Client:
    """A client by `LUTRA_URL` and `LUTRA_TOKEN`; charts are drawn here, so that a browser without the internet shows
    them too. Raises ValueError without a token."""
    alt.renderers.enable("svg")
    alt.data_transformers.disable_max_rows()
    return Client.from_environment()
