"""Fleetform's own manifests, in all spellings that are allowed."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from msgspec import structs

from fleetform.dialects.envelope import Reading, lacks_name, misfit_diagnostics, read_metadata
from fleetform.dialects.injections import INJECTIONS, INJECTS
from fleetform.dialects.native.revisions import as_definition
from fleetform.dialects.native.spellings import Pair, Spelling, misplaced_bindings, written_at
from fleetform.model.conventions import NATIVE
from fleetform.model.kinds import API_VERSION, KINDS, PLATFORM_NAMESPACE, Kind
from fleetform.model.kinds.base import Record
from fleetform.model.objects import At, Object, Origin, Ref
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.model.shape import Misfit, did_you_mean, read_record
from fleetform.syntax.trees import YamlMap, YamlValue, as_map

GROUP = API_VERSION.partition("/")[0]
_ENVELOPE = ("apiVersion", "kind", "metadata", "spec", "status")
_SECTIONS = ("controlPlaneBindings", "bindings")
# The fields with references, which people spell in several ways (R3-19).
_REFERRING = {"PluginPreset": _SECTIONS, "Plugin": _SECTIONS, "PluginDefinition": ("outputs",)}


def is_native(tree: YamlMap) -> bool:
    version = tree.get("apiVersion")
    if isinstance(version, str) and version.partition("/")[0] == GROUP:
        return True
    # Overrides are also written without an apiVersion, and with Greenhouse's (S11).
    return tree.get("kind") == "PluginOverride" and version in (None, "greenhouse.sap/v1alpha1")


def read_native(tree: YamlMap, origin: Origin, organization: str) -> Reading:
    kind = KINDS.get(str(tree.get("kind")))
    if kind is None and tree.get("kind") is None:
        at = At(origin, (*origin.base, *(("kind",) if "kind" in tree else ())))
        hint = f"one of {', '.join(KINDS)}"
        return Reading(None, (Diagnostic("missing-field", "the object has no kind", hint, at=at),))
    metadata_tree = as_map(tree.get("metadata"))
    if kind is None:
        home = metadata_tree.get("namespace")
        ref = Ref(
            str(tree["kind"]), home if isinstance(home, str) else organization, str(metadata_tree.get("name", ""))
        )
        message = f"there is no kind {tree['kind']} in {API_VERSION}"
        hint = did_you_mean(str(tree["kind"]), KINDS, f"there are {', '.join(KINDS)}")
        return Reading(
            None, (Diagnostic("unknown-kind", message, hint, object=ref, at=At(origin, (*origin.base, "kind"))),)
        )
    name = metadata_tree.get("name")
    if name is None and kind.name == "PluginOverride":
        name = tree.get("name")
    name = name if isinstance(name, str) else None
    namespace = metadata_tree.get("namespace")
    if not isinstance(namespace, str):
        namespace = name or organization if kind.name == "Organization" else organization
    ref = Ref(kind.name, namespace, name or "")
    diagnostics = [*_check_envelope(tree, origin, ref, name)]
    metadata, faults = read_metadata(tree, origin, ref)
    diagnostics += faults
    spec, moved = _read_spec(tree, kind, origin, ref, diagnostics)
    if spec is None or metadata is None or not name:
        return Reading(None, tuple(diagnostics))
    conventions = NATIVE
    injects = (metadata.annotations or {}).get(INJECTS)
    if injects in INJECTIONS:
        conventions = structs.replace(NATIVE, injected=INJECTIONS[injects])
    read = Object(ref, metadata, spec, origin, moved=moved, conventions=conventions)
    also: tuple[Object[Any], ...] = ()
    if kind.name == "PluginDefinitionRevision":
        earlier = read_native(as_definition(tree), origin, organization).object
        also = (earlier,) if earlier is not None else ()
    return Reading(read, tuple(diagnostics), also)


def _check_envelope(tree: YamlMap, origin: Origin, ref: Ref, name: str | None) -> list[Diagnostic]:
    found = []

    def report(code: str, message: str, hint: str, *path: str, warn: bool = False) -> None:
        at = At(origin, origin.base + path)
        found.append(Diagnostic(code, message, hint, "warning" if warn else "error", ref, at))

    version = tree.get("apiVersion")
    if version != API_VERSION:
        if ref.kind == "PluginOverride" and version in (None, "greenhouse.sap/v1alpha1"):
            written = "without an apiVersion" if version is None else f"as {version}"
            path = () if version is None else ("apiVersion",)
            report(
                "deprecated-field", f"a PluginOverride {written} is read as {API_VERSION}",
                f"write apiVersion: {API_VERSION}", *path, warn=True,
            )  # fmt: skip
        else:
            report("unsupported-version", f"{version} cannot be read", f"write apiVersion: {API_VERSION}", "apiVersion")
    for key in tree:
        if key == "name" and ref.kind == "PluginOverride":
            report("deprecated-field", "name belongs under metadata", "write metadata: {name: …}", "name", warn=True)
        elif key not in _ENVELOPE:
            hint = did_you_mean(key, _ENVELOPE, f"known here: {', '.join(_ENVELOPE)}")
            report("unknown-field", f"a {ref.kind} has no field {key}", hint, key)
    if not name and lacks_name(tree):
        parent = ("metadata",) if isinstance(tree.get("metadata"), dict) else ()
        report("bad-name", f"the {ref.kind} has no name", "write metadata: {name: …}", *parent)
    if ref.kind == "Organization" and name and ref.organization not in (name, PLATFORM_NAMESPACE):
        report(
            "bad-name",
            f"the Organization {name} is in the namespace {ref.organization}",
            "name it as its namespace",
            "metadata",
        )
    return found


def _read_spec(
    tree: YamlMap, kind: Kind, origin: Origin, ref: Ref, diagnostics: list[Diagnostic]
) -> tuple[Record | None, tuple[Pair, ...]]:
    """The spec, and the paths of parts whose names were respelt."""
    written = tree.get("spec")
    if written is None:
        if kind.spec_required:
            at = At(origin, origin.base)
            diagnostics.append(
                Diagnostic("missing-field", f"the {kind.name} has no spec", "add spec", object=ref, at=at)
            )
            return None, ()
        written = {}
    spelling = Spelling(written)
    for field in _REFERRING.get(kind.name, ()):
        if isinstance(written, dict) and field in written:
            spelling.bindings((field,))
    moved = spelling.pairs("spec")
    read = read_record(spelling.tree, kind.spec, "spec")
    misfits = [*spelling.misfits, *(_with_better_hints(read, written, kind) if isinstance(read, list) else ())]
    if misfits or isinstance(read, list):
        placed = [each._replace(path=written_at(("spec", *each.path), moved)) for each in misfits]
        diagnostics += misfit_diagnostics(placed, origin, ref, ())
        return None, ()
    return read, moved


def _with_better_hints(misfits: list[Misfit], spec: YamlValue, kind: Kind) -> list[Misfit]:
    """Sections of bindings that early drafts spelt otherwise: the nearest known name would be the wrong hint (S38)."""
    if _REFERRING.get(kind.name) is not _SECTIONS:
        return misfits
    better = list(misplaced_bindings(spec, (), _SECTIONS, "write controlPlaneBindings", "write bindings"))
    places = {each.path for each in better} | {each.path[:1] for each in better}
    return [*(each for each in misfits if each.path not in places), *better]


def misspelt_version(version: str, kind: str) -> str | None:
    """The native apiVersion, if another was probably a typo: many groups look a little like ours."""
    group = version.partition("/")[0]
    close = group != GROUP and get_close_matches(group, [GROUP], cutoff=0.8)
    return API_VERSION if close and nearest_kind(kind) else None


def nearest_kind(kind: YamlValue) -> str | None:
    """The native kind that was probably meant; others have kinds, too, so that it must be very near."""
    close = get_close_matches(kind, KINDS, n=1, cutoff=0.8) if isinstance(kind, str) else []
    return close[0] if close else None
