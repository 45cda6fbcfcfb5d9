"""What catalogs bring into a fleet: definitions of their organization, under the names they have there."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fleetform.app.assemble import version_key
from fleetform.app.reading import read_document
from fleetform.model.kinds.definition import CatalogSource, CatalogSpec, PluginDefinitionSpec
from fleetform.model.objects import Object, Ref
from fleetform.model.results.diagnostics import Diagnostic, Severity
from fleetform.model.shape import did_you_mean
from fleetform.model.snapshot import VersionKey
from fleetform.ports import CatalogEntry, CatalogReader, Locator, SourceReading


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
    objects: Iterable[Object[Any]], elsewhere: CatalogReader | None, locator: Locator
) -> CatalogDefinitions:
    """What the catalogs among some objects bring; their credentials are Secrets among them, too."""
    brought = CatalogDefinitions()
    objects = list(objects)
    catalogs = sorted((each for each in objects if isinstance(each.spec, CatalogSpec)), key=lambda each: each.ref)
    if elsewhere is None or not catalogs:
        return brought
    secrets = {each.ref: each.content for each in objects if each.ref.kind == "Secret" and each.dialect == "foreign:v1"}
    for catalog in catalogs:
        readings = elsewhere.catalog(catalog, _secrets_of(catalog, secrets))
        brought.sources[catalog.ref] = readings
        for index, (source, reading) in enumerate(zip(catalog.spec.sources, readings, strict=True)):
            brought.diagnostics.extend(_said(catalog, index, reading))
            brought.diagnostics.extend(_unknown_names(catalog, index, source, reading))
            for entry in reading.entries:
                file = _bring(brought, catalog, source, entry, locator)
                if file is not None and not reading.ours:
                    brought.files.add(file)
    return brought


def _secrets_of(catalog: Object[CatalogSpec], secrets: Mapping[Ref, Any]) -> Callable[[str], dict[str, str] | None]:
    def secret_of(name: str) -> dict[str, str] | None:
        tree = secrets.get(Ref("Secret", catalog.ref.organization, name))
        return _decoded(tree) if tree is not None else None

    return secret_of


def _decoded(tree: Any) -> dict[str, str]:
    """The texts that a Secret holds; what is not base64, or no text, is left out."""
    plain = {key: text for key, text in _map(tree.get("stringData")).items() if isinstance(text, str)}
    for key, text in _map(tree.get("data")).items():
        try:
            plain.setdefault(key, base64.b64decode("".join(str(text).split()), validate=True).decode())
        except ValueError:
            continue
    return plain


def _map(tree: Any) -> dict[str, Any]:
    return tree if isinstance(tree, dict) else {}


def _bring(
    brought: CatalogDefinitions,
    catalog: Object[CatalogSpec],
    source: CatalogSource,
    entry: CatalogEntry,
    locator: Locator,
) -> str | None:
    """One definition, into the catalog's own organization whatever namespace it names, and under its name there."""
    reading = read_document(entry.document, catalog.ref.organization)
    object_ = reading.object
    if object_ is None or not isinstance(object_.spec, PluginDefinitionSpec):
        return None
    renamed = {each.name: each.as_ for each in source.rename or []}
    name = renamed.get(object_.ref.name, object_.ref.name)
    object_ = replace(object_, ref=Ref("PluginDefinition", catalog.ref.organization, name))
    key = version_key(object_)
    file = object_.origin.file
    locator.add(file, entry.text)
    if entry.retired:
        brought.retired[key] = object_
        return file
    brought.definitions.append(object_)
    for known, value in (
        (brought.recorded, entry.recorded),
        (brought.found, entry.found),
        (brought.published, entry.published),
    ):
        if value is not None:
            known[key] = value
    return file


def _unknown_names(
    catalog: Object[CatalogSpec], index: int, source: CatalogSource, reading: SourceReading
) -> Iterator[Diagnostic]:
    """Renamed entries that the source does not hold."""
    names = {_map(each.document.tree.get("metadata")).get("name") for each in reading.entries}
    for position, each in enumerate(source.rename or []):
        if names and each.name not in names:
            hint = did_you_mean(each.name, sorted(map(str, names)), "fix the name, or drop it")
            at = catalog.at("spec", "sources", index, "rename", position, "name")
            message = f"{reading.title} holds no definition {each.name}"
            yield Diagnostic("unknown-name", message, hint, "warning", catalog.ref, at)


def _said(catalog: Object[CatalogSpec], index: int, reading: SourceReading) -> Iterator[Diagnostic]:
    """What is to be said of a source, at the place that names it."""
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
    hint = "mend it, or leave it out with include" if reading.ours else "tell its author, or leave it out with include"
    for text in reading.problems:
        yield Diagnostic("catalog-problem", f"{reading.title}: {text}", hint, severity, catalog.ref, at)
    for text in reading.changed:
        hint = "a version that changes needs a new number"
        yield Diagnostic("changed-without-bump", f"{reading.title}: {text}", hint, severity, catalog.ref, at)
