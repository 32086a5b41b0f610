"""A live server and its operator's policy, as JSON documents and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from lutra_models.server import Host, Policy, Server, ServerSetting

Document = dict[str, Any]


def server_to_dict(server: Server) -> Document:
    return {
        "engine": server.engine,
        "version": server.version,
        "role": server.role,
        "peak_connections": server.peak_connections,
        "host": asdict(server.host),
        "settings": settings_to_dict(server.settings),
    }


def server_from_dict(document: Mapping[str, Any]) -> Server:
    return Server(
        document["engine"],
        document["version"],
        settings_from_dict(document["settings"]),
        Host(**document["host"]),
        document["role"],
        document["peak_connections"],
    )


def settings_to_dict(settings: Mapping[str, ServerSetting]) -> Document:
    return {name: asdict(setting) | {"options": list(setting.options)} for name, setting in settings.items()}


def settings_from_dict(document: Mapping[str, Any]) -> dict[str, ServerSetting]:
    return {name: ServerSetting(**{**s, "options": tuple(s["options"])}) for name, s in document.items()}


def policy_to_dict(policy: Policy) -> Document:
    return {
        "pins": dict(policy.pins),
        "ranges": {name: list(ends) for name, ends in policy.ranges.items()},
        "movable": None if policy.movable is None else sorted(policy.movable),
        "restart": policy.restart,
        "durability": policy.durability,
        "memory_fraction": policy.memory_fraction,
        "memory_count": policy.memory_count,
        **({"host": True} if policy.host else {}),  # left out otherwise: stored histories keep their key
    }


def policy_from_dict(document: Mapping[str, Any]) -> Policy:
    movable = document.get("movable")
    ranges = {name: (low, high) for name, (low, high) in document.get("ranges", {}).items()}
    read = {**document, "ranges": ranges, "movable": None if movable is None else frozenset(movable)}
    return Policy(**read)
