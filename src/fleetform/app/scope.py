"""Which part of a fleet a question is about: organization, cluster, labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from fleetform.app.errors import NotFoundError
from fleetform.app.fleet import Fleet
from fleetform.model.kinds import PLATFORM_NAMESPACE
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import ClusterDecisions, PluginDecision, PluginKey
from fleetform.model.shape import did_you_mean
from fleetform.syntax.selectors import Requirements, matches_all


@dataclass(frozen=True, slots=True)
class Scope:
    """organization None: all of them. visible are those that the asker may know of; None: every one.

    What is not visible is left out before anything is looked for: an answer is the same as if it were not there.
    """

    organization: str | None
    cluster: str | None = None
    labels: Requirements = ()
    visible: frozenset[str] | None = None

    @property
    def narrowed(self) -> bool:
        """Whether it is about some clusters only."""
        return self.cluster is not None or bool(self.labels)

    def sees(self, organization: str) -> bool:
        return self.visible is None or organization in self.visible

    def holds(self, ref: Ref) -> bool:
        return self.organization in (None, ref.organization) and self.sees(ref.organization)

    def offers(self, ref: Ref) -> bool:
        """Like holds, and what the platform offers to every organization."""
        return self.holds(ref) or ref.organization == PLATFORM_NAMESPACE

    def concerns(self, ref: Ref | None) -> bool:
        """Whether a finding about an object belongs here; one about no object may name anything."""
        return self.offers(ref) if ref is not None else self.visible is None

    def holds_cluster(self, ref: Ref, labels: dict[str, str]) -> bool:
        return self.holds(ref) and self.cluster in (None, ref.name) and matches_all(self.labels, labels)

    def holds_plugin(self, fleet: Fleet, key: PluginKey) -> bool:
        """Whether a plugin's cluster is in it; of one that left the fleet nobody knows the labels any more."""
        ref = Ref("Cluster", key[0], key[1])
        found = fleet.snapshot.clusters.get(ref)
        return self.holds_cluster(ref, found.labels if found is not None else {})

    def contenders(self, fleet: Fleet) -> list[PluginDecision]:
        """Plugins that are not made, as another owner has their release."""
        if self.cluster is None:
            claims = fleet.decisions.claims
            return [each.plugin for each in claims if self.holds_cluster(each.cluster.ref, each.cluster.labels)]
        return [claim.plugin for here in self._decided(fleet) for claim in here.claims]

    def plugins(self, fleet: Fleet) -> list[PluginDecision]:
        return [plugin for here in self._decided(fleet) for plugin in here.plugins.values()]

    def _decided(self, fleet: Fleet) -> Iterator[ClusterDecisions]:
        """What was decided on its clusters; a question about one of 10,000 looks at no other."""
        clusters, decided = fleet.decisions.index.snapshot.clusters, fleet.decisions.clusters
        refs: Iterable[Ref] = decided
        if self.cluster is not None:
            refs = [Ref("Cluster", home, self.cluster) for home in fleet.organizations]
        for ref in refs:
            if ref in decided and self.holds_cluster(ref, clusters[ref].labels):
                yield decided[ref]


def scope_of(
    fleet: Fleet,
    organization: str | None,
    everywhere: bool,
    cluster: str | None = None,
    labels: Requirements = (),
    owner: str | None = None,
    visible: frozenset[str] | None = None,
) -> Scope:
    """The scope that flags name. Without any: the only organization in the input, else the only one that has the
    cluster and the preset or plugin that are asked about, else `default` (S7)."""
    if organization is None and not everywhere:
        found = fleet.organizations
        only = found[0] if len(found) == 1 else _organization_of(fleet, cluster, owner)
        return scope_over([fleet], only or "default", cluster, labels, must_exist=False)
    return scope_over([fleet], None if everywhere else organization, cluster, labels, visible=visible)


def _organization_of(fleet: Fleet, cluster: str | None, owner: str | None) -> str | None:
    """The only organization that has a cluster, and a preset or plugin, of these names; None if there is not one."""
    found = set(fleet.organizations)
    if cluster is not None:
        found &= _having_cluster([fleet], cluster)
    if owner is not None:
        owners = [*fleet.snapshot.presets, *fleet.snapshot.plugins]
        # A generated plugin is named after its preset and its cluster.
        having = {ref.organization for ref in owners if f"{owner}-".startswith(f"{ref.name}-")}
        # A misspelt preset is looked for, and suggested, where its cluster is.
        found = found & having or found
    return found.pop() if len(found) == 1 else None


def _having_cluster(fleets: Sequence[Fleet], cluster: str) -> set[str]:
    """The organizations that have a cluster of this name."""
    return {ref.organization for fleet in fleets for ref in fleet.snapshot.clusters if ref.name == cluster}


def _has_cluster(fleet: Fleet, scope: Scope, cluster: str) -> bool:
    """Whether a scope has a cluster. Those that left the fleet can be asked about while something is left of them."""
    homes = [scope.organization] if scope.organization is not None else fleet.organizations
    refs = [Ref("Cluster", home, cluster) for home in homes if scope.sees(home)]
    there = any(ref in fleet.snapshot.clusters or ref in fleet.snapshot.states for ref in refs)
    return there or any(ref.name == cluster and scope.holds(ref) for ref in fleet.snapshot.states)


def scope_over(
    fleets: Sequence[Fleet],
    organization: str | None,
    cluster: str | None = None,
    labels: Requirements = (),
    must_exist: bool = True,
    visible: frozenset[str] | None = None,
) -> Scope:
    """A scope over several fleets; what it names must be in one of them."""
    scope = Scope(organization, cluster, labels, visible)
    found = sorted({name for fleet in fleets for name in fleet.organizations if scope.sees(name)})
    refs = (
        [each.ref for fleet in fleets for each in fleet.snapshot.objects] if organization == PLATFORM_NAMESPACE else []
    )
    platform = scope.sees(PLATFORM_NAMESPACE) and any(ref.organization == PLATFORM_NAMESPACE for ref in refs)
    if must_exist and organization is not None and found and organization not in found and not platform:
        hint = did_you_mean(organization, found, f"the input holds {', '.join(found)}")
        raise NotFoundError(f"there is no organization {organization} in the input", hint)
    if cluster is not None and not any(_has_cluster(fleet, scope, cluster) for fleet in fleets):
        other = other_organizations_hint(fleets[-1], scope)
        if having := sorted(filter(scope.sees, _having_cluster(fleets, cluster))):
            other = f"there is one in {', '.join(having)}: choose with -n"
        names = {ref.name for fleet in fleets for ref in fleet.snapshot.clusters if scope.holds(ref)}
        hint = other or did_you_mean(cluster, sorted(names), "see `fleetform get clusters`")
        where = f" in {organization}" if organization else ""
        raise NotFoundError(f"there is no cluster {cluster}{where}", hint)
    return scope


def other_organizations_hint(fleet: Fleet, scope: Scope, nothing_found: bool = False) -> str:
    """What to try if a scope is an organization that the input does not hold, or one that has nothing of what was
    asked for; else nothing."""
    there = [name for name in fleet.organizations if scope.sees(name)]
    others = [name for name in there if name != scope.organization]
    if scope.organization is None or not others:
        return ""
    if scope.organization not in there:
        return f"the input holds {', '.join(others)}: choose one with -n, or -A for all"
    return f"the input also holds {', '.join(others)}: choose one with -n, or -A for all" if nothing_found else ""
