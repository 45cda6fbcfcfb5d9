"""Fleeet's manifests: modules, bootstrap modules and assemblages, with the meaning that they have in Fleeet.

Its objects belong to one organization whatever their namespace is (S7).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from fleetform.dialects.envelope import Reading, read_metadata
from fleetform.dialects.fleeet.assemblages import read_assemblage, read_remote_assemblage
from fleetform.dialects.fleeet.binding_sections import (
    respell_assemblage,
    respell_bootstrap_module,
    respell_module,
    respell_remote_assemblage,
)
from fleetform.dialects.fleeet.modules import read_bootstrap_module, read_module
from fleetform.dialects.manifest import Manifest, check_envelope, metadata_text
from fleetform.dialects.native.spellings import Spelling
from fleetform.model.conventions import Conventions
from fleetform.model.objects import At, Object, Origin, Ref
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.model.shape import did_you_mean
from fleetform.syntax.trees import YamlMap, YamlValue

API_VERSION = "fleet.squaremo.dev/v1alpha1"


class _FleeetKind(NamedTuple):
    """A kind: the native kind of its first object, the spellings of its bindings, and how it is translated."""

    native: str
    respell: Callable[[YamlValue], Spelling]
    translate: Callable[[Manifest], list[Object[object]]]


def read_fleeet(tree: YamlMap, origin: Origin, organization: str) -> Reading:
    """A document of Fleeet's API group, whatever kind it is."""
    problem = _unreadable(tree, origin)
    if problem is not None:
        return Reading(None, (problem,))
    kind = _KINDS[tree["kind"]]
    ref = Ref(kind.native, organization, metadata_text(tree, "name") or "")
    metadata, diagnostics = read_metadata(tree, origin, ref)
    diagnostics += check_envelope(tree, origin, ref)
    if metadata is None or not ref.name:
        return Reading(None, tuple(diagnostics))
    spelling = kind.respell(tree.get("spec"))
    respelt = {**tree, "spec": spelling.tree}
    manifest = Manifest(respelt, origin, ref, metadata, "fleeet", CONVENTIONS, respelt=spelling.pairs("spec"))
    manifest.misfits(spelling.misfits, "spec")
    objects = kind.translate(manifest)
    found = (*diagnostics, *manifest.found)
    return Reading(objects[0], found, tuple(objects[1:])) if objects else Reading(None, found)


def _unreadable(tree: YamlMap, origin: Origin) -> Diagnostic | None:
    """Why a document cannot be read at all."""
    kind, version = tree.get("kind"), tree.get("apiVersion")
    if not isinstance(kind, str) or not kind:
        return Diagnostic("missing-field", "the manifest has no kind", "add kind", at=At(origin, origin.base))
    if version != API_VERSION:
        at = At(origin, (*origin.base, "apiVersion"))
        return Diagnostic("unsupported-version", f"{version} cannot be read", f"there is {API_VERSION}", at=at)
    if kind not in _KINDS:
        hint = did_you_mean(kind, _KINDS, f"there are {', '.join(_KINDS)}")
        return Diagnostic("unknown-kind", f"Fleeet has no kind {kind}", hint, at=At(origin, (*origin.base, "kind")))
    return None


CONVENTIONS = Conventions(
    lenient=True,
    unversioned=True,
    selector_optional=True,
    variables="kubernetes",
    reads_own_namespace=True,
    own_namespace=True,
    brings_variables=True,
    own_kinds={"PluginDefinition": "Module", "PluginPreset": "Module", "Plugin": "Assemblage"},
)
_KINDS: dict[str, _FleeetKind] = {
    "Module": _FleeetKind("PluginDefinition", respell_module, read_module),
    "BootstrapModule": _FleeetKind("PluginDefinition", respell_bootstrap_module, read_bootstrap_module),
    "RemoteAssemblage": _FleeetKind("Plugin", respell_remote_assemblage, read_remote_assemblage),
    "Assemblage": _FleeetKind("Plugin", respell_assemblage, read_assemblage),
}
