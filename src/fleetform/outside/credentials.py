"""Credentials for servers, out of Secrets in the shapes that Kubernetes and Flux users know. Never printed."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import NamedTuple

from fleetform.model.kinds.base import SecretRef
from fleetform.outside.errors import OutsideError


class Credentials(NamedTuple):
    """A user name and password, a token, or a private key with the host keys to trust."""

    username: str | None = None
    password: str | None = None
    token: str | None = None
    private_key: str | None = None
    known_hosts: str | None = None

    def __repr__(self) -> str:
        return "Credentials(…)"


def credentials_in(secret: Mapping[str, str] | None, ref: SecretRef, registry: str | None = None) -> Credentials:
    """The credentials that a Secret holds; OutsideError if it does not exist or has none in it.

    registry is the host, where they may be Docker's.
    """
    if secret is None:
        raise OutsideError(f"there is no Secret {ref.name} in the input", "add the Secret, or drop secretRef")
    if ref.key is not None:
        found = Credentials(token=secret[ref.key].strip()) if ref.key in secret else Credentials()
    elif registry is not None and ".dockerconfigjson" in secret:
        found = _of_docker(secret[".dockerconfigjson"], registry)
    else:
        found = Credentials(
            secret.get("username"),
            secret.get("password"),
            secret.get("token") or secret.get("bearerToken"),
            secret.get("ssh-privatekey") or secret.get("identity"),
            secret.get("known_hosts"),
        )
    if found == Credentials():
        keys = "username and password, token, ssh-privatekey or .dockerconfigjson"
        raise OutsideError(f"the Secret {ref.name} has no credentials in it", f"give it {keys}")
    return found


def _of_docker(text: str, host: str) -> Credentials:
    try:
        hosts = {key.partition("://")[2] or key: entry for key, entry in json.loads(text)["auths"].items()}
        entry = hosts.get(host) or next(entry for key, entry in hosts.items() if key.partition("/")[0] == host)
        if "auth" in entry:
            username, _, password = base64.b64decode(entry["auth"]).decode().partition(":")
            return Credentials(username, password)
        return Credentials(entry.get("username"), entry.get("password"))
    except (ValueError, KeyError, TypeError, AttributeError, StopIteration, binascii.Error):
        # A message about what is wrong would have to show the secret.
        return Credentials()
