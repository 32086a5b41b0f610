"""Knobs as JSON documents and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from lutra_models.knobs import STEPS, Choice, Domain, Knob, Number

Document = dict[str, Any]


def knob_to_dict(knob: Knob) -> Document:
    return {"name": knob.name, "applies": knob.applies, "risk": knob.risk, "domain": _domain_to_dict(knob.domain)}


def knob_from_dict(document: Mapping[str, Any]) -> Knob:
    domain = document["domain"]
    read: Domain = Choice(tuple(domain["options"])) if "options" in domain else Number(**domain)
    return Knob(document["name"], read, document["applies"], document["risk"])


def _domain_to_dict(domain: Domain) -> Document:
    if isinstance(domain, Choice):
        return {"options": list(domain.options)}
    told = {**asdict(domain), "special": list(domain.special)}
    if domain.serves is None:
        del told["serves"]
    else:
        told["serves"] = list(domain.serves)
    if domain.steps == STEPS:
        del told["steps"]  # as before there was a choice
    return told
