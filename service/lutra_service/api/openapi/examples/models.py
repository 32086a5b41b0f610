"""Examples of model versions."""

from __future__ import annotations

from lutra_models import __version__

from lutra_service.api.openapi.examples.common import Example

package: Example = {"option": "surrogate.name", "name": "shop-kernels", "version": "1.0"}
model: Example = {
    "id": "mv_0d9k3v8m2q7r1t5w4x6z8b",
    "name": "a kernel of our own",
    "note": "The checkout's load has two regimes.",
    "state": "candidate",
    "serves": False,
    "missing": [],
    "shadow": True,
    "package_version": __version__,
    "packages": [package],
    "fingerprint": "0f3a9c6b2d81e457",
    "former": None,
    "created_at": "2026-05-04T08:00:00Z",
    "created_by": "data science",
    "promoted_at": None,
    "retired_at": None,
    "scored_at": None,
}
new_model: Example = {"name": "wider priors", "options": {"surrogate": {"wary": {"shift": -1.0}}}}
