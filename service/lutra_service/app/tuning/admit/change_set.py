"""The details of a recommendation before its approval: the exact change and its undo, the memory sum, warnings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace

from lutra_models.catalog import Change
from lutra_models.errors import InvalidConfiguration
from lutra_models.knobs import Configuration, Value
from lutra_models.symptoms.proposed import said_of

from lutra_service.app.databases.current_server import ServerContext
from lutra_service.common.documents import Document
from lutra_service.common.serialize import change_to_dict
from lutra_service.db.schema.recommendation import Proposal, Request

WAITS = "needs a restart, which waits"
BY_HAND = "in mode observe the agent changes nothing: apply the statements by hand"


def asked_now(context: ServerContext, configuration: Configuration, request: Request) -> Request:
    """`request`, with the active values of these settings."""
    return replace(request, before=dict(context.active.restrict(configuration)))


def proposed(context: ServerContext, configuration: Configuration, proposal: Proposal) -> Proposal:
    """`proposal`, with what follows from this configuration and the live server."""
    changes = context.live.changes(configuration)
    return replace(
        proposal,
        configuration=dict(configuration),
        changes=[change_to_dict(c) for c in context.live.steps(changes)],
        memory=memory_sum(context, configuration),
        restart_needed=any(c.applies == "restart" for c in changes),
        warnings=warnings(context, configuration, changes),
    )


def memory_sum(context: ServerContext, configuration: Mapping[str, Value]) -> Document:
    """The policy's memory sum term by term, in bytes, with its limit and the worst case beside it."""
    return {
        **asdict(context.live.memory(context.policy, configuration)),
        "limit_bytes": context.live.memory_limit(context.policy),
    }


def warnings(context: ServerContext, configuration: Configuration, changes: tuple[Change, ...]) -> list[str]:
    """The facts that an operator should know before approving."""
    texts = [] if changes else ["nothing changes: these settings are active already"]
    refusal = context.memory_refusal(configuration)
    if refusal is not None:
        texts.append(refusal.message)
    for change in changes:
        setting = context.server.settings.get(change.name)
        if setting is not None and setting.shadowed:
            texts.append(f"{change.name} is set by {setting.shadowed}, which overrides the agent's file")
        if setting is not None and setting.unreached:
            texts.append(f"{change.name} does not change for {setting.unreached}: they have their own values")
        if setting is not None and (waiting := context.live.not_active(change.name)):
            texts.append(f"{change.name}: {waiting}")
        texts += _against(context, change)
    texts += _said_of(context, changes)
    if shared := [c.name for c in changes if context.live.rows[c.name].risk == "host"]:
        texts.append(f"affects everything that runs on the database's host, not only the database: {', '.join(shared)}")
    if context.waits is not None and any(c.applies == "restart" for c in changes):
        texts.append(f"{WAITS}: {context.waits}")
    if context.mode == "observe" and changes:
        texts.append(BY_HAND)
    return texts


def _said_of(context: ServerContext, changes: Iterable[Change]) -> list[str]:
    """What a finding would say of the new values."""
    try:
        return [
            f"with these values: {said}"
            for said in said_of(context.live, context.policy, {c.name: c.after for c in changes})
        ]
    except InvalidConfiguration:
        return []


def lasting(told: Iterable[str]) -> list[str]:
    """The warnings that still matter once the change can no longer be executed."""
    return [warning for warning in told if not warning.startswith((WAITS, BY_HAND))]


def _against(context: ServerContext, change: Change) -> Iterator[str]:
    """What speaks against switching what no session moves by itself; numbers are bounded by their ranges."""
    row = context.live.rows[change.name]
    if row.tune or not isinstance(change.after, str):
        return
    harm = "puts availability at risk" if row.risk == "availability" else "is proposed only where the policy names it"
    yield f"{change.name} {change.before_text} → {change.after_text} {harm}: {row.meaning}"
