"""What stands in a Secret of the input, for those who need it to reach something. It is never printed."""

from __future__ import annotations

import base64
from contextlib import suppress

from fleetform.model.answers.base import Json


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
