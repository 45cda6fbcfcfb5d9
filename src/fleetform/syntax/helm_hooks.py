"""Helm's hooks: objects that run at a moment in the life of a release. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_HOOK, _WEIGHT, _POLICY = "helm.sh/hook", "helm.sh/hook-weight", "helm.sh/hook-delete-policy"
BEFORE = frozenset({"pre-install", "pre-upgrade", "crd-install"})
AFTER = frozenset({"post-install", "post-upgrade"})
BEFORE_CREATION, SUCCEEDED, FAILED = "before-hook-creation", "hook-succeeded", "hook-failed"


def hooks_of(tree: Mapping[str, Any]) -> frozenset[str]:
    """The moments at which an object runs; none if it is no hook."""
    return _words(tree, _HOOK)


def weight_of(tree: Mapping[str, Any]) -> int:
    try:
        return int(str(_annotations(tree).get(_WEIGHT, 0)))
    except ValueError:
        return 0


def delete_policies(tree: Mapping[str, Any]) -> frozenset[str]:
    """When a hook is deleted: as Helm does, before it is made anew, if it does not say."""
    return _words(tree, _POLICY) or frozenset({BEFORE_CREATION})


def _words(tree: Mapping[str, Any], name: str) -> frozenset[str]:
    text = _annotations(tree).get(name)
    return frozenset(each.strip() for each in text.split(",")) if isinstance(text, str) else frozenset()


def _annotations(tree: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = tree.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return annotations if isinstance(annotations, dict) else {}
