"""HTTP, read only and limited: in size, in time and in redirects. No error message contains a secret."""

from __future__ import annotations

import os
import re
import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import cache
from http import HTTPStatus
from socket import gaierror
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple, Self
from urllib.parse import unquote, urlsplit

from fleetform.outside.credentials import Credentials
from fleetform.outside.errors import OutsideError
from fleetform.outside.files import read_file, reason
from fleetform.syntax.addresses import shown

if TYPE_CHECKING:
    import ssl

    import httpx2

LIMIT = 100_000_000
MAX_REDIRECTS = 5
LONGEST_WAIT = 10.0

_PAUSES = (0.5, 2.0)
_PASSING = (429, 500, 502, 503, 504)
_HEADER_VALUE = re.compile(r"[\x21-\x7e]+\Z")


class Answer(NamedTuple):
    """A server's response; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class UnavailableError(OutsideError):
    """The network or a server is at fault, and not the request."""


class UnreachableError(UnavailableError):
    """No server answered; the next try may succeed."""


class Web:
    """Reads addresses, with credentials; a server is tried three times before it counts as unreachable.

    timeout is the longest silence, patience the longest time for one address in all; patience is checked between the
    parts of an answer.
    """

    def __init__(
        self,
        credentials: Credentials | None = None,
        *,
        timeout: float = 20.0,
        patience: float = 120.0,
        limit: int = LIMIT,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._credentials = credentials
        self._timeout, self._patience, self._limit = timeout, patience, limit
        self._sleep, self._clock = sleep, clock
        self._lock = Lock()
        self._made: httpx2.Client | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        if self._made is not None:
            self._made.close()
            self._made = None

    def get(self, url: str, accept: str = "*/*", *, anonymous: bool = False) -> Answer:
        """The content of an address; anonymous for one that the credentials are not meant for."""
        answer = self.ask(url, accept, None if anonymous else authorization_of(self._credentials))
        if answer.status != HTTPStatus.OK:
            raise refusal(url, answer.status)
        return answer

    def ask(self, url: str, accept: str = "*/*", authorization: str | None = None, limit: int | None = None) -> Answer:
        """The server's answer, also a refusal, to a request with this authorization and no other."""
        bound = self._limit if limit is None else min(limit, self._limit)
        if _scheme(url) == "file":
            return Answer(HTTPStatus.OK, {}, _read_file(url, bound))
        headers = {"Accept": accept, "Accept-Encoding": "identity"}
        if authorization is not None:
            headers["Authorization"] = authorization
        deadline = self._clock() + self._patience
        for pause in _PAUSES:
            try:
                answer = self._attempt(url, headers, deadline, bound)
            except UnreachableError:
                self._sleep(pause)
                continue
            wait = _wait_before_next(answer, pause)
            if wait is None:
                return answer
            self._sleep(wait)
        return self._attempt(url, headers, deadline, bound)

    def _attempt(self, url: str, headers: dict[str, str], deadline: float, limit: int) -> Answer:
        import httpx2

        client = self._client()
        try:
            request = client.build_request("GET", url, headers=headers)
            for _ in range(MAX_REDIRECTS + 1):
                self._check_time(url, deadline)
                with closing(client.send(request, stream=True)) as response:
                    if response.next_request is not None:
                        request = _onward(url, response.next_request)
                        continue
                    content = bytearray()
                    # Raw: archives that a server calls encoded are archives all the same, and digests are of what is
                    # stored.
                    for part in response.iter_raw():
                        self._check_time(url, deadline)
                        _add_part(content, part, url, limit)
                    headers_read = {name.lower(): value for name, value in response.headers.items()}
                    return Answer(response.status_code, headers_read, bytes(content))
        except httpx2.InvalidURL:
            # Its message quotes the address, password and all.
            raise bad_address(url) from None
        except httpx2.TransportError as error:
            raise transport_failure(shown(url), urlsplit(url).hostname or "it", error, self._timeout) from error
        raise OutsideError(f"{shown(url)} redirects more than {MAX_REDIRECTS} times", "check the address")

    def _check_time(self, url: str, deadline: float) -> None:
        if self._clock() > deadline:
            message = f"{shown(url)} took longer than {self._patience:g} s"
            raise UnavailableError(message, "try again later, or read less of it")

    def _client(self) -> httpx2.Client:
        # Made on first use, since its import takes long, and once, since connections are worth keeping.
        with self._lock:
            if self._made is None:
                self._made = new_client(self._timeout)
            return self._made


def transport_failure(address: str, host: str, error: httpx2.TransportError, timeout: float) -> OutsideError:
    """The error for an exchange that broke off; address is what may be shown of it."""
    import ssl

    import httpx2

    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return _tls_failure(address, cause)
        if isinstance(cause, gaierror):
            return UnreachableError(f"{address}: the name {host} is not known", "check the address and the network")
        if isinstance(cause, ConnectionRefusedError):
            return UnreachableError(f"{address}: {host} refuses connections", "check the address, and any proxy")
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, httpx2.TimeoutException):
        message = f"{address} did not answer within {timeout:g} s"
        return UnavailableError(message, "check the address and the network, or try again later")
    if isinstance(error, httpx2.ProxyError):
        return UnavailableError(f"{address}: the proxy refuses the connection", "check HTTPS_PROXY and HTTP_PROXY")
    return UnreachableError(f"{address}: the connection broke off", "check the network, or try again later")


def authorization_of(credentials: Credentials | None) -> str | None:
    """The header with the credentials."""
    if credentials is None:
        return None
    if credentials.token:
        return bearer(credentials.token)
    if credentials.username is None and credentials.password is None:
        return None
    pair = f"{credentials.username or ''}:{credentials.password or ''}"
    return "Basic " + b64encode(pair.encode()).decode()


def bearer(token: str) -> str:
    """The header with a token."""
    token = token.strip()
    if not _HEADER_VALUE.match(token):
        raise OutsideError("the token contains characters that no token has", "check the credentials in secretRef")
    return f"Bearer {token}"


def refusal(url: str, status: int) -> OutsideError:
    """The error for a status that is not OK."""
    address = shown(url)
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return OutsideError(f"{address} refuses access ({status})", "check the credentials in secretRef")
    if status == HTTPStatus.NOT_FOUND:
        return OutsideError(f"{address} does not exist (404)", "check the address")
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return UnavailableError(f"{address} has had too many requests (429)", "try again later, or read it less often")
    phrase = next((f" ({each.phrase})" for each in HTTPStatus if each == status), "")
    message = f"{address} answers {status}{phrase}"
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return UnavailableError(message, "try again later")
    return OutsideError(message, "check the address")


def bad_address(url: str) -> OutsideError:
    """The error for a text that is not an address."""
    return OutsideError(f"{shown(url)} is not an address that can be read", "write https://host/path")


def same_origin(url: str, other: str) -> bool:
    """Whether two addresses are served by one server."""
    return _origin(url) == _origin(other)


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def _scheme(url: str) -> str:
    try:
        scheme, host, _ = _origin(url)
    except ValueError:
        # Its message may quote the password; so does the chain.
        raise bad_address(url) from None
    if scheme != "file" and not (scheme in ("http", "https") and host):
        raise bad_address(url)
    return scheme


def new_client(timeout: float, trust_env: bool = True) -> httpx2.Client:
    """A client with the certificates that are trusted here; trust_env: by the proxies of the environment."""
    # Imported with the first request: most commands make none.
    import logging

    import httpx2

    # It logs every address as a matter of course, with the secrets in it.
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    try:
        agent = {"User-Agent": "fleetform"}
        return httpx2.Client(timeout=timeout, headers=agent, verify=trusted_certificates(), trust_env=trust_env)
    except (OSError, ValueError, ImportError, httpx2.InvalidURL):
        # The environment's proxies may hold passwords, and messages about them quote them.
        raise OutsideError(
            "HTTP cannot be set up", "check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR"
        ) from None


def trusted_certificates() -> ssl.SSLContext:
    """The certificates that servers are known by; SSL_CERT_FILE and SSL_CERT_DIR add an organization's own."""
    return _certificates(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@cache
def _certificates(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    """The trusted certificates, by the environment; loading them takes longer than most requests."""
    import httpx2

    return httpx2.create_ssl_context()


def _onward(url: str, request: httpx2.Request) -> httpx2.Request:
    target = str(request.url)
    if request.url.scheme not in ("http", "https") or (
        urlsplit(url).scheme == "https" and request.url.scheme != "https"
    ):
        raise OutsideError(f"{shown(url)} redirects to {shown(target)}, which is not safe", "check the address")
    return request


def _wait_before_next(answer: Answer, pause: float) -> float | None:
    """How long to wait before the next try, or None if a next try is of no use."""
    if answer.status not in _PASSING:
        return None
    asked = answer.headers.get("retry-after", "")
    if not (asked.isascii() and asked.isdigit()):
        return pause
    return float(asked) if float(asked) <= LONGEST_WAIT else None


def _tls_failure(address: str, error: ssl.SSLError) -> OutsideError:
    import ssl

    if isinstance(error, ssl.SSLCertVerificationError):
        message = f"{address}: the server's certificate is not trusted ({error.verify_message})"
        return OutsideError(message, "check the address; name the certificates of your own authority in SSL_CERT_FILE")
    reason = (error.reason or "it failed").replace("_", " ").lower()
    return OutsideError(f"{address}: no TLS connection ({reason})", "check that the server uses https on this port")


def _read_file(url: str, limit: int) -> bytes:
    parts = urlsplit(url)
    if parts.hostname not in (None, "localhost"):
        raise OutsideError(f"{shown(url)} is a file of another machine", "write file:///path")
    try:
        return read_file(unquote(parts.path), limit)
    except (OSError, ValueError) as error:
        why = reason(error) if isinstance(error, OSError) else "it is no path"
        raise OutsideError(f"{shown(url)} cannot be read: {why}", "check the path") from error


def _add_part(content: bytearray, part: bytes, url: str, limit: int) -> None:
    content += part
    if len(content) > limit:
        raise OutsideError(f"{shown(url)} is larger than {limit:,} bytes", "read a smaller source")
