"""The first line of every notebook, and what stands where there is nothing to draw."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import altair as alt
import pandas as pd
from IPython.core.getipython import get_ipython
from lutra_client import Client
from lutra_models.errors import LutraError

LIVE = "application/vnd.vegalite.v5+json"
"""What JupyterLab draws by itself: it knows no later name. The marks and encodings of later versions are the same."""
SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
GET_DATA = (
    "`lutra demo --keep demo` tunes a database on this machine in ten minutes, "
    "`lutra-agent tune` one of yours; `lutra import public` brings measured tables, `lutra import` one of yours"
)


def start() -> Client:
    """A client by `LUTRA_URL` and `LUTRA_TOKEN`, that the service has answered. Raises LutraError where it does not,
    and without a token.

    Charts and tables are drawn as `draw_here` says.
    """
    draw_here()
    try:
        client = Client.from_environment()
    except ValueError as error:
        raise LutraError(f"{error}. `lutra notebook` sets both") from None
    client.models.list(limit=1).first()
    return client


def draw_here() -> None:
    """Draw charts without another host: live in JupyterLab, as a picture elsewhere. Tables show whole sentences, and
    Lutra's own errors are shown as their sentence, without a stack trace."""
    pd.set_option("display.max_colwidth", None)
    shell = get_ipython()
    if shell is not None:
        shell.set_custom_exc((LutraError,), _told)
    alt.renderers.register("lutra", _both)
    alt.renderers.enable("lutra")
    alt.data_transformers.disable_max_rows()


def _told(_shell: Any, kind: type[BaseException], error: BaseException, *_: Any, **__: Any) -> list[str]:
    line = f"{kind.__name__}: {error}"
    print(line)
    return [line]


@dataclass
class Missing:
    """A sentence in a figure's place: what is missing, and the first time how to get it."""

    what: str
    how: str = ""
    said: bool = field(default=False, repr=False)

    def _repr_markdown_(self) -> str:
        how = f" {self.how}." if self.how and not self.said else ""
        self.said = True
        return f"*{self.what}.*{how}"


def _both(spec: dict[str, Any], **_options: Any) -> dict[str, Any]:
    """A chart for whoever shows it: JupyterLab takes the first, which answers the mouse; others take the picture."""
    import vl_convert

    return {
        LIVE: {**spec, "$schema": SCHEMA},
        "image/svg+xml": vl_convert.vegalite_to_svg(spec),
        "text/plain": "a chart",
    }
