"""What leaves the repository: sources of definitions and catalogs that `--confined` refuses."""

from __future__ import annotations

from collections.abc import Iterator

from fleetform.app.fleet import Fleet
from fleetform.app.reading.source_folders import joined, local_sources
from fleetform.artifacts.digests import is_of_this_machine
from fleetform.artifacts.folder_contents import is_from_catalog
from fleetform.model.kinds.definition import CatalogSpec, PluginDefinitionSpec
from fleetform.model.objects import Object, Path
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.outside.boundary import HINT, Boundary
from fleetform.outside.mirrors import is_path
from fleetform.syntax.addresses import shown


def sources_outside(fleet: Fleet, boundary: Boundary) -> Iterator[Diagnostic]:
    """An error for each source that is on this machine and not in the repository."""
    for definition in fleet.snapshot.definitions.values():
        if not is_from_catalog(definition):
            yield from _refused(definition, list(_named_by_definition(definition)), boundary)
    for object_ in fleet.snapshot.others.values():
        if isinstance(object_.spec, CatalogSpec):
            yield from _refused(object_, list(_named_by_catalog(object_)), boundary)


def _refused(object_: Object[object], named: list[tuple[str, Path]], boundary: Boundary) -> Iterator[Diagnostic]:
    # In a commit there is nothing outside: its files are read through git.
    in_commit = object_.origin.file.startswith("git:")
    for name, path in named:
        if is_of_this_machine(name) or not (in_commit or "://" in name or boundary.holds(joined(object_, name))):
            message = f"{shown(name)}, which {object_.ref.name} names, is outside of the repository"
            yield Diagnostic("cannot-read", message, HINT, object=object_.ref, at=object_.at(*path))


def _named_by_definition(definition: Object[PluginDefinitionSpec]) -> Iterator[tuple[str, Path]]:
    source = definition.spec.source
    yield from ((path, ("spec", "source")) for path in local_sources(definition.spec))
    if source is not None and source.helm is not None and "://" in source.helm.repository:
        yield source.helm.repository, ("spec", "source", "helm", "repository")
    git = source.kustomize.git if source is not None and source.kustomize is not None else None
    if git is not None and (is_path(git.url) or "://" in git.url):
        yield git.url, ("spec", "source", "kustomize", "git", "url")


def _named_by_catalog(catalog: Object[CatalogSpec]) -> Iterator[tuple[str, Path]]:
    for index, source in enumerate(catalog.spec.sources):
        path = ("spec", "sources", index)
        if source.directory is not None:
            yield source.directory, (*path, "directory")
        if source.git is not None and (is_path(source.git.url) or "://" in source.git.url):
            yield source.git.url, (*path, "git", "url")
        if source.helm is not None:
            yield source.helm.repository, (*path, "helm", "repository")
