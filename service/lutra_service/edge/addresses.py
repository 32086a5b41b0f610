"""The address on which a request is counted."""

from __future__ import annotations

import ipaddress

from starlette.types import Scope

_IPV6_NETWORK = 64
"""The prefix of one customer's IPv6 addresses: a customer with one of them has all of them."""


def client_address(scope: Scope, behind_proxy: bool) -> str:
    """The peer; behind a proxy, the last address of X-Forwarded-For, which the proxy itself wrote."""
    peer = (scope.get("client") or ("",))[0]
    if not behind_proxy:
        return str(peer)[:64]
    forwarded = [value for name, value in scope["headers"] if name == b"x-forwarded-for"]
    last = forwarded[-1].decode("latin-1").rpartition(",")[2].strip() if forwarded else ""
    try:
        return str(ipaddress.ip_address(last))
    except ValueError:
        return str(peer)[:64]


def counted(address: str) -> str:
    """The key of an address's share: an IPv6 address counts as its network."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.ip_network((parsed, _IPV6_NETWORK), strict=False))
    return address
