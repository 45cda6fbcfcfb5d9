"""What checks of decisions look for over a whole fleet: plugins with gates, and the clusters that each owner has.

Most passes decide few clusters anew: what is gathered of all others is taken over from the pass before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from fleetform.engine.decisions import Decisions
from fleetform.engine.index.differences import changed_keys
from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.objects import Object, Ref
from fleetform.model.results.decisions import ClusterDecisions, PluginDecision
from fleetform.model.results.diagnostics import Diagnostic

Owner = Object[Any]
# By name.
Clusters = dict[str, Object[ClusterSpec]]


class Gathered:
    """Of one pass's decisions. before only saves work. It is never changed once it is made.

    owned is the very same map as before while no owner came to a cluster or left it, and no cluster is another.
    """

    def __init__(self, decisions: Decisions, before: Gathered | None = None) -> None:
        self.clusters: Mapping[Ref, ClusterDecisions] = decisions.clusters
        self._gated: dict[Ref, tuple[PluginDecision, ...]] = dict(before._gated) if before is not None else {}
        self._owned: dict[Owner, Clusters] = before._owned if before is not None else {}
        self._staged: tuple[tuple[object, ...], tuple[Diagnostic, ...]] = (
            before._staged if before is not None else ((), ())
        )
        then = before.clusters if before is not None else {}
        changed = changed_keys(self.clusters, then)
        moved = []
        for ref in changed:
            here, before_here = self.clusters.get(ref), then.get(ref)
            anew = _decided_anew(here, before_here)
            if ref in self._gated or any((each.upgrade or each).gates for each in anew):
                gated = tuple(each for each in _plugins(here) if (each.upgrade or each).gates)
                if gated:
                    self._gated[ref] = gated
                else:
                    del self._gated[ref]
            if _is_moved(here, before_here, anew):
                moved.append(ref)
        if moved:
            self._owned = _owned_after(self._owned, moved, then, self.clusters)

    @property
    def gated(self) -> Iterator[PluginDecision]:
        """Plugins of which something is wanted that gates hold back, in order."""
        for ref in sorted(self._gated):
            yield from self._gated[ref]

    @property
    def owned(self) -> Mapping[Owner, Clusters]:
        """The clusters on which an owner has a plugin."""
        return self._owned

    def staged(self, made_of: tuple[object, ...], check: Callable[[], Iterable[Diagnostic]]) -> tuple[Diagnostic, ...]:
        """Findings that follow from what owners have and from some things that are compared by identity."""
        made_of = (self._owned, *made_of)
        known, found = self._staged
        if len(known) != len(made_of) or any(one is not other for one, other in zip(known, made_of, strict=True)):
            found = tuple(check())
            self._staged = made_of, found
        return found


def _plugins(here: ClusterDecisions | None) -> Collection[PluginDecision]:
    return here.plugins.values() if here is not None else ()


def _decided_anew(here: ClusterDecisions | None, then: ClusterDecisions | None) -> list[PluginDecision]:
    """The plugins of a cluster that are not those of the pass before."""
    if here is None:
        return []
    changed = changed_keys(here.plugins, then.plugins) if then is not None else here.plugins
    return [here.plugins[name] for name in changed if name in here.plugins]


def _is_moved(here: ClusterDecisions | None, then: ClusterDecisions | None, anew: list[PluginDecision]) -> bool:
    """Whether the cluster, or the owners that have plugins on it, are others."""
    if here is None or then is None or here.cluster is not then.cluster or len(here.plugins) != len(then.plugins):
        return True
    for each in anew:
        other = then.plugins.get(each.name)
        if other is None or each.target.owner is not other.target.owner:
            return True
    return False


def _owned_after(
    before: dict[Owner, Clusters],
    moved: list[Ref],
    then: Mapping[Ref, ClusterDecisions],
    now: Mapping[Ref, ClusterDecisions],
) -> dict[Owner, Clusters]:
    found = dict(before)
    copied: set[Owner] = set()

    def of(owner: Owner) -> Clusters:
        if owner not in copied:
            copied.add(owner)
            found[owner] = dict(found.get(owner, {}))
        return found[owner]

    for ref in moved:
        for plugin in _plugins(then.get(ref)):
            of(plugin.target.owner).pop(ref.name, None)
        for plugin in _plugins(now.get(ref)):
            of(plugin.target.owner)[ref.name] = plugin.cluster
    return {owner: clusters for owner, clusters in found.items() if clusters}
