"""Connections to API servers: certificates, tokens, and why one failed."""

from __future__ import annotations

import ssl
import tempfile

from fleetform.outside.files import read_file
from fleetform.outside.kubernetes.access import Access, AccessError


def token_in(path: str) -> str:
    """Read for each request: the kubelet renews it, and a read is nothing beside a request."""
    try:
        return read_file(path, 65_536).decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise AccessError(f"the token in {path} cannot be read", "mount the service account's token") from error


def tls_of(access: Access) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cadata=access.ca.decode() if access.ca is not None else None)
        if access.certificate is not None and access.key is not None:
            # Python reads certificates from files only.
            with tempfile.NamedTemporaryFile("wb", suffix=".pem") as file:
                file.write(access.certificate + b"\n" + access.key)
                file.flush()
                context.load_cert_chain(file.name)
    except (ssl.SSLError, UnicodeDecodeError, ValueError) as error:
        raise AccessError("the certificates of the cluster's access cannot be read", "they must be PEM") from error
    return context


def failure_text(error: Exception) -> str:
    """Why a connection failed, without the objects of the library that its text is full of."""
    cause = error.__cause__ or error.__context__ or error
    if isinstance(cause, TimeoutError):
        return "timed out"
    strerror = getattr(cause, "strerror", None)
    return str(strerror or str(cause).rpartition(": ")[2] or type(cause).__name__)
