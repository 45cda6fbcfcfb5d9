"""Definitions from catalogs: they belong to the catalog's organization, under the names they have there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import cast

from msgspec import structs

from fleetform.app.reading.documents import read_document
from fleetform.app.reading.secrets import secret_named
from fleetform.app.reading.snapshots import version_key
from fleetform.model.answers.base import Json, JsonMap
from fleetform.model.kinds.definition import CatalogOverride, CatalogSource, CatalogSpec, PluginDefinitionSpec
from fleetform.model.objects import Object, Ref
from fleetform.model.results.diagnostics import Diagnostic, Severity
from fleetform.model.shape import did_you_mean
from fleetform.model.snapshot import VersionKey
from fleetform.ports.catalogs import CatalogEntry, CatalogReader, SourceReading
from fleetform.ports.inputs import Locator


@dataclass(frozen=True)
class CatalogDefinitions:
    """Definitions that are offered, those that are not any more (retired), and what is known of their versions.

    files are the names under which their texts are found, and sources what became of each source of a catalog.
    """

    definitions: list[Object[PluginDefinitionSpec]] = field(default_factory=list)
    retired: dict[VersionKey, Object[PluginDefinitionSpec]] = field(default_factory=dict)
    recorded: dict[VersionKey, str] = field(default_factory=dict)
    found: dict[VersionKey, str] = field(default_factory=dict)
    published: dict[VersionKey, str] = field(default_factory=dict)
    sources: dict[Ref, list[SourceReading]] = field(default_factory=dict)
    files: set[str] = field(default_factory=set)
    diagnostics: list[Diagnostic] = field(default_factory=list)


def read_catalogs(
    objects: Iterable[Object[object]], catalogs: CatalogReader | None, locator: Locator
) -> CatalogDefinitions:
    """The definitions of the catalogs among some objects; credentials of catalogs are Secrets among them, too."""
    found = CatalogDefinitions()
    objects = list(objects)
    listed = [cast("Object[CatalogSpec]", each) for each in objects if isinstance(each.spec, CatalogSpec)]
    if catalogs is None or not listed:
        return found
    secrets = [each for each in objects if each.ref.kind == "Secret"]
    for catalog in sorted(listed, key=lambda each: each.ref):
        readings = catalogs.catalog(catalog, partial(secret_named, secrets, catalog.ref.organization))
        found.sources[catalog.ref] = readings
        for index, (source, reading) in enumerate(zip(catalog.spec.sources, readings, strict=True)):
            found.diagnostics.extend(_problems_of(catalog, index, source, reading))
            for entry in reading.entries:
                file = _add(found, catalog, source, entry, locator)
                if file is not None and not reading.ours:
                    found.files.add(file)
    return found


def _map(tree: Json) -> JsonMap:
    return tree if isinstance(tree, dict) else {}


def _add(
    found: CatalogDefinitions,
    catalog: Object[CatalogSpec],
    source: CatalogSource,
    entry: CatalogEntry,
    locator: Locator,
) -> str | None:
    """One definition, in the catalog's own organization whatever namespace it names, under its name there."""
    reading = read_document(entry.document, catalog.ref.organization)
    object_ = reading.object
    if object_ is None or not isinstance(object_.spec, PluginDefinitionSpec):
        return None
    renamed = {each.name: each.as_ for each in source.rename or []}
    name = renamed.get(object_.ref.name, object_.ref.name)
    for override in source.overrides or []:
        if override.name == object_.ref.name:
            object_ = replace(object_, spec=_overridden(object_.spec, override))
    object_ = replace(object_, ref=Ref("PluginDefinition", catalog.ref.organization, name))
    key = version_key(object_)
    file = object_.origin.file
    locator.add(file, entry.text)
    if entry.retired:
        found.retired[key] = object_
        return file
    found.definitions.append(object_)
    for known, value in (
        (found.recorded, entry.recorded),
        (found.found, entry.found),
        (found.published, entry.published),
    ):
        if value is not None:
            known[key] = value
    return file


def _overridden(spec: PluginDefinitionSpec, override: CatalogOverride) -> PluginDefinitionSpec:
    """A definition with its chart from elsewhere, and with other defaults of options that it declares."""
    if override.repository is not None and spec.source is not None and spec.source.helm is not None:
        helm = structs.replace(spec.source.helm, repository=override.repository)
        spec = structs.replace(spec, source=structs.replace(spec.source, helm=helm))
    defaults = {each.name: each.value for each in override.options or []}
    options = [
        structs.replace(each, default=defaults[each.name]) if each.name in defaults else each
        for each in spec.options or []
    ]
    return structs.replace(spec, options=options or None)


def _problems_of(
    catalog: Object[CatalogSpec], index: int, source: CatalogSource, reading: SourceReading
) -> Iterator[Diagnostic]:
    """What went wrong with a source, at the place that names it, and entries that it names and does not hold."""
    at = catalog.at("spec", "sources", index)
    severity: Severity = "error" if reading.ours else "warning"
    if reading.error:
        since = f" since {reading.failed}" if reading.failed else ""
        kept = f"; what was read at {reading.read} is used" if reading.read else ""
        message = f"{reading.title} cannot be read{since}: {reading.error}{kept}"
        yield Diagnostic("catalog-unavailable", message, reading.hint, severity, catalog.ref, at)
    elif reading.read is None:
        message = f"{reading.title} has never been read, so nothing it holds is known"
        yield Diagnostic("catalog-unread", message, "read it with --fetch", "warning", catalog.ref, at)
    hint = "fix it, or leave it out with include" if reading.ours else "tell its author, or leave it out with include"
    for text in reading.problems:
        yield Diagnostic("catalog-problem", f"{reading.title}: {text}", hint, severity, catalog.ref, at)
    for text in reading.changed:
        hint = "a version that changes needs a new number"
        yield Diagnostic("changed-without-bump", f"{reading.title}: {text}", hint, severity, catalog.ref, at)
    declared: dict[str, set[str]] = {}
    for entry in reading.entries if source.overrides else ():
        tree = _map(entry.document.tree)
        options = _map(tree.get("spec")).get("options")
        listed = {str(_map(one).get("name")) for one in options} if isinstance(options, list) else set()
        declared.setdefault(str(_map(tree.get("metadata")).get("name")), set()).update(listed)
    for position, override in enumerate(source.overrides or []):
        for one in (override.options or []) if override.name in declared else ():
            if one.name not in declared[override.name]:
                hint = did_you_mean(one.name, sorted(declared[override.name]), "fix the name, or drop it")
                message = f"{override.name} of {reading.title} has no option {one.name}"
                place = catalog.at("spec", "sources", index, "overrides", position)
                yield Diagnostic("unknown-name", message, hint, "warning", catalog.ref, place)
    names = {_map(each.document.tree.get("metadata")).get("name") for each in reading.entries}
    renamed = [("rename", position, each.name) for position, each in enumerate(source.rename or [])]
    changed = [("overrides", position, each.name) for position, each in enumerate(source.overrides or [])]
    for part, position, name in [*renamed, *changed] if names else ():
        if name not in names:
            hint = did_you_mean(name, sorted(map(str, names)), "fix the name, or drop it")
            message = f"{reading.title} holds no definition {name}"
            at = catalog.at("spec", "sources", index, part, position, "name")
            yield Diagnostic("unknown-name", message, hint, "warning", catalog.ref, at)
