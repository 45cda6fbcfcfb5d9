"""The versions that definitions had, as their revisions on the API server tell.

A PluginDefinition has one version at a time, and plugins may run, or be pinned to, those before it. A replica that does
not work for an organization knows them by its PluginDefinitionRevisions: their options and sources, and not all else
that they said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Event
from typing import Any, NamedTuple

import msgspec

from fleetform.dialects.native.crds import plural_of
from fleetform.dialects.native.revisions import as_definition
from fleetform.model.kinds import API_VERSION
from fleetform.operator.versioned import Versioned, versioned
from fleetform.outside.errors import OutsideError
from fleetform.outside.kubernetes.client import Client
from fleetform.outside.kubernetes.errors import DeniedError
from fleetform.outside.kubernetes.reflector import ObjectKey, Reflector
from fleetform.outside.kubernetes.resources import Resource

_GROUP, _, _VERSION = API_VERSION.partition("/")
_REVISIONS = Resource(_GROUP, _VERSION, plural_of("PluginDefinitionRevision"), "PluginDefinitionRevision")
_DEFINITIONS = f"{plural_of('PluginDefinition')}.{_GROUP}"


class _Kept(NamedTuple):
    """A revision as a definition: its file, and what stands in it."""

    key: ObjectKey
    version: str
    file: Versioned
    content: bytes


class EarlierVersions:
    """Follows revisions, in a thread of its own. changed is told whenever there is another."""

    def __init__(
        self, client: Client, changed: Callable[[], None], failed: Callable[[OutsideError], None] = lambda _: None
    ) -> None:
        self._reflector: Reflector[_Kept] = Reflector(
            client,
            _REVISIONS,
            lambda each: each.key,
            lambda each: each.version,
            kept=_kept,
            content_of=lambda each: each.content,
            changed=lambda _: changed(),
            failed=self._fails,
        )
        self._failed, self._is_denied = failed, False

    def start(self, stop: Event) -> None:
        self._reflector.start(stop, "revisions")

    @property
    def is_alive(self) -> bool:
        return self._reflector.is_alive

    def restarts(self) -> Mapping[str, int]:
        return {_REVISIONS.plural: self._reflector.restarts}

    @property
    def are_known(self) -> bool:
        """Who may not read them goes on without: nobody should be locked out for that."""
        return self._reflector.listed.is_set() or self._is_denied

    def _fails(self, error: OutsideError) -> None:
        self._is_denied = isinstance(error, DeniedError)
        self._failed(error)

    def beside(self, files: Mapping[str, bytes]) -> dict[str, bytes]:
        """Of the definitions in some files, the versions that are not there any more."""
        present = {each.definition for each in map(versioned, files) if each is not None}
        known = [each for each in self._reflector.objects().values() if each.file.definition in present]
        return {name: each.content for each in known if (name := str(each.file)) not in files}


def _kept(manifest: dict[str, Any]) -> _Kept:
    metadata = manifest["metadata"]
    tree = as_definition(manifest)
    # When it came is no part of what it says.
    tree["metadata"].pop("creationTimestamp", None)
    file = Versioned(f"{metadata['namespace']}/{_DEFINITIONS}/{tree['metadata']['name']}", tree["spec"]["version"])
    key = ObjectKey(metadata["namespace"], metadata["name"])
    return _Kept(key, metadata["resourceVersion"], file, msgspec.json.encode(tree))
