"""Examples of model versions."""

from __future__ import annotations

from lutra_models import __version__

from lutra_service.api.openapi.examples.common import LATER, SESSION, Example

package: Example = {"option": "surrogate.name", "name": "shop-kernels", "version": "1.0"}
model: Example = {
    "id": "mv_0d9k3v8m2q7r1t5w4x6z8b",
    "name": "a kernel of our own",
    "note": "The checkout's load has two regimes.",
    "state": "candidate",
    "serves": False,
    "missing": [],
    "shadow": True,
    "suite": {"state": "passed", "faults": []},
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
conformance: Example = {"option": "surrogate.name", "name": "shop_kernels", "faults": []}
data: Example = {"fingerprint": "5e0b7a91c4d2f836", "sessions": 1, "trials": 30}
scoring: Example = {"state": "done", "sessions": 1, "done": 1, "error": None}
model_gain: Example = {"log_score": 0.12, "rank_correlation": 0.05, "regret": 0.01}
_means: Example = {
    "held_80": 0.82,
    "width_80": 0.21,
    "held_90": 0.91,
    "width_90": 0.28,
    "log_score": 0.9,
    "error": 0.05,
    "rank_correlation": 0.7,
    "regret": 0.02,
    "missed": 0.41,
    "missed_live": 0.63,
}
session_score: Example = {"session": SESSION, "key": "c1f0a4d97be83526", "n": 120, **_means}
scorecard: Example = {
    **_means,
    "sessions": 1,
    "forecasts": 120,
    "failed": 0,
    "leaning": 1,
    "gain_from_past": model_gain,
    "conformance": [conformance],
    "by_session": [session_score],
}
_shadow: Example = {"n": 24, "held_90": 0.92, "width_90": 0.3, "log_score": 0.8, "error": 0.06}
in_shadow: Example = {"candidate": _shadow, "served": {**_shadow, "log_score": 0.7}}
_log_score: Example = {
    "source": "past_sessions",
    "measure": "log_score",
    "judges": ["calibration", "drift", "surrogate", "targets", "transfer"],
    "sessions": 24,
    "mean": 0.21,
    "low": 0.06,
    "high": 0.36,
    "level": 0.975,
    "verdict": "better",
    "needed": 0,
    "sentence": "forecasts of past sessions, by log score: better, +0.210 (+0.060 to +0.360) over 24 sessions",
}
beside_champion: Example = {
    "champion": "mv_0000000000000000000000",
    "changed": ["surrogate"],
    "not_judged": [],
    "judged": [_log_score],
    "promotes": True,
    "why": _log_score["sentence"],
}
model_detail: Example = {
    **model,
    "scored_at": LATER,
    "options": {"surrogate": {"name": "shop_kernels"}},
    "scorecard": scorecard,
    "data": data,
    "scoring": scoring,
    "in_shadow": in_shadow,
    "beside_champion": beside_champion,
}
