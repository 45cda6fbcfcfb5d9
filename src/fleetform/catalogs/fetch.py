"""Fetching: a source is read, and its state is updated. A failure leaves the last good state."""

from __future__ import annotations

from msgspec import structs

from fleetform.catalogs.cache import CatalogCache
from fleetform.catalogs.git import read_git
from fleetform.catalogs.helm import read_helm
from fleetform.catalogs.login import SecretOf, credentials_of
from fleetform.catalogs.merge import merge
from fleetform.catalogs.oci import read_oci
from fleetform.model.kinds.definition import CatalogSource
from fleetform.outside.errors import OutsideError
from fleetform.outside.http import Web
from fleetform.outside.mirrors import Mirror, git_address
from fleetform.outside.oci import Registry


def fetch(
    cache: CatalogCache, key: str, title: str, source: CatalogSource, folder: str, secret_of: SecretOf, now: str
) -> None:
    """Read a source and keep its state; the source's paths are relative to the folder."""
    with cache.locked(key):
        before = cache.state(key, title)
        try:
            credentials = credentials_of(source, secret_of)
            if source.git is not None:
                mirror = Mirror(cache.mirror(key), git_address(source.git.url, folder))
                mirror.update(credentials)
                listing = read_git(mirror, source.git, source.include, before.marks)
            else:
                with Web(credentials) as web:
                    if source.helm is not None:
                        listing = read_helm(source.helm.repository, source.include, before.marks, web)
                    else:
                        assert source.oci is not None
                        registry = Registry(source.oci.repository, web, credentials)
                        listing = read_oci(registry, source.include, before.marks)
        except OutsideError as error:
            failed = before.failed or now
            state = structs.replace(before, tried=now, failed=failed, error=error.message, hint=error.hint)
            cache.keep(key, state, {})
            return
        state, texts = merge(before, listing, now)
        cache.keep(key, state, texts)
