"""Fleeet's Assemblage: what goes to a cluster while names are still to be resolved there.

What the control plane resolved goes along as literals. Fleeet expands those again, so they are escaped: data that looks
like a mention stays data (R3-25).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from fleetform.dialects.flux.parts import FluxError, git_address, manifest
from fleetform.dialects.flux.values import variable_text
from fleetform.model.kinds.definition import GitSource
from fleetform.model.kinds.preset import Binding
from fleetform.syntax.variables import escape

FLEEET_API = "fleet.squaremo.dev/v1alpha1"


class AssemblageSync(NamedTuple):
    """One piece of configuration on its way.

    bound is what the control plane resolved, given names that are mentioned among them; downstream and substitute are
    as they were written.
    """

    name: str
    git: GitSource
    bound: Mapping[str, Any]
    downstream: tuple[Binding, ...]
    substitute: Mapping[str, Any]


def assemblage(
    name: str,
    syncs: Iterable[dict[str, Any]],
    *,
    namespace: str | None = None,
    labels: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The Assemblage of a cluster; syncs go by their names, so that none of them moves when another goes."""
    spec = {"syncs": sorted(syncs, key=lambda each: str(each["name"]))}
    return manifest(FLEEET_API, "Assemblage", name, namespace, labels or {}, spec)


def sync_tree(sync: AssemblageSync) -> dict[str, Any]:
    """A sync as an Assemblage has it."""
    literals = [{"name": name, "value": _literal(value, name)} for name, value in sorted(sync.bound.items())]
    bindings = [*literals, *(_as_written(each) for each in sync.downstream)]
    kustomize: dict[str, Any] = {"path": sync.git.path or "."}
    if sync.substitute:
        kustomize["substitute"] = {name: variable_text(each, name) for name, each in sorted(sync.substitute.items())}
    written: dict[str, Any] = {"name": sync.name}
    if bindings:
        written["bindings"] = bindings
    git = {"url": git_address(sync.git), "version": _version(sync)}
    return {**written, "source": {"git": git}, "package": {"kustomize": kustomize}}


def _literal(value: Any, name: str) -> str:
    return escape(variable_text(value, name), syntax="kubernetes")


def _as_written(binding: Binding) -> dict[str, Any]:
    written: dict[str, Any] = msgspec.to_builtins(binding)
    if "value" in written:
        written["value"] = variable_text(written["value"], binding.name)
    return written


def _version(sync: AssemblageSync) -> dict[str, str]:
    ref = sync.git.ref
    if ref is not None and ref.tag:
        return {"tag": ref.tag}
    if ref is not None and ref.commit:
        return {"revision": ref.commit}
    raise FluxError(f"the sync {sync.name} has neither tag nor revision", "write source.git.version")
