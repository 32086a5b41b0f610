"""Messages by Apprise: chats, e-mail and many services by one URL. The only module that imports it."""

from __future__ import annotations

import ipaddress
import logging
from typing import Any
from urllib.parse import parse_qs, urlsplit

from lutra_models.errors import MissingExtension

from lutra_service.app.errors import InvalidRequest

LOCAL = ("syslog", "dbus", "kde", "qt", "glib", "gnome", "macosx", "windows")
"""Programs of the service's own machine, which show a message to nobody."""
FILES = ("template", "attach")
"""Parameters by which a URL would have a file of the service's machine sent."""
DEFUSED = str.maketrans({"@": "@\u200b", "<": "‹", ">": "›"})
"""Nobody is called by a name in a text from outside."""


def verify(url: str) -> None:
    """Raises InvalidRequest for a URL that Apprise does not know or that is refused, MissingExtension without it."""
    if urlsplit(url).scheme.lower() in LOCAL:
        raise InvalidRequest(f"target: {', '.join(LOCAL)} reach only the service's own machine: use another URL")
    if not parse_qs(urlsplit(url).query, keep_blank_values=True).keys().isdisjoint(FILES):
        raise InvalidRequest(f"target: remove {' and '.join(FILES)} from the URL: no file of this machine is sent")
    if _is_link_local(urlsplit(url).hostname or ""):
        raise InvalidRequest("target: nothing is sent to a link-local address: use another URL")
    _service(url)


def _is_link_local(host: str) -> bool:
    """Of an address that is written out: a name may be a secret, and is not looked up."""
    try:
        return ipaddress.ip_address(host).is_link_local
    except ValueError:
        return False


def send(url: str, title: str, text: str) -> bool:
    """Whether the service that the URL names took it."""
    service = _service(url)
    return bool(service.notify(title=f"Lutra: {title}", body=text.translate(DEFUSED)))


def _service(url: str) -> Any:
    try:
        from apprise import Apprise, AppriseAsset
    except ImportError as error:
        raise MissingExtension(
            "apprise is not installed in the service's environment: pip install 'lutra-service[apprise]', "
            "then restart the service"
        ) from error
    logging.getLogger("apprise").disabled = True  # it writes parts of URLs and of answers
    asset = AppriseAsset(http_redirects=False, secure_logging=True)
    found = Apprise.instantiate(url, asset=asset)
    if found is None:
        raise InvalidRequest("target: Apprise does not know this URL: see the services that Apprise documents")
    service = Apprise(asset=asset)
    service.add(found)
    return service
