"""Whether a new value lies where the catalogue searches on this server, whatever the service says of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lutra_models.catalog import Change, LiveSettings
from lutra_models.errors import ApplyCode, InvalidConfiguration
from lutra_models.knobs import Choice, Configuration, Domain, Value
from lutra_models.server import Policy

from lutra_agent.admission.past_configurations import Active, values_of
from lutra_agent.errors import ApplyRefused

REMEDY = "agent.ranges = 'server' in the agent's own file allows every value that the server accepts"


def within_ranges(live: LiveSettings, changes: Iterable[Change], known: Sequence[Active]) -> None:
    """Raises ApplyRefused. A range holds the value that is active now, and those of the configurations before."""
    references = [live.values, *(live.values.replace(values_of(live, active)) for active in known)]
    changes = tuple(changes)
    together = frozenset(c.name for c in changes)
    for change in changes:
        # The references differ in one setting's own value alone as far as its range is concerned.
        own = {r[change.name]: r for r in references}
        domains = [_domain(live, change.name, together, reference) for reference in own.values()]
        if not any(_inside(change.after, domain) for domain in domains):
            problem = f"{change.name}: {change.after_text} is outside {domains[0]}, the range of the catalogue"
            raise ApplyRefused(ApplyCode.INVALID_VALUE, f"{problem}; {REMEDY}")


def _domain(live: LiveSettings, name: str, together: frozenset[str], reference: Configuration) -> Domain:
    """What the setting needs may be changed with it: `together` are all that are."""
    needs = live.rows[name].needs
    movable = [{name} | (needs.names & together)] if needs else []
    try:
        for names in (*movable, {name}):
            space = live.space(Policy(movable=frozenset(names), durability=True, host=True), reference)
            if name in space:
                return space[name].domain
    except InvalidConfiguration as error:
        raise ApplyRefused(ApplyCode.INVALID_VALUE, f"{error}; {REMEDY}") from error
    raise AssertionError(f"{name} is the only setting")


def _inside(value: Value, domain: Domain) -> bool:
    """Steps do not count: the server rounds by itself."""
    if isinstance(value, str) or isinstance(domain, Choice):
        return value in domain
    return value in domain.special or domain.low <= value <= domain.high
