"""Rendered objects as files: one for each, below a folder for its cluster and plugin."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from fleetform.app.render import PluginRender
from fleetform.engine.names import api_group
from fleetform.formats.yaml_out import write_yaml

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def files_of(rendered: Iterable[PluginRender]) -> list[tuple[str, str]]:
    """Paths and texts, `<cluster>/<plugin>/<kind>-<name>.yaml`; several organizations have a folder each."""
    each_rendered = [each for each in rendered if each.objects]
    organizations = {each.plugin.organization for each in each_rendered}
    files = []
    for each in each_rendered:
        plugin = each.plugin
        folder = f"{_safe(plugin.cluster.ref.name)}/{_safe(plugin.name)}"
        if len(organizations) > 1:
            folder = f"{_safe(plugin.organization)}/{folder}"
        names = names_of(each.objects)
        files += [(f"{folder}/{name}.yaml", write_yaml(tree)) for name, tree in zip(names, each.objects, strict=True)]
    return files


def names_of(objects: Sequence[dict[str, Any]]) -> list[str]:
    """A file name for each object, as short as tells it from the others."""
    for spelling in (_short, _with_namespace, _with_group):
        names = [_safe(spelling(each)).lower() for each in objects]
        if len(set(names)) == len(names):
            return names
    return [f"{name}-{number}" for number, name in enumerate(names, start=1)]


def _short(tree: dict[str, Any]) -> str:
    metadata = tree.get("metadata") or {}
    return f"{tree.get('kind')}-{metadata.get('name') or metadata.get('generateName')}"


def _with_namespace(tree: dict[str, Any]) -> str:
    return f"{_short(tree)}-{(tree.get('metadata') or {}).get('namespace')}"


def _with_group(tree: dict[str, Any]) -> str:
    return f"{_with_namespace(tree)}-{api_group(str(tree.get('apiVersion')))}"


def _safe(name: str) -> str:
    """A name that cannot lead anywhere else."""
    return _UNSAFE.sub("-", name).strip(".") or "-"
