"""What releases are called: written out where it is known, and said where it is not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fleetform.app.converting.native_files import loss
from fleetform.app.fleet import Fleet
from fleetform.engine.versions.choose import choose
from fleetform.model.kinds.preset import PluginPresetSpec, PluginSpec
from fleetform.model.objects import Object
from fleetform.model.results.decisions import Gate
from fleetform.model.results.diagnostics import Diagnostic

Release = tuple[str, str]


class Releases(NamedTuple):
    """The name and namespace of each owner's releases; unknown are owners of which they cannot be known, and why."""

    found: dict[Object[object], Release]
    unknown: dict[Object[object], str]

    def of(self, owner: Object[object]) -> Release | None:
        return self.found.get(owner)

    def losses(self) -> Iterator[Diagnostic]:
        for owner, why in self.unknown.items():
            message = f"what its releases are called is not written: {why}"
            hint = "write releaseName and releaseNamespace; natively both are the definition's name"
            yield loss(owner, message, hint, "spec", *(("plugin",) if owner.ref.kind == "PluginPreset" else ()))


def known_releases(fleet: Fleet) -> Releases:
    """Of owners that other systems brought: what their plugins have, or would have with the version that they want."""
    named: dict[Object[object], set[Release]] = {}
    for plugin in fleet.decisions.plugins.values():
        release = (plugin.target.release_name, plugin.target.release_namespace)
        named.setdefault(plugin.target.owner, set()).add(release)
    releases = Releases({}, {})
    for object_, owner in fleet.index.owners.items():
        spec: object = object_.spec
        if object_.dialect == "native" or not isinstance(spec, (PluginPresetSpec, PluginSpec)):
            continue
        known = named.get(object_, set())
        if len(known) > 1:
            releases.unknown[object_] = "they differ from cluster to cluster, as its versions have several charts"
        elif known:
            releases.found[object_] = known.pop()
        elif (owner.release_name and owner.release_namespace) or not object_.conventions.release_after_chart:
            namespace, name = owner.release(None)
            releases.found[object_] = (name, namespace)
        else:
            organization = object_.ref.organization
            offers = fleet.index.definitions.offered_to(organization, owner.definition)
            rules = fleet.index.definitions.rules(organization, owner.definition)
            chosen = choose(offers, owner.definition, owner.wanted, rules) if offers else None
            if chosen is None or isinstance(chosen, Gate):
                releases.unknown[object_] = (
                    f"it is named after its chart, and there is no definition {owner.definition}"
                )
            else:
                namespace, name = owner.release(chosen.revision)
                releases.found[object_] = (name, namespace)
    return releases
