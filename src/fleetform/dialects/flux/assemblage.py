"""Fleeet's Assemblage: what is sent to a cluster while variables are still to be resolved on it.

What the control plane resolved is sent as literals. Fleeet expands those again, so they are escaped: data that looks
like a variable reference stays data (R3-25).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from fleetform.dialects.flux.parts import FluxError, flux_git_address, manifest
from fleetform.dialects.flux.values import variable_text
from fleetform.model.kinds.definition import GitSource
from fleetform.model.kinds.preset import Binding
from fleetform.syntax.trees import YamlMap, YamlValue
from fleetform.syntax.variables import escape

# An even number of dollars before it is so many halves of dollars, and not part of it.
_CLUSTER_NAME = re.compile(r"(?<!\$)((?:\$\$)*)\$\(CLUSTER_NAME\)")
FLEEET_API = "fleet.squaremo.dev/v1alpha1"


class AssemblageSync(NamedTuple):
    """One sync of an Assemblage.

    bound has the variables that the control plane resolved; downstream and substitute are as they were written. The
    cluster's name is built in only in the control plane, and does not travel: it is filled in before.
    """

    name: str
    git: GitSource
    bound: Mapping[str, YamlValue]
    downstream: tuple[Binding, ...]
    substitute: Mapping[str, YamlValue]
    cluster: str


def assemblage(
    name: str,
    syncs: Iterable[YamlMap],
    *,
    namespace: str | None = None,
    labels: Mapping[str, str] | None = None,
) -> YamlMap:
    """The Assemblage of a cluster; syncs are ordered by name, so that none moves when another is removed."""
    spec = {"syncs": sorted(syncs, key=lambda each: str(each["name"]))}
    return manifest(FLEEET_API, "Assemblage", name, namespace, labels or {}, spec)


def _named(tree: YamlValue, cluster: str) -> YamlValue:
    """A tree with the cluster's name in place of each reference to it."""
    if isinstance(tree, str):
        return _CLUSTER_NAME.sub(lambda found: f"{found[1]}{cluster}", tree)
    if isinstance(tree, dict):
        return {key: _named(each, cluster) for key, each in tree.items()}
    return [_named(each, cluster) for each in tree] if isinstance(tree, list) else tree


def sync_tree(sync: AssemblageSync) -> YamlMap:
    """A sync as it is written in an Assemblage."""
    bindings: list[YamlMap] = [
        {"name": name, "value": escape(variable_text(value, name), syntax="kubernetes")}
        for name, value in sorted(sync.bound.items())
    ]
    for binding in sync.downstream:
        as_written = _named(msgspec.to_builtins(binding), sync.cluster)
        if "value" in as_written:
            as_written["value"] = variable_text(as_written["value"], binding.name)
        bindings.append(as_written)
    kustomize: YamlMap = {"path": sync.git.path or "."}
    if sync.substitute:
        texts = {name: variable_text(each, name) for name, each in sorted(sync.substitute.items())}
        kustomize["substitute"] = _named(texts, sync.cluster)
    written: YamlMap = {"name": sync.name}
    if bindings:
        written["bindings"] = bindings
    ref = sync.git.ref
    if ref is not None and ref.tag:
        version = {"tag": ref.tag}
    elif ref is not None and ref.commit:
        version = {"revision": ref.commit}
    else:
        raise FluxError(f"the sync {sync.name} has neither tag nor revision", "write source.git.version")
    git = {"url": flux_git_address(sync.git), "version": version}
    return {**written, "source": {"git": git}, "package": {"kustomize": kustomize}}
