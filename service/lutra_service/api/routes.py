"""Every route of the service."""

from __future__ import annotations

from lutra_service.api import databases, health, knobs, predictions, recommendations, reports, sessions

ROUTERS = (
    databases.router,
    reports.router,
    recommendations.router,
    predictions.router,
    sessions.router,
    knobs.router,
    health.router,
)
