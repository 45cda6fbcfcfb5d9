"""The credentials of a catalog's source."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from fleetform.model.kinds.definition import CatalogSource
from fleetform.outside.credentials import Credentials, credentials_in

SecretOf = Callable[[str], "dict[str, str] | None"]


def credentials_of(source: CatalogSource, secret_of: SecretOf) -> Credentials | None:
    """The credentials of a source; OutsideError if its Secret does not exist or has no credentials in it."""
    ref = source.secret_ref
    if ref is None:
        return None
    registry = urlsplit(source.oci.repository).netloc if source.oci is not None else None
    return credentials_in(secret_of(ref.name), ref, registry)
