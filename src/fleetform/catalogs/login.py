"""Credentials out of Secrets, in the shapes that Kubernetes and Flux users know."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable
from urllib.parse import urlsplit

from fleetform.model.kinds.definition import CatalogSource
from fleetform.outside.credentials import Credentials
from fleetform.outside.errors import OutsideError

SecretOf = Callable[[str], "dict[str, str] | None"]


def credentials_of(source: CatalogSource, secret_of: SecretOf) -> Credentials | None:
    """The credentials of a source; OutsideError if its Secret does not exist or has no credentials in it."""
    ref = source.secret_ref
    if ref is None:
        return None
    secret = secret_of(ref.name)
    if secret is None:
        raise OutsideError(f"there is no Secret {ref.name} in the input", "add the Secret, or drop secretRef")
    if ref.key is not None:
        found = Credentials(token=secret[ref.key].strip()) if ref.key in secret else Credentials()
    elif source.oci is not None and ".dockerconfigjson" in secret:
        found = _of_docker(secret[".dockerconfigjson"], urlsplit(source.oci.repository).netloc)
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
