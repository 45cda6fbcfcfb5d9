"""Reads documents into a fleet: objects of all dialects, the snapshot, and all that is wrong with them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any

import msgspec

from fleetform.dialects.native import is_native, looks_misspelt, read_native
from fleetform.dialects.reading import Reading
from fleetform.engine.lint import lint_objects
from fleetform.engine.lint.effects import lint_effects
from fleetform.engine.pipeline import decide
from fleetform.engine.times import parse_time
from fleetform.engine.versions import VersionError, parse_version
from fleetform.model.kinds import KINDS, PLATFORM_NAMESPACE
from fleetform.model.kinds.base import Metadata
from fleetform.model.kinds.definition import PluginDefinitionSpec
from fleetform.model.objects import At, Object, Origin, Ref
from fleetform.model.results.decisions import Decisions, PluginKey
from fleetform.model.results.diagnostics import Diagnostic, Severity
from fleetform.model.shape import nearest
from fleetform.model.snapshot import Snapshot
from fleetform.ports import Document, Input, KnownState

CREATED = "fleetform.dev/created"
_WITHOUT_EFFECT = ("dead-override", "shadowed-override", "nothing-selected")


@dataclass(frozen=True)
class Fleet:
    """A fleet as it was read, and what follows from it."""

    input: Input
    snapshot: Snapshot
    state: KnownState
    reading: tuple[Diagnostic, ...]
    strict: bool = False

    def with_running(self, running: Mapping[PluginKey, str]) -> Fleet:
        """The same fleet, where these versions run."""
        return replace(self, snapshot=replace(self.snapshot, running=running))

    @cached_property
    def decisions(self) -> Decisions:
        return decide(self.snapshot)

    @cached_property
    def _of_objects(self) -> list[Diagnostic]:
        return [*self.reading, *lint_objects(self.snapshot)]

    @cached_property
    def _of_effects(self) -> list[Diagnostic]:
        return list(lint_effects(self.decisions))

    @cached_property
    def object_findings(self) -> tuple[Diagnostic, ...]:
        """What is wrong with the objects themselves: enough to know whether the input is valid."""
        return self.in_order([*self._of_objects, *(each for each in self._of_effects if each.severity == "error")])

    @cached_property
    def findings(self) -> tuple[Diagnostic, ...]:
        """Everything there is to say, in file order."""
        # A value that is wrong wherever it goes was said to be so where it stands.
        said = {At(at.origin, at.path[:-1]) for at in map(_wrong_value_at, self._of_objects) if at is not None}
        effects = [each for each in self._of_effects if _wrong_value_at(each) not in said]
        return self.in_order([*self._of_objects, *(each for each in effects if self._is_sure(each))])

    def _is_sure(self, diagnostic: Diagnostic) -> bool:
        """What an error keeps from being decided only seems to be without effect."""
        if diagnostic.code not in _WITHOUT_EFFECT or diagnostic.object is None:
            return True
        unsure, odd = self._unsure
        return diagnostic.object.organization not in unsure and None not in unsure and diagnostic.object not in odd

    @cached_property
    def _unsure(self) -> tuple[set[str | None], set[Ref | None]]:
        """Organizations that an error concerns (None: any), and objects that speak of unknown options."""
        errors = [each for each in self._of_objects if each.severity == "error"]
        odd = {each.object for each in self._of_objects if each.code == "undeclared-option"}
        return {each.object.organization if each.object else None for each in errors}, odd

    def in_order(self, found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
        """Findings in file order, with warnings raised where they are to be errors."""
        # Under --strict a tie that only names decide, and every other warning, is an error.
        raised = [each.as_error() if self.strict and each.severity == "warning" else each for each in found]
        return tuple(sorted(raised, key=self._order))

    def _order(self, diagnostic: Diagnostic) -> tuple[Any, ...]:
        place = self.input.locator.place(diagnostic.at) if diagnostic.at is not None else None
        where = (place.file, place.line, place.column) if place else ("", 0, 0)
        return (*where, diagnostic.code, diagnostic.message)

    @cached_property
    def errors(self) -> tuple[Diagnostic, ...]:
        found = self.findings if self.strict else self.object_findings
        return tuple(each for each in found if each.severity == "error")

    @cached_property
    def organizations(self) -> list[str]:
        """The organizations in the input; the platform's own namespace is none."""
        kinds: Sequence[Iterable[Any]] = (
            self.snapshot.organizations,
            self.snapshot.clusters,
            self.snapshot.presets,
            self.snapshot.plugins,
            self.snapshot.overrides,
            (ref for ref, _ in self.snapshot.definitions),
        )
        return sorted({ref.organization for refs in kinds for ref in refs} - {PLATFORM_NAMESPACE})


def _wrong_value_at(diagnostic: Diagnostic) -> At | None:
    return diagnostic.at if diagnostic.code == "wrong-type" and isinstance(diagnostic.at, At) else None


def read_fleet(
    input_: Input, at: datetime, organization: str | None = None, state: KnownState | None = None, strict: bool = False
) -> Fleet:
    """The fleet of an input. organization is where objects belong that name none (S7)."""
    state = state or KnownState()
    readings = [(document, _read(document, organization or "default")) for document in input_.documents]
    sources = _source_folders(reading.object for _, reading in readings)
    naming = {document.origin.file for document, reading in readings if _names_folder(reading.object)}
    kept = [
        (document, reading)
        for document, reading in readings
        if document.origin.file in naming or not _below(document.origin.file, sources)
    ]
    diagnostics = [each for each in input_.diagnostics if each.at is None or not _below(_file(each), sources)]
    diagnostics += [each for _, reading in kept for each in reading.diagnostics]
    objects = [_stamped(reading.object, state, diagnostics) for _, reading in kept if reading.object is not None]
    snapshot = _snapshot(objects, at, diagnostics, _running(state))
    return Fleet(input_, snapshot, state, tuple(diagnostics), strict)


def _running(state: KnownState) -> dict[PluginKey, str]:
    """The versions that a state says are admitted; one that cannot be read is not known."""
    running = {}
    for key, admitted in state.admitted.items():
        try:
            running[key] = str(parse_version(str(admitted.get("version"))))
        except VersionError:
            continue
    return running


def _file(diagnostic: Diagnostic) -> str:
    at = diagnostic.at
    assert at is not None
    return at.origin.file if isinstance(at, At) else at.file


def _read(document: Document, organization: str) -> Reading:
    tree, origin = document.tree, document.origin
    if is_native(tree):
        return read_native(tree, origin, organization)
    if str(tree.get("apiVersion")).startswith("greenhouse.sap/"):
        # Imported where it is needed: most fleets have none of these, and start-up time counts.
        from fleetform.dialects.greenhouse import read_greenhouse

        return read_greenhouse(tree, origin, organization)
    return _read_foreign(tree, origin, organization)


def _read_foreign(tree: dict[str, Any], origin: Origin, organization: str) -> Reading:
    """A kind of somebody else's: kept as it is, so that configs and bindings can refer to it."""
    kind, version = tree.get("kind"), tree.get("apiVersion")
    problem = _misspelt_envelope(tree, origin)
    if problem is not None:
        return Reading(None, (problem,))
    written = tree.get("metadata") if isinstance(tree.get("metadata"), dict) else {}
    name, namespace = (written or {}).get("name"), (written or {}).get("namespace")
    ref = Ref(
        f"{kind}", namespace if isinstance(namespace, str) else organization, name if isinstance(name, str) else ""
    )
    try:
        metadata = msgspec.convert({"name": ref.name or None}, Metadata)
    except msgspec.ValidationError:
        metadata = Metadata()
    return Reading(Object(ref, metadata, None, origin, f"foreign:{version}", content=tree))


def _misspelt_envelope(tree: dict[str, Any], origin: Origin) -> Diagnostic | None:
    kind, version = tree.get("kind"), tree.get("apiVersion")
    if not isinstance(kind, str) or not kind:
        near = nearest("kind", [key for key in tree if key not in ("apiVersion", "metadata", "spec")])
        message = "the document has no kind, so it is no manifest"
        hint = f"is {near} meant to be kind?" if near else "add apiVersion and kind"
        return Diagnostic("missing-field", message, hint, at=At(origin, origin.base))
    if not isinstance(version, str) or not version:
        native = "fleetform.dev/v1alpha1" if kind in KINDS else "v1"
        message = f"the {kind} has no apiVersion"
        return Diagnostic("missing-field", message, f"add apiVersion: {native}", at=At(origin, origin.base))
    meant = looks_misspelt(version)
    if meant:
        at = At(origin, (*origin.base, "apiVersion"))
        return Diagnostic("unsupported-version", f"{version} is not known", f"did you mean {meant}?", at=at)
    return None


# ---- Folders that definitions render are no input (S35)


def _source_folders(objects: Iterable[Object[Any] | None]) -> frozenset[str]:
    folders = set()
    for object_ in objects:
        if object_ is not None and isinstance(object_.spec, PluginDefinitionSpec):
            for path in _local_sources(object_.spec):
                folders.add(os.path.normpath(os.path.join(os.path.dirname(object_.origin.file), path)))
    return frozenset(folders - {"."})


def _names_folder(object_: Object[Any] | None) -> bool:
    spec = object_.spec if object_ is not None else None
    return isinstance(spec, PluginDefinitionSpec) and any(True for _ in _local_sources(spec))


def _local_sources(spec: PluginDefinitionSpec) -> Iterator[str]:
    source = spec.source
    if source is None:
        return
    if source.helm is not None and "://" not in source.helm.repository:
        yield os.path.join(source.helm.repository, source.helm.chart)
    if source.kustomize is not None and source.kustomize.path is not None:
        yield source.kustomize.path
    if source.manifests is not None:
        yield source.manifests.path


def _below(file: str, folders: frozenset[str]) -> bool:
    folder = os.path.dirname(file)
    while folder:
        if folder in folders:
            return True
        parent = os.path.dirname(folder)
        if parent == folder:
            return False
        folder = parent
    return False


# ---- Objects to a snapshot


def _stamped(object_: Object[Any], state: KnownState, diagnostics: list[Diagnostic]) -> Object[Any]:
    """With its time of creation: the state's stamp, else the annotation, else creationTimestamp, else none (B7)."""
    annotation = (object_.metadata.annotations or {}).get(CREATED)
    known = state.stamps.get(object_.ref)
    stamp = known or annotation or object_.metadata.creation_timestamp
    if stamp is None:
        return object_
    try:
        return replace(object_, created=parse_time(stamp))
    except ValueError:
        path = ("annotations", CREATED) if annotation else ("creationTimestamp",)
        where = " in the state" if known else ""
        hint = "write a time such as 2026-03-01T12:00:00Z"
        at = object_.at("metadata", *(path if not known else ("name",)))
        diagnostics.append(Diagnostic("bad-stamp", f"{stamp} is not a time{where}", hint, object=object_.ref, at=at))
        return object_


_PLACES = {
    "Organization": "organizations",
    "Cluster": "clusters",
    "PluginPreset": "presets",
    "Plugin": "plugins",
    "PluginOverride": "overrides",
}


def _snapshot(
    objects: Sequence[Object[Any]], at: datetime, diagnostics: list[Diagnostic], running: Mapping[PluginKey, str]
) -> Snapshot:
    fields: dict[str, dict[Any, Object[Any]]] = {name: {} for name in (*_PLACES.values(), "definitions", "others")}
    for object_ in sorted(objects, key=_object_order):
        native = not object_.dialect.startswith("foreign:")
        field = _PLACES.get(object_.ref.kind, "others") if native else "others"
        key: Any = object_.ref
        if native and object_.ref.kind == "PluginDefinition":
            field, key = "definitions", (object_.ref, _version_key(object_))
        elif not native:
            # Foreign kinds are told apart by their group, too.
            key = Ref(
                f"{object_.ref.kind}.{object_.dialect.removeprefix('foreign:').partition('/')[0]}", *object_.ref[1:]
            )
        earlier = fields[field].setdefault(key, object_)
        if earlier is not object_ and (native or object_.ref.name):
            diagnostics.append(_twice(earlier, object_))
    return Snapshot(
        at,
        fields["organizations"],
        fields["clusters"],
        fields["definitions"],
        fields["presets"],
        fields["plugins"],
        fields["overrides"],
        fields["others"],
        running,
    )


def _object_order(object_: Object[Any]) -> tuple[Any, ...]:
    return (object_.ref, object_.origin.file, object_.origin.first_line, str(object_.origin.base))


def _version_key(object_: Object[PluginDefinitionSpec]) -> str:
    try:
        return str(parse_version(object_.spec.version))
    except VersionError:
        return object_.spec.version


def _twice(earlier: Object[Any], later: Object[Any]) -> Diagnostic:
    ref = later.ref
    same = earlier.spec == later.spec and earlier.content == later.content and earlier.metadata == later.metadata
    version = f" {later.spec.version}" if ref.kind == "PluginDefinition" else ""
    what = f"{ref.kind} {ref.name}{version}"
    message = f"{what} is written twice" + (", with the same content" if same else ", with two contents")
    severity: Severity = "warning" if same else "error"
    return Diagnostic(
        "duplicate-object", message, "keep one of them", severity, ref, later.at("metadata", "name"),
        (earlier.at("metadata", "name"),),
    )  # fmt: skip
