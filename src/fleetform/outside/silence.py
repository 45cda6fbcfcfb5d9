"""Git servers that say nothing: they are given up after a while in which nothing comes; those that are slow are not."""

from __future__ import annotations

import errno
import re
import selectors
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from fleetform.outside.git import GitError, run_git

_PORTS = {"http": 80, "https": 443, "git": 9418}
_HTTP_LIMITS = ("http.lowspeedlimit", "http.lowspeedtime")
_TOO_SLOW = re.compile(r"Operation too slow|timed out during banner exchange|Timeout, server .* not responding")


class SilentError(GitError):
    """A server was given up, as nothing came from it any more."""

    def __init__(self, failing: str, seconds: float) -> None:
        super().__init__(f"{failing}: nothing came from there for {seconds:g} s", "check the server and the network")


class SilentServers:
    """Which servers were silent a moment ago. They are not asked again at once, by nobody: many repositories may be on
    one of them."""

    def __init__(self, seconds: float = 120.0) -> None:
        self._seconds = seconds
        self._until: dict[str, float] = {}

    def note(self, url: str) -> None:
        self._until[_server(url)] = time.monotonic() + self._seconds

    def holds(self, url: str) -> bool:
        return self._until.get(_server(url), 0.0) > time.monotonic()


def ssh_command(seconds: float) -> str:
    """ssh that asks nobody, and gives up a server that says nothing for so long: at the beginning, or later."""
    whole = max(round(seconds), 1)
    alive = f"-oServerAliveInterval={max(whole // 4, 1)} -oServerAliveCountMax=4"
    return f"ssh -oBatchMode=yes -oConnectTimeout={whole} {alive}"


def with_limits(url: str, folder: str, environment: Mapping[str, str], seconds: float) -> dict[str, str]:
    """The environment in which git gives up a server that is silent; what people configured themselves stays."""
    if urlsplit(url).scheme in ("http", "https"):
        if any(name in _http_settings(url, folder, environment) for name in _HTTP_LIMITS):
            return dict(environment)
        # While a server packs or unpacks it still sends a few bytes a second to say so.
        limits = {"GIT_HTTP_LOW_SPEED_LIMIT": "1", "GIT_HTTP_LOW_SPEED_TIME": str(max(round(seconds), 1))}
        return {**limits, **environment}
    if "GIT_SSH_COMMAND" in environment or "GIT_SSH" in environment:
        return dict(environment)
    if _configured(("--get", "core.sshCommand"), folder, environment):
        return dict(environment)
    return {**environment, "GIT_SSH_COMMAND": ssh_command(seconds)}


def check_answers(url: str, folder: str, environment: Mapping[str, str], failing: str, seconds: float) -> None:
    """GitError if a server takes no connection for so long. Of everything else git itself says what is wrong.

    Git waits five minutes for that, and nobody can tell it otherwise.
    """
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname or _by_proxy(url, folder, environment):
        return
    try:
        port = parts.port or _PORTS[parts.scheme]
        with _connected(parts.hostname, port, time.monotonic() + seconds) as (connection, left):
            if parts.scheme == "https":
                connection.settimeout(left)
                _whoever_it_is().wrap_socket(connection, server_hostname=parts.hostname).close()
    except TimeoutError:
        raise SilentError(failing, seconds) from None
    except (OSError, ValueError):
        return


def is_too_slow(error: GitError) -> bool:
    """Whether git gave up as nothing came any more."""
    return _TOO_SLOW.search(error.message) is not None


def _server(url: str) -> str:
    """The server of an address, without who logs in there."""
    place = urlsplit(url).netloc if "://" in url else url.partition(":")[0]
    return place.rpartition("@")[2].lower()


def _whoever_it_is() -> ssl.SSLContext:
    """Nothing is told to the server, and nothing of it is believed: git looks at its certificate afterwards."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


@contextmanager
def _connected(host: str, port: int, until: float) -> Iterator[tuple[socket.socket, float]]:
    """The first connection that any of a name's addresses takes, and how many seconds are left: one of them may lead
    nowhere."""
    with ExitStack() as opened, selectors.DefaultSelector() as selector:
        for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            with suppress(OSError):
                one = opened.enter_context(socket.socket(family, kind, protocol))
                one.setblocking(False)
                if one.connect_ex(address) in (0, errno.EINPROGRESS):
                    selector.register(one, selectors.EVENT_WRITE, one)
        while selector.get_map():
            ready = selector.select(max(until - time.monotonic(), 0))
            if not ready:
                raise TimeoutError
            for key, _ in ready:
                selector.unregister(key.fileobj)
                if key.data.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0:
                    yield key.data, max(until - time.monotonic(), 0.001)
                    return
        raise ConnectionRefusedError


def _by_proxy(url: str, folder: str, environment: Mapping[str, str]) -> bool:
    """Whether git goes there by way of another server, which answers in its stead."""
    parts = urlsplit(url)
    if parts.scheme == "git":
        return "GIT_PROXY_COMMAND" in environment or bool(
            _configured(("--get-all", "core.gitProxy"), folder, environment)
        )
    named = getproxies()
    if (parts.scheme in named or "all" in named) and not proxy_bypass(parts.netloc.rpartition("@")[2]):
        return True
    return "http.proxy" in _http_settings(url, folder, environment)


def _http_settings(url: str, folder: str, environment: Mapping[str, str]) -> set[str]:
    """The names of the settings that git has for an address."""
    listed = _configured(("--get-urlmatch", "http", url), folder, environment)
    return {line.partition(" ")[0].lower() for line in listed.split("\n")}


def _configured(asked: tuple[str, ...], folder: str, environment: Mapping[str, str]) -> str:
    """What git's configuration says; "" if nothing."""
    try:
        said = run_git("config", *asked, failing="", folder=folder, environment=dict(environment))
    except GitError:
        return ""
    return said.decode("utf-8", "replace").strip()
