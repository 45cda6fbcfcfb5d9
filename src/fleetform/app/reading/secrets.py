"""What stands in a Secret of the input, for those who need it to reach something. It is never printed."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from fleetform.model.answers.base import Json
from fleetform.model.objects import Object, Ref
from fleetform.model.snapshot import Snapshot

# How the snapshot calls Kubernetes' own Secrets.
SECRET_KIND = "Secret.v1"


def secret_named(objects: Iterable[Object[Any]], organization: str, name: str) -> dict[str, str] | None:
    """The texts in a Secret of an organization; None if there is no such Secret."""
    wanted = Ref("Secret", organization, name)
    for each in objects:
        if each.ref == wanted and each.dialect == "foreign:v1":
            return secret_texts(each.content)
    return None


def secret_object(snapshot: Snapshot, organization: str, name: str) -> Object[Any] | None:
    """The Secret of an organization, without looking at every object."""
    return snapshot.others.get(Ref(SECRET_KIND, organization, name))


def secret_texts(tree: Json) -> dict[str, str]:
    """The texts that a Secret holds; what is not base64, or no text, is left out."""
    plain = {key: text for key, text in _map(tree, "stringData").items() if isinstance(text, str)}
    for key, text in _map(tree, "data").items():
        with suppress(ValueError):
            plain.setdefault(key, base64.b64decode("".join(str(text).split()), validate=True).decode())
    return plain


def _map(tree: Json, field: str) -> dict[str, Json]:
    found = tree.get(field) if isinstance(tree, dict) else None
    return found if isinstance(found, dict) else {}
