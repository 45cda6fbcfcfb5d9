"""Cells: named bytes that an API server keeps as Secrets, each written only on the version that was read.

Secrets and no kind of our own: what is stored may hold what people put into Secrets, and clusters guard, encrypt and
audit these already.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import NamedTuple, Protocol

import msgspec
from msgspec import Struct

from fleetform.outside.kubernetes.client import Client
from fleetform.outside.kubernetes.errors import BusyError, ConflictError, HeldUpError, MissingError

_LABEL = "fleetform.dev/store"
_TYPE = "fleetform.dev/store"
_KEY = "content"


class Cell(NamedTuple):
    """Bytes under a name. version is the server's, for the next write."""

    name: str
    content: bytes
    version: str


class TakenError(Exception):
    """Somebody else wrote the cell: it is not at the version that this write was made for."""


class UncertainError(Exception):
    """No answer came: the write may have taken place."""


class Cells(Protocol):
    """Cells of one store. Errors of the outside pass through, but for the two above."""

    def all(self, prefix: str) -> list[Cell]:
        """Every cell whose name begins so, as the server has it now."""

    def names(self, prefix: str) -> list[str]: ...

    def get(self, name: str) -> Cell | None: ...

    def create(self, name: str, content: bytes) -> str:
        """The version of the new cell; TakenError if there is one."""

    def replace(self, cell: Cell) -> str:
        """The version after the content of the cell took the place of what was at its version; else TakenError."""

    def delete(self, name: str) -> None:
        """One that is not there is no error."""


class _Meta(Struct, rename="camel"):
    name: str
    resource_version: str = ""


class _Secret(Struct):
    metadata: _Meta
    data: dict[str, str] = {}


class _Named(Struct):
    metadata: _Meta


class SecretCells:
    """Cells as Secrets of one namespace; store tells those of one store from those of others."""

    def __init__(self, client: Client, namespace: str, store: str) -> None:
        self._client, self._namespace, self._store = client, namespace, store
        self._secrets = client.resource("v1", "Secret")

    def all(self, prefix: str) -> list[Cell]:
        labels = f"{_LABEL}={self._store}"
        # Content is up to 1 MiB each: pages are short.
        found = self._client.items(self._secrets, self._namespace, labels=labels, type_=_Secret, limit=25)
        cells = (_cell(each) for each in found)
        return [each._replace(name=self._own(each.name)) for each in cells if self._own(each.name).startswith(prefix)]

    def names(self, prefix: str) -> list[str]:
        labels = f"{_LABEL}={self._store}"
        found = self._client.items(
            self._secrets, self._namespace, labels=labels, type_=_Named, limit=500, metadata_only=True
        )
        names = [self._own(each.metadata.name) for each in found]
        return sorted(each for each in names if each.startswith(prefix))

    def get(self, name: str) -> Cell | None:
        found = self._client.get(self._secrets, self._namespace, self._full(name))
        return _cell(msgspec.convert(found, _Secret))._replace(name=name) if found is not None else None

    def create(self, name: str, content: bytes) -> str:
        try:
            return _version(self._client.create(self._manifest(name, content)))
        except ConflictError as error:
            raise TakenError(name) from error
        except (BusyError, HeldUpError) as error:
            raise UncertainError(str(error)) from error

    def replace(self, cell: Cell) -> str:
        try:
            return _version(self._client.replace(self._manifest(cell.name, cell.content, cell.version)))
        except (ConflictError, MissingError) as error:
            raise TakenError(cell.name) from error
        except (BusyError, HeldUpError) as error:
            raise UncertainError(str(error)) from error

    def delete(self, name: str) -> None:
        self._client.delete(self._secrets, self._namespace, self._full(name))

    def _full(self, name: str) -> str:
        return f"fleetform-{self._store}-{name}"

    def _own(self, name: str) -> str:
        return name.removeprefix(f"fleetform-{self._store}-")

    def _manifest(self, name: str, content: bytes, version: str = "") -> dict[str, object]:
        metadata = {
            "name": self._full(name),
            "namespace": self._namespace,
            "labels": {_LABEL: self._store, "app.kubernetes.io/managed-by": "fleetform"},
            **({"resourceVersion": version} if version else {}),
        }
        data = {_KEY: b64encode(content).decode()}
        return {"apiVersion": "v1", "kind": "Secret", "type": _TYPE, "metadata": metadata, "data": data}


def _cell(secret: _Secret) -> Cell:
    return Cell(secret.metadata.name, b64decode(secret.data.get(_KEY, "")), secret.metadata.resource_version)


def _version(written: dict[str, object]) -> str:
    return msgspec.convert(written, _Named).metadata.resource_version
