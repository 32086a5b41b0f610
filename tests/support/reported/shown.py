"""The steps of changes, as a recommendation shows them."""

from __future__ import annotations

from collections.abc import Mapping

from lutra_models.catalog import meet
from lutra_models.catalog.statements import as_text
from lutra_models.knobs import Value
from lutra_models.server import Server


def shown(server: Server, target: Mapping[str, Value]) -> dict[str, tuple[str, str]]:
    """Setting → how it is changed and how that is undone, in the order of the change."""
    live = meet(server)
    made = live.steps(live.changes(target))
    return {s.change.name: (as_text(s.do_by_hand), as_text(s.undo_by_hand)) for s in made}
