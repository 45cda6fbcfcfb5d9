"""Rendered objects as files: one for each, below a folder for its cluster and plugin."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, count

from fleetform.app.rendering.plugin_renders import PluginRender
from fleetform.model.answers.base import JsonMap
from fleetform.syntax.names import api_group, object_name
from fleetform.syntax.yaml_out import write_yaml

# Systems take 255 bytes, of which an ending and a number take some.
_LONGEST = 200
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def files_of(rendered: Iterable[PluginRender]) -> list[tuple[str, str]]:
    """Paths and texts, `<cluster>/<plugin>/<kind>-<name>.yaml`; several organizations have a folder each."""
    each_rendered = [each for each in rendered if each.objects]
    organizations = folders_of(each.plugin.organization for each in each_rendered)
    clusters = folders_of(each.plugin.cluster.ref.name for each in each_rendered)
    plugins = folders_of(each.plugin.name for each in each_rendered)
    files = []
    for each in each_rendered:
        plugin = each.plugin
        folder = f"{clusters[plugin.cluster.ref.name]}/{plugins[plugin.name]}"
        if len(organizations) > 1:
            folder = f"{organizations[plugin.organization]}/{folder}"
        names = names_of(each.objects)
        files += [(f"{folder}/{name}.yaml", write_yaml(tree)) for name, tree in zip(names, each.objects, strict=True)]
    return files


def folders_of(names: Iterable[str]) -> dict[str, str]:
    """A folder for each name: the name itself, or as much of it as can be one and a hash of all of it."""
    wanted = sorted(set(names))
    safe = [_cut(_safe(name), name) for name in wanted]
    return dict(zip(wanted, _distinct(safe, wanted), strict=True))


def names_of(objects: Sequence[JsonMap]) -> list[str]:
    """A file name for each object, as short as tells it from the others."""
    whole = [_with_group(each) for each in objects]
    for spelling in (_short, _with_namespace, _with_group):
        names = [_cut(_safe(spelling(each)).lower(), all_) for each, all_ in zip(objects, whole, strict=True)]
        if len(set(names)) == len(names):
            return names
    return _distinct(names, whole)


def _short(tree: JsonMap) -> str:
    return f"{tree.get('kind')}-{object_name(tree)}"


def _with_namespace(tree: JsonMap) -> str:
    return f"{_short(tree)}-{(tree.get('metadata') or {}).get('namespace')}"


def _with_group(tree: JsonMap) -> str:
    return f"{_with_namespace(tree)}-{api_group(str(tree.get('apiVersion')))}"


def _safe(name: str) -> str:
    """A name that cannot lead anywhere else."""
    return _UNSAFE.sub("-", name).strip(".") or "-"


def _cut(name: str, whole: str) -> str:
    return name if len(name) <= _LONGEST else _marked(name, whole)


def _marked(name: str, whole: str) -> str:
    """A name with the hash of what it stands for, which tells it from others that begin or read the same."""
    mark = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{name[: _LONGEST - len(mark) - 1]}-{mark}"


def _distinct(names: Sequence[str], whole: Sequence[str]) -> list[str]:
    """Names that differ also if upper and lower case are the same: those that do not get a hash, or a number."""
    times = Counter(name.lower() for name in names)
    taken = {name for name, number in times.items() if number == 1}
    found = []
    for name, all_ in zip(names, whole, strict=True):
        free = name
        if times[name.lower()] > 1:
            marked = _marked(name, all_)
            numbered = (f"{marked}-{number}" for number in count(2))
            free = next(each for each in chain([marked], numbered) if each.lower() not in taken)
            taken.add(free.lower())
        found.append(free)
    return found
