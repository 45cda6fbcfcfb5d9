"""What a source of a catalog is called: in messages, in the places of its definitions, and in the cache."""

from __future__ import annotations

import msgspec

from fleetform.artifacts.store import cache_key
from fleetform.model.kinds import PLATFORM_NAMESPACE
from fleetform.model.kinds.definition import CatalogSource, CatalogSpec
from fleetform.model.objects import Object
from fleetform.syntax.addresses import shown


def source_title(source: CatalogSource) -> str:
    """A source in messages, without credentials."""
    if source.directory is not None:
        return f"the folder {source.directory}"
    if source.git is not None:
        return f"git {shown(source.git.url)}"
    if source.helm is not None:
        return f"helm {shown(source.helm.repository)}"
    return shown(source.oci.repository) if source.oci is not None else "a source of no kind"


def source_name(catalog: Object[CatalogSpec], source: CatalogSource) -> str:
    """A source in the places of its definitions: its catalog, with organization and number if there are others."""
    name = catalog.ref.name
    if catalog.ref.organization != PLATFORM_NAMESPACE:
        name = f"{catalog.ref.organization}/{name}"
    sources = catalog.spec.sources
    return f"{name}#{sources.index(source) + 1}" if len(sources) > 1 else name


def source_key(catalog: Object[CatalogSpec], source: CatalogSource, folder: str) -> str:
    """A source in the cache: an organization sees what it read with its own credentials, and nobody else's."""
    # Imported here: most catalogs are folders, and start-up time counts.
    from fleetform.outside.mirrors import git_address

    where = msgspec.to_builtins(source)
    for field in ("interval", "rename"):
        where.pop(field, None)
    if source.git is not None:
        where["git"]["url"] = git_address(source.git.url, folder)
    return cache_key(catalog.ref.organization, where)
