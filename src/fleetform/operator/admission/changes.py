"""What a write changes: the fleet with and without it, as far as it reaches, and what is wrong that was not before.

An answer looks at some fifty plugins at the most: a change of a whole fleet is told from its first clusters, and
the control plane finds the rest when it decides. What a sample cannot prove does not refuse anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

from fleetform.app.fleet import Fleet
from fleetform.engine.check import lint_object
from fleetform.engine.check.decided import lint_claims, lint_effects_of, lint_gates, lint_owners
from fleetform.engine.check.output_cycles import lint_output_cycles
from fleetform.engine.check.quotas import lint_quota, plugins_by_organization, quota_of
from fleetform.engine.check.staged import lint_staged
from fleetform.engine.check.unresolved import lint_unresolved
from fleetform.engine.decide import PartlyDecided, decide_reached
from fleetform.engine.decisions import Decisions
from fleetform.engine.incremental.changes import say_the_same
from fleetform.engine.index.index import Index
from fleetform.model.kinds import PLATFORM_NAMESPACE
from fleetform.model.objects import At, Object, Ref
from fleetform.model.results.decisions import ClusterDecisions
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.model.snapshot import Snapshot
from fleetform.operator.admission.placing import Written, with_object

# So many plugins are decided for an answer.
MOST = 50
# Whose plugins, and which, may be others with them.
_COUNTED = ("Cluster", "Organization", "Placement", "Plugin", "PluginPreset")
_OWNERS = ("Plugin", "PluginPreset")
# What only holds where every plugin was looked at.
_OF_ALL = ("dead-override", "shadowed-override", "nothing-selected")
# What follows from the object as it was.
_OF_OLD = ("changed-without-bump",)
# Policies that a ceiling binds.
_BOUND = ("LifecyclePolicy", "RolloutPolicy")


class Change:
    """One object of a fleet as it was, and as it is to be: before is None where it is new.

    before is as the API server has it, and the fleet may know an older one.
    """

    def __init__(self, fleet: Fleet, before: Written | None, after: Object[Any]) -> None:
        self.fleet, self.before, self.after = fleet, before, after

    @cached_property
    def snapshot(self) -> Snapshot:
        return with_object(self.fleet.snapshot, self.after)

    @property
    def is_nothing(self) -> bool:
        return self.was is not None and say_the_same(self.was, self.after)

    @property
    def is_sample(self) -> bool:
        """Whether it reaches more plugins than were looked at."""
        return bool(self._decided.left)

    @property
    def was(self) -> Object[Any] | None:
        return self.before.object if self.before is not None else None

    # ---- What is decided with it and without it

    @cached_property
    def _decided(self) -> PartlyDecided:
        # Clusters with plugins made by hand come first: only there a preset can take what somebody else has.
        by_hand = {
            Ref("Cluster", ref.organization, each.spec.cluster_name or "")
            for ref, each in self.fleet.snapshot.plugins.items()
        }
        return decide_reached(self.snapshot, self.fleet.decisions, MOST, by_hand)

    @cached_property
    def decided_after(self) -> Decisions:
        """The plugins that are others with it."""
        return _differing(self._decided.decisions, self.fleet.decisions)

    @cached_property
    def decided_before(self) -> Decisions:
        """The plugins that were others without it, on the same clusters."""
        known = self.fleet.decisions.clusters
        there = {ref: known[ref] for ref in self._decided.decisions.clusters if ref in known}
        return _differing(replace(self.fleet.decisions, clusters=there), self._decided.decisions)

    @property
    def index(self) -> Index:
        return self._decided.decisions.index

    # ---- What is wrong with it

    def new_in_itself(self) -> list[Diagnostic]:
        """What is wrong with what it says, and was not with what it said before."""
        known = {_static_key(each) for each in self._static_before()}
        found = [each for each in lint_object(self.after, self.index) if _static_key(each) not in known]
        return [_of_its_own(each) for each in found]

    def depends_on_others(self, findings: Iterable[Diagnostic]) -> bool:
        """Whether nothing of what is wrong is wrong in itself: other objects could mend all of it."""
        alone = with_object(Snapshot(self.fleet.snapshot.at), self.after)
        in_itself = {_static_key(each) for each in lint_object(self.after, Index(alone))}
        return all(_static_key(each) not in in_itself and each.code not in _OF_OLD for each in findings)

    def _static_before(self) -> Iterator[Diagnostic]:
        if self.was is not None:
            yield from lint_object(self.was, self.fleet.index)

    def new_in_decisions(self) -> list[Diagnostic]:
        """What decisions show that they did not show before, about this object or another.

        Messages name clusters, and are others with each that comes or goes: a finding is known by its place.
        """
        known = {_decided_key(each) for each in _lint_decided(self.decided_before, self.after.ref)}
        found = [each for each in _lint_decided(self.decided_after, self.after.ref) if _decided_key(each) not in known]
        unproved = _OF_ALL if self.is_sample else () if self._has_plugins else ("dead-override",)
        kept = _folded(each for each in found if each.code not in unproved)
        if not self.is_sample:
            return kept
        return [replace(each, severity="warning") if each.code == "wrong-index" else each for each in kept]

    @property
    def _has_plugins(self) -> bool:
        """Whether its organization has plugins at all: while it is set up, nothing has an effect yet."""
        home, known = self.after.ref.organization, self.fleet.decisions.clusters
        return any(here.plugins for ref, here in known.items() if ref.organization == home)

    def above_quota(self) -> list[Diagnostic]:
        """An organization that gets more plugins by it than it may have; or a quota below what there is."""
        ref = self.after.ref
        object_ = self.snapshot.organizations.get(Ref("Organization", ref.organization, ref.organization))
        if ref.kind not in _COUNTED or object_ is None or quota_of(object_) is None:
            return []
        counted = plugins_by_organization(self.fleet.decisions)
        more = self._more_plugins(ref.organization)
        counted[ref.organization] += more
        was = self.was
        lowered = object_ is self.after and (was is None or quota_of(was) != quota_of(object_))
        return list(lint_quota(object_, counted)) if more > 0 or lowered else []

    def _more_plugins(self, organization: str) -> int:
        after, before = (plugins_by_organization(each) for each in (self.decided_after, self.decided_before))
        # What was not decided is counted by who selects it; who keeps a release there makes no difference in number.
        left, known = 0, self.fleet.index
        for cluster in self._decided.left:
            there = self.fleet.snapshot.clusters.get(cluster.ref)
            had = sum(1 for _ in known.owners_on(there)) if there is not None else 0
            left += sum(1 for _ in self.index.owners_on(cluster)) - had
        return after[organization] - before[organization] + left

    def lowered_for_others(self) -> list[Diagnostic]:
        """Policies that ask for more than a ceiling allows now: they are clamped, and told (R2-12)."""
        if self.after.ref.kind != "LifecyclePolicy":
            return []
        home, found = self.after.ref.organization, []
        for ref, each in self.snapshot.others.items():
            if ref.kind not in _BOUND or each is self.after or home not in (ref.organization, PLATFORM_NAMESPACE):
                continue
            known = {_static_key(one) for one in lint_object(each, self.fleet.index)}
            above = (one for one in lint_object(each, self.index) if one.code == "above-ceiling")
            found += [one for one in above if _static_key(one) not in known]
        return found

    def concerns(self, finding: Diagnostic) -> bool:
        """Whether a finding is about the object that is written."""
        places = (finding.at, *finding.related)
        return finding.object == self.after.ref or any(
            isinstance(each, At) and each.origin is self.after.origin for each in places
        )


def _of_its_own(finding: Diagnostic) -> Diagnostic:
    """Without a hint at what other organizations have: who asks may not know of them (B15)."""
    if finding.code == "missing-definition":
        return replace(finding, hint="add the definition, or fix the name")
    return finding


def _lint_decided(decisions: Decisions, ref: Ref) -> Iterator[Diagnostic]:
    """What decisions show; of what has no effect only the object itself, as a look at the whole fleet costs more."""
    yield from lint_gates(decisions)
    yield from lint_output_cycles(decisions)
    yield from lint_claims(decisions)
    yield from lint_staged(decisions)
    if ref.kind == "PluginOverride":
        override = decisions.index.snapshot.overrides.get(ref)
        yield from lint_effects_of(decisions, override) if override is not None else ()
    elif ref.kind in _OWNERS:
        beside = (*lint_unresolved(decisions), *lint_owners(decisions))
        yield from (each for each in beside if each.object == ref)


def _differing(decisions: Decisions, others: Decisions) -> Decisions:
    """Of some decisions those that others do not have: nothing is told of the rest."""
    found: dict[Ref, ClusterDecisions] = {}
    for ref, here in decisions.clusters.items():
        there = others.clusters[ref].plugins if ref in others.clusters else {}
        plugins = {name: each for name, each in here.plugins.items() if there.get(name) is not each}
        found[ref] = ClusterDecisions(here.cluster, plugins, here.claims)
    return replace(decisions, clusters=found)


def _folded(findings: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Findings that differ in their clusters alone are one: the first, and how many there are more."""
    alike: dict[tuple[object, ...], list[Diagnostic]] = {}
    for each in findings:
        alike.setdefault((*_decided_key(each), each.severity), []).append(each)
    return [
        replace(first, message=f"{first.message} (and {len(more)} more like this)") if more else first
        for first, *more in alike.values()
    ]


def _static_key(finding: Diagnostic) -> tuple[object, ...]:
    return finding.code, finding.object, finding.path, finding.message


def _decided_key(finding: Diagnostic) -> tuple[object, ...]:
    return finding.code, finding.object, finding.path
