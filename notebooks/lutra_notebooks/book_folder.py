"""Where the notebooks are, and how a person gets copies to work in."""

from __future__ import annotations

import shutil
from pathlib import Path

BOOK = Path(__file__).parent / "book"
"""The notebooks as they were installed."""


def filled(folder: Path) -> list[Path]:
    """Copy those notebooks to `folder` that it does not have yet; what is there stays as it is. The copies."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for notebook in sorted(BOOK.glob("*.ipynb")):
        copy = folder / notebook.name
        if not copy.exists():
            shutil.copyfile(notebook, copy)
            made.append(copy)
    return made
