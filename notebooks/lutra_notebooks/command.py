"""`lutra notebook`: JupyterLab on the notebooks."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import click

from lutra_notebooks.book_folder import filled

URL = "http://127.0.0.1:8000"


@click.command()
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("lutra-notebooks"),
    show_default=True,
    help="Where your copies of the notebooks are. Those that are missing are copied there; others stay as they are.",
)
@click.argument("jupyter", nargs=-1, type=click.UNPROCESSED)
def notebook(folder: Path, jupyter: tuple[str, ...]) -> None:
    """Open the data scientist's notebooks in JupyterLab.

    \b
    01_workloads   the fleet's workloads: a map, signatures, which resemble which
    02_settings    what matters: importance of settings, slices, interactions
    03_forecasts   were we right: intervals and hit rate, by engine and over time
    04_retrain     options, a surrogate of your own, a race against the champion
    05_promote     promote a model version, watch it in the shadow, roll back

    They read a running service by LUTRA_URL (http://127.0.0.1:8000 where it is not set) with the token in LUTRA_TOKEN.
    Notebooks 01 to 04 need a token with the scope `read`, 05 one with `models`:

    \b
    export LUTRA_TOKEN=$(lutra token create --name notebooks --scope models)
    lutra notebook

    What follows `--` goes to JupyterLab: lutra notebook -- --no-browser --port 8889
    """
    if importlib.util.find_spec("jupyterlab") is None:
        raise click.ClickException(
            f"JupyterLab is not installed beside Lutra: {sys.executable} -m pip install jupyterlab"
        )
    for copy in filled(folder):
        click.echo(f"copied {copy}")
    environment = {"LUTRA_URL": URL, **os.environ}
    click.echo(f"the notebooks read {environment['LUTRA_URL']}")
    if not environment.get("LUTRA_TOKEN"):
        click.echo(
            "LUTRA_TOKEN is not set, and the notebooks need it: `lutra token create --name notebooks --scope models` "
            "prints a token",
            err=True,
        )
    started = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={folder.resolve()}", *jupyter]
    sys.exit(subprocess.run(started, env=environment, check=False).returncode)
