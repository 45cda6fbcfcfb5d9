"""Addresses that a server listens on."""

from __future__ import annotations

import socket
from ipaddress import ip_address
from typing import NamedTuple


class Listening(NamedTuple):
    """A socket that listens, and its address."""

    socket: socket.socket
    address: str
    secure: bool = False

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return ip_address(self.address.rpartition(":")[0].strip("[]")).is_loopback

    @property
    def url(self) -> str:
        return f"{'https' if self.secure else 'http'}://{self.address}"


def parse_address(address: str) -> tuple[str, int]:
    """HOST:PORT, or a port alone, which is then of this machine only."""
    host, _, port = address.rpartition(":")
    if not port.isdigit() or int(port) > 65535:
        raise ValueError(f"{address} is not an address")
    return host.strip("[]") or "127.0.0.1", int(port)


def listen(address: str, secure: bool = False) -> Listening:
    """Takes an address. OSError if it cannot be had."""
    host, port = parse_address(address)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Said to be TCP, since asyncio lets small answers go at once only then: else each waits 40 ms for the one before.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(128)
    except BaseException:
        found.close()
        raise
    name, number = found.getsockname()[:2]
    return Listening(found, f"[{name}]:{number}" if family == socket.AF_INET6 else f"{name}:{number}", secure)
