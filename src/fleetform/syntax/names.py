"""Names that Fleetform generates, and the names of objects in messages."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from fleetform.syntax.trees import YamlValue

LONGEST = 53
_LONGEST_LABEL = 63
# A hyphen and eight digits.
_HASH = 9


def generated_name(preset: str, cluster: str) -> str:
    """`<preset>-<cluster>`; if that is too long for Helm, it is cut and ends in a hash."""
    return cut_name(f"{preset}-{cluster}")


def cut_name(name: str, longest: int = LONGEST) -> str:
    """A name; if it is too long, its beginning with a hash of the whole."""
    return name if len(name) <= longest else _with_hash(name[: longest - _HASH].rstrip("-."), name)


def object_name_of(text: str, longest: int = 253) -> str:
    """A text as the name of a Kubernetes object: one that cannot be is changed, and ends in a hash."""
    if re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", text) and len(text) <= longest:
        return text
    allowed = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "x"
    return _with_hash(allowed[: longest - _HASH].rstrip("-"), text)


def label_value(text: str) -> str:
    """A text as the value of a label: one that Kubernetes refuses is cut, and ends in a hash."""
    if re.fullmatch(r"([A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?)?", text) and len(text) <= _LONGEST_LABEL:
        return text
    allowed = re.sub(r"[^-_.A-Za-z0-9]", "-", text).lstrip("-_.") or "x"
    return _with_hash(allowed[: _LONGEST_LABEL - _HASH].rstrip("-_."), text)


def _with_hash(beginning: str, whole: str) -> str:
    return f"{beginning}-{hashlib.sha256(whole.encode()).hexdigest()[: _HASH - 1]}"


def api_group(version: str) -> str:
    """The group of an apiVersion; the core's is empty."""
    return version.partition("/")[0] if "/" in version else ""


def object_name(tree: Mapping[str, YamlValue]) -> str:
    """An object's name, or its generateName."""
    metadata = tree.get("metadata") or {}
    return str(metadata.get("name") or metadata.get("generateName"))


def object_label(tree: Mapping[str, YamlValue]) -> str:
    """An object in messages: Kind/namespace/name, without the namespace if it has none."""
    namespace = (tree.get("metadata") or {}).get("namespace")
    return "/".join([str(tree.get("kind")), *([str(namespace)] if namespace else []), object_name(tree)])
