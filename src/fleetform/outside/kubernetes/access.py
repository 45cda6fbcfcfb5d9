"""How a cluster is reached.

A kubeconfig comes from others and is code in disguise: what could run a program, read a file of this machine or skip
the check of a certificate is refused.
"""

from __future__ import annotations

import os
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from fleetform.outside.errors import OutsideError
from fleetform.outside.files import read_file
from fleetform.syntax.yaml_in import YamlError, read_one

_SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
_LONGEST_FILE = 1024 * 1024


class AccessError(OutsideError):
    """A cluster cannot be reached in the way that was given; trying again does not help."""


class Access(NamedTuple):
    """An API server and who we are there. Certificates are PEM; token_file is read again when it changes.

    user and groups are who requests are made as (impersonation); "" means ourselves.
    """

    server: str
    ca: bytes | None = None
    token: str = ""
    token_file: str = ""
    certificate: bytes | None = None
    key: bytes | None = None
    server_name: str = ""
    user: str = ""
    groups: Sequence[str] = ()

    def __repr__(self) -> str:
        """Without what is secret: records end up in messages."""
        return f"Access(server={self.server!r})"

    def acting_as(self, user: str, groups: Sequence[str] = ()) -> Access:
        return self._replace(user=user, groups=tuple(groups))


class _Named(Struct):
    name: str
    cluster: dict[str, Any] = {}
    user: dict[str, Any] = {}
    context: dict[str, Any] = {}


class _Kubeconfig(Struct, rename="kebab"):
    clusters: list[_Named] = []
    users: list[_Named] = []
    contexts: list[_Named] = []
    current_context: str = ""


def access_from_kubeconfig(text: str, context: str = "") -> Access:
    """The access that a kubeconfig's context gives; AccessError names what is missing or refused."""
    try:
        config = msgspec.convert(read_one(text), _Kubeconfig)
    except (YamlError, msgspec.ValidationError) as error:
        # The text of the error may quote the file, and the file is a secret.
        raise AccessError("the kubeconfig cannot be read", "it must be YAML of kind Config") from error
    chosen = context or config.current_context
    if not chosen:
        raise AccessError("the kubeconfig has no current-context", "name a context, or set current-context")
    found = _named(config.contexts, "context", chosen).context
    cluster = _named(config.clusters, "cluster", str(found.get("cluster", ""))).cluster
    user = _named(config.users, "user", str(found.get("user", ""))).user
    _refuse_what_is_not_inline(cluster, user)
    server = str(cluster.get("server", ""))
    parts = urlsplit(server)
    if parts.scheme != "https" or not parts.hostname:
        raise AccessError("the kubeconfig's server is not an https address", "write https://HOST:PORT")
    if parts.username or parts.password:
        raise AccessError("the kubeconfig's server has a login in its address", "use a token or a client certificate")
    return Access(
        server.rstrip("/"),
        _decoded(cluster, "certificate-authority-data"),
        str(user.get("token", "")),
        "",
        _decoded(user, "client-certificate-data"),
        _decoded(user, "client-key-data"),
        str(cluster.get("tls-server-name", "")),
        str(user.get("as", "")),
        tuple(str(each) for each in user.get("as-groups", ())),
    )


def access_in_cluster(folder: str = _SERVICE_ACCOUNT) -> Access:
    """The access of a pod to its own cluster, by its service account."""
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST"), os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise AccessError("this is not a pod: KUBERNETES_SERVICE_HOST is not set", "give a kubeconfig")
    try:
        ca = read_file(os.path.join(folder, "ca.crt"), _LONGEST_FILE)
    except OSError as error:
        raise AccessError(
            f"the service account's ca.crt cannot be read: {error.strerror}", "mount its token"
        ) from error
    address = f"[{host}]" if ":" in host else host
    return Access(f"https://{address}:{port}", ca, token_file=os.path.join(folder, "token"))


def _named(entries: Sequence[_Named], what: str, name: str) -> _Named:
    for each in entries:
        if each.name == name:
            return each
    raise AccessError(f"the kubeconfig has no {what} {name}", "check current-context and the names")


# What runs programs, reads files of this machine, or trusts anybody.
_REFUSED = {
    "exec": "runs a program",
    "auth-provider": "runs a plugin",
    "client-certificate": "names a file of this machine",
    "client-key": "names a file of this machine",
    "tokenFile": "names a file of this machine",
    "certificate-authority": "names a file of this machine",
    "username": "is a login that API servers no longer take",
    "password": "is a login that API servers no longer take",
    "proxy-url": "sends requests to another machine",
}


def _refuse_what_is_not_inline(cluster: dict[str, Any], user: dict[str, Any]) -> None:
    for key, why in _REFUSED.items():
        if cluster.get(key) or user.get(key):
            hint = "put a token, or certificate-authority-data and client-certificate-data, into the kubeconfig itself"
            raise AccessError(f"the kubeconfig's {key} {why}, which is refused", hint)
    if cluster.get("insecure-skip-tls-verify"):
        raise AccessError(
            "the kubeconfig's insecure-skip-tls-verify is refused", "give certificate-authority-data instead"
        )


def _decoded(section: dict[str, Any], key: str) -> bytes | None:
    given = section.get(key)
    if not given:
        return None
    try:
        return b64decode(str(given), validate=True)
    except (NotBase64, ValueError) as error:
        raise AccessError(f"the kubeconfig's {key} is not base64", "write the PEM text in base64") from error
