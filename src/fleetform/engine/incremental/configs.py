"""Where configs count that came, went or changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fleetform.engine.configs.references import default_references, instance_configs
from fleetform.engine.index.clusters import Cluster
from fleetform.engine.index.index import Index
from fleetform.engine.layers.owners import Owner
from fleetform.engine.options.shared import Below, Sharing
from fleetform.model.results.configs import ConfigReference


class ChangedConfigs:
    """The configs that are other objects now than in the pass before, and who names them."""

    def __init__(self, index: Index, before: Index) -> None:
        self._index = index
        self._changed = index.configs.changed_since(before.configs)

    def reached(self) -> Iterator[tuple[Cluster, Owner]]:
        """Owners that name one, everywhere or on some of their clusters."""
        if not self._changed:
            return
        for owner in self._index.owners.values():
            for cluster in self._clusters(owner):
                yield cluster, owner

    def _clusters(self, owner: Owner) -> Iterable[Cluster]:
        known = self._index.definitions.known(owner).values()
        defaults = [each for revision in known for each in default_references(revision.object)]
        if self._among(owner.configs) or self._among(defaults):
            return self._index.clusters_of(owner)
        selection = self._index.selection(owner.object.ref.organization)
        groups = [group for group in owner.groups if self._among(group.configs)]
        beside = [] if owner.by_hand else self._index.instances.of_preset(owner.object.ref).values()
        instances = [self._index.cluster_of(each) for each in beside if self._among(instance_configs(each))]
        return {
            *(each for group in groups for each in selection.clusters_in(owner, group)),
            *(each for each in instances if each is not None),
        }

    def _among(self, references: Iterable[ConfigReference]) -> bool:
        return any(each.identity in self._changed for each in references)

    def forget(self, sharing: Sharing) -> None:
        """What plugins share that names a changed config no longer holds."""
        if self._changed:
            sharing.forget(self._is_stale)

    def _is_stale(self, owner: Owner, below: Below) -> bool:
        revision, groups, holder = below
        return (
            self._among(owner.configs)
            or self._among(default_references(revision.object))
            or any(self._among(group.configs) for group in groups)
            or (holder is not None and self._among(instance_configs(holder)))
        )
