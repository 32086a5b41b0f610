"""Examples of workloads."""

from __future__ import annotations

from lutra_service.api.openapi.examples.common import DATABASE, EVENING, LATER, SESSION, Example

effect: Example = {
    "setting": "work_mem",
    "baseline": 4096,
    "values": [1024, 4096, 16384, 65536, 262144],
    "gains": [-0.07, 0.0, 0.06, 0.1, 0.11],
    "deviations": [0.02, 0.0, 0.02, 0.03, 0.03],
    "deviation": 0.02,
    "serves": None,
    "chance": 0.002,
    "certain": True,
    "best": 262144,
    "gain": 0.11,
    "low": 0.06,
    "high": 0.16,
    "log": True,
    "choice": False,
    "special": 0,
}
lesson: Example = {"log": True, "goal": "maximize", "low": 6.4, "high": 6.9, "rest": 0.004, "effects": [effect]}
workload: Example = {
    "id": "wl_01m80d4s387knw3w7ehz98",
    "name": "shop",
    "engine": "postgresql",
    "metric": "qps",
    "database": DATABASE,
    "session": SESSION,
    "observations": 31,
    "created_at": EVENING,
    "changed_at": LATER,
    "teaches": True,
    "merged_into": None,
    "signature": {"buffers_hit_per_s": [5.2e4, 5.9e4, 6.3e4, 6.6e4, 7.0e4, 7.1e4, 7.3e4, 7.6e4, 7.9e4, 8.1e4, 9.0e4]},
    "context": {"engine_version": "16.4", "cores": 4},
    "lessons": {"qps": lesson},
}
alike: Example = {"workload": "wl_01m80d4s387knw3w7ehz99", "name": "till", "distance": 0.8, "agreement": 0.74}
