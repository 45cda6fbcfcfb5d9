"""Addresses: as messages may show them, and where they lead."""

from __future__ import annotations

import re
from ipaddress import ip_address
from urllib.parse import urlsplit

_LOGIN = re.compile(r"(?<=://)[^\s/'\"]*@")
_QUERY = re.compile(r"(?<=://)([^\s'\"?]++)\?[^\s'\"]+")
_LOGIN_WITHOUT_SCHEME = re.compile(r"[^/\s]*:[^\s]*@")


def shown(url: str) -> str:
    """An address without user, password and query, which may be secret."""
    if "://" not in url:
        return _LOGIN_WITHOUT_SCHEME.sub("", url).partition("?")[0]
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "the address"
    place = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{place}{f':{port}' if port is not None else ''}{parts.path}"


def without_logins(text: str) -> str:
    """A text without the user names, passwords and queries of addresses in it: tokens travel in all three."""
    return _QUERY.sub(r"\1?…", _LOGIN.sub("", text)) if "://" in text else text


def with_masked_logins(text: str) -> str:
    """A value as it may be shown: what may be secret of addresses in it by a mark: one sees that it is there."""
    return _QUERY.sub(r"\1?…", _LOGIN.sub("(secret)@", text)) if "://" in text else text


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, and what is sent there never leaves it."""
    try:
        return host == "localhost" or ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
