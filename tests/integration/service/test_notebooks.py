"""Notebooks run from the first cell to the last against a running service."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.support.served import Served
from tests.support.sessions import tune

pytestmark = pytest.mark.slow
LOADING = ("text/html", "application/javascript")
"""What a browser would run; a chart that is drawn with such a one asks another host for its script."""
NOTEBOOKS = Path(__file__).parents[3] / "notebooks"


def run(name: str, folder: Path) -> list[str]:
    """The text of every answer, in order."""
    notebook = nbformat.read(NOTEBOOKS / name, as_version=4)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(folder)}}).execute()
    answers = [
        o for c in notebook.cells if c.cell_type == "code" for o in c.outputs if o.output_type == "execute_result"
    ]
    shown = [o["data"] for o in answers]
    assert not [d for d in shown if any("http" in str(d.get(kind, "")) for kind in LOADING)]
    return [d.get("text/plain", "") for d in shown]


def test_a_session_is_refitted_and_drawn(served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, session = tune(served, trials=6)
    monkeypatch.setenv("LUTRA_URL", str(served.client.base_url))
    monkeypatch.setenv("LUTRA_TOKEN", served.token)
    answers = run("01_retrain.ipynb", tmp_path)
    assert answers[0].startswith(f"'{session}: 7 observations")
    assert "held" in answers[1]
    assert sum("Chart" in a for a in answers) == 2


def test_a_session_whose_predictions_are_still_to_come_is_refitted_too(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, _, session = tune(served, trials=2)
    monkeypatch.setenv("LUTRA_URL", str(served.client.base_url))
    monkeypatch.setenv("LUTRA_TOKEN", served.token)
    answers = run("01_retrain.ipynb", tmp_path)
    assert answers[0].startswith(f"'{session}: 3 observations")
    assert "no trial was predicted" in answers[2]
    assert sum("Chart" in a for a in answers) == 1
