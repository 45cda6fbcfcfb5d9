"""Posting to addresses that people wrote down: once, limited in time and size, without following redirects.

An address may lead into the network that the control plane stands in, where it can reach what its writer cannot. So a
name is resolved once, every address that it has is judged, and the connection goes to one that was.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

from fleetform.outside.errors import OutsideError
from fleetform.outside.http import Answer, UnreachableError, new_client, transport_failure

_LARGEST_ANSWER = 64 * 1024
_PORTS = {"http": 80, "https": 443}
Resolve = Callable[[str, int], "list[str]"]


class Posts:
    """Posts; several threads may at once. private: whether addresses that are not of the internet are allowed.

    timeout is the longest silence, patience the longest time for one answer in all.
    """

    def __init__(
        self,
        private: bool = False,
        *,
        timeout: float = 10.0,
        patience: float = 20.0,
        resolve: Resolve | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._private, self._timeout, self._patience = private, timeout, patience
        self._resolve, self._clock = resolve or addresses_of, clock

    def post(self, url: str, headers: Mapping[str, str], body: bytes, name: str = "") -> Answer:
        """The answer, whatever its status; OutsideError if there is none. name is what is shown of the address."""
        parts = _parts(url)
        shown = name or f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        if _proxy(parts):
            # What it may reach is for the proxy to say; it also resolves the name.
            return self._sent(parts, parts.netloc, headers, body, shown, by_proxy=True)
        last: OutsideError | None = None
        for address in self._judged(parts, shown):
            try:
                host = f"[{address}]" if ":" in address else address
                return self._sent(parts, f"{host}:{_port(parts)}", headers, body, shown)
            except UnreachableError as error:
                last = error
        raise last or UnreachableError(f"{shown}: the name has no address", "check the address")

    def _judged(self, parts: SplitResult, shown: str) -> list[str]:
        """The addresses of a host, all of which must be allowed: a name may not mix them."""
        try:
            found = self._resolve(parts.hostname or "", _port(parts))
        except OSError as error:
            message = f"{shown}: the name {parts.hostname} is not known"
            raise UnreachableError(message, "check the address and the network") from error
        if not self._private and not all(_is_public(ip_address(each)) for each in found):
            message = f"{shown} is an address of a private network"
            raise OutsideError(message, "use one of the internet, or start serve with --allow-private-endpoints")
        return found

    def _sent(
        self,
        parts: SplitResult,
        place: str,
        headers: Mapping[str, str],
        body: bytes,
        shown: str,
        by_proxy: bool = False,
    ) -> Answer:
        import httpx2

        deadline = self._clock() + self._patience
        target = parts._replace(netloc=place, fragment="").geturl()
        given = {**headers, "Host": parts.netloc.rpartition("@")[2], "Accept-Encoding": "identity"}
        # Posts are rare, and a connection that was kept may have been closed by then.
        client = new_client(self._timeout, trust_env=by_proxy)
        try:
            with (
                client,
                client.stream(
                    "POST",
                    target,
                    headers=given,
                    content=body,
                    follow_redirects=False,
                    extensions={"sni_hostname": parts.hostname},
                ) as response,
            ):
                content = bytearray()
                for part in response.iter_raw():
                    content += part
                    if self._clock() > deadline or len(content) > _LARGEST_ANSWER:
                        break
                read = {name.lower(): value for name, value in response.headers.items()}
                return Answer(response.status_code, read, bytes(content[:_LARGEST_ANSWER]))
        except httpx2.InvalidURL:
            raise _no_address() from None
        except httpx2.TransportError as error:
            raise transport_failure(shown, parts.hostname or "it", error, self._timeout) from None


def addresses_of(host: str, port: int) -> list[str]:
    """The addresses of a name, each once, in the order of the system."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]).partition("%")[0] for each in found))


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    if mapped is not None:
        return _is_public(mapped)
    return address.is_global and not address.is_multicast


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        if parts.scheme in _PORTS and parts.hostname and _port(parts):
            return parts
    except ValueError:
        pass
    # A message of urlsplit would quote the address, password and all.
    raise _no_address() from None


def _port(parts: SplitResult) -> int:
    return parts.port or _PORTS[parts.scheme]


def _no_address() -> OutsideError:
    return OutsideError("the address cannot be read", "write https://host/path")


def _proxy(parts: SplitResult) -> bool:
    proxies = getproxies()
    known = proxies.get(parts.scheme) or proxies.get("all")
    return bool(known) and not proxy_bypass(parts.netloc.rpartition("@")[2])
