"""Removals: plugins that are installed, as far as is stored, and that nobody wants any more (B22, B23).

A cluster that left the fleet wants nothing any more. What was delivered for it goes as it does elsewhere: only the
cluster's own words (labels, clock, hold) are gone with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple, Protocol

from msgspec import structs

from fleetform.engine.decisions import Decisions
from fleetform.engine.plan.gates.deletes import STAGE, most_deletes
from fleetform.engine.plan.records import Approval, Change, ClusterFacts, Limits, Removal
from fleetform.engine.plan.rollouts import Policy, rollout_name
from fleetform.engine.world.consent import Consents, Persons, authors_of
from fleetform.engine.world.contents import name_of_removal
from fleetform.engine.world.opening import Openings
from fleetform.engine.world.stored import Contents
from fleetform.model.authors import Authors
from fleetform.model.kinds import PLATFORM_NAMESPACE
from fleetform.model.kinds.base import Metadata
from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.objects import AnyObject, Object, Origin, Ref
from fleetform.model.results.decisions import ClusterDecisions, PluginKey
from fleetform.model.snapshot import Snapshot
from fleetform.model.state import UNKNOWN, Deployed, PluginState
from fleetform.syntax.names import generated_name


class Owners(Protocol):
    """What is asked about the owners of a pass."""

    decisions: Decisions
    snapshot: Snapshot
    authors: Authors
    states: Mapping[PluginKey, PluginState]

    def change_of(self, owner: Ref) -> Change | None: ...
    def contents_of(self, object_: AnyObject) -> str: ...
    def facts_of(self, cluster: Object[Any]) -> ClusterFacts: ...
    def openings_of(self, organization: str) -> Openings: ...
    def consents_of(self, organization: str) -> Consents: ...
    def persons_of(self, organization: str) -> Persons: ...
    def admitted_of(self, owner: Ref) -> Contents: ...
    def is_as_admitted(self, owner: Object[Any]) -> bool: ...


def removals_of(changes: Owners, keys: Iterable[PluginKey], limits: Mapping[str, Limits]) -> tuple[Removal, ...]:
    """A removal for each plugin that nobody wants, in order."""
    found = []
    for key in sorted(keys):
        admitted = changes.states[key].admitted
        if admitted is not None:
            found.append(_removal(changes, key, admitted))
    return tuple(_with_authors(changes, found, limits)) if found else ()


def unwanted(decisions: Decisions, states: Mapping[PluginKey, PluginState]) -> Iterator[PluginKey]:
    """Plugins of which something is stored and that no owner names; all of those on a cluster that left the fleet."""
    for key, state in states.items():
        if state is UNKNOWN:
            continue
        here = decisions.clusters.get(Ref("Cluster", key[0], key[1]))
        if here is None or (key[2] not in here.plugins and all(key[2] != c.candidate.name for c in here.claims)):
            yield key


@cache
def _left(cluster: Ref) -> ClusterDecisions:
    """A cluster that is not in the fleet any more; the same object each time, as what is made of it is compared so."""
    return ClusterDecisions(Object(cluster, Metadata(cluster.name), ClusterSpec(), Origin("", 0, 0)), {})


def _removal(changes: Owners, key: PluginKey, admitted: Deployed) -> Removal:
    organization, cluster = key[0], Ref("Cluster", key[0], key[1])
    left = cluster not in changes.decisions.clusters
    here = _left(cluster) if left else changes.decisions.clusters[cluster]
    owner = owner_of(changes.decisions, key, admitted)
    snapshot = changes.snapshot
    object_: Object[Any] | None = snapshot.presets.get(owner) or snapshot.plugins.get(owner)
    change = changes.change_of(owner)
    if change is not None:
        change_id, policy, last = change.change_id, change.policy, change.rollout
        open_ = last is not None and last.is_open and last.change_id == change_id
        used = change.used | {last.name} if last is not None else change.used
        name = last.name if open_ and last is not None else rollout_name(owner.name, change_id, used)
    else:
        now = changes.contents_of(object_) if object_ is not None else None
        change_id, policy = name_of_removal(owner, now, changes.admitted_of(owner)), Policy()
        name = rollout_name(owner.name, change_id)
    retain = object_.spec.deletion_policy == "Retain" if object_ is not None else _retains(admitted)
    handed_to = _handed_to(admitted, here)
    definition = admitted.definition or ""
    openings = changes.openings_of(organization)
    opening = openings.of(object_, definition) if object_ is not None else openings.of_nobody(definition)
    attempt = changes.states[key].attempt
    since = attempt.started if attempt is not None else None
    approvals = changes.consents_of(organization).of(name, policy.digest)
    return Removal(
        key,
        owner,
        change_id,
        ClusterFacts(*key[:2]) if left else changes.facts_of(here.cluster),
        retain or bool(handed_to),
        _dependents(changes, key, definition, here),
        opening.on(here.cluster),
        name,
        policy.digest,
        # One that was given before this was installed was about what was installed then, and is used up.
        tuple(each for each in approvals if each.stage == STAGE and not _is_older(each, since)),
        cluster_left=left,
        handed_to=handed_to,
    )


def _is_older(approval: Approval, since: datetime | None) -> bool:
    return approval.at is not None and since is not None and approval.at < since


def _with_authors(changes: Owners, removals: list[Removal], limits: Mapping[str, Limits]) -> list[Removal]:
    """With those who made them, where somebody who did not must agree (R2-32, S47): that reads the history of a
    repository."""
    counts = Counter(each.key[0] for each in removals if not each.retain)
    installed = Counter(key[0] for key, state in changes.states.items() if state.admitted is not None)
    asking = {
        name
        for name, count in counts.items()
        if limits[name].deletes_approval.not_author and count > most_deletes(limits[name], installed[name])
    }
    made_by = {each.key: _made_by(changes, each) for each in removals if each.key[0] in asking and not each.retain}
    gone = {ref for causes in made_by.values() for ref in causes.gone}
    removers = changes.authors.removers(gone) if gone else {}
    found = []
    for each in removals:
        causes = made_by.get(each.key)
        if causes is not None:
            persons = changes.persons_of(each.key[0])
            known = persons.names(removers[ref] for ref in causes.gone if removers.get(ref))
            each = structs.replace(each, authors=known | authors_of(causes.edited, changes.authors, persons))
        found.append(each)
    return found


class _Causes(NamedTuple):
    """The objects by which a plugin is no longer wanted: those that say something else now, and those that are gone."""

    edited: tuple[AnyObject, ...] = ()
    gone: tuple[Ref, ...] = ()


def _made_by(changes: Owners, removal: Removal) -> _Causes:
    """Its cluster or its owner is gone, or the owner says something else; if not, the cluster or a placement does."""
    snapshot, cluster = changes.snapshot, Ref("Cluster", *removal.key[:2])
    owner: Object[Any] | None = snapshot.presets.get(removal.owner) or snapshot.plugins.get(removal.owner)
    if cluster not in snapshot.clusters:
        return _Causes(gone=(cluster,))
    if owner is None:
        return _Causes(gone=(removal.owner,))
    if not changes.is_as_admitted(owner):
        return _Causes((owner,))
    spec = owner.spec
    placed = [getattr(spec, "placement", None), *(each.placement for each in getattr(spec, "groups", None) or ())]
    named = [Ref("Placement", owner.ref.organization, each.name) for each in placed if each is not None]
    placements = [snapshot.others[ref] for ref in named if ref in snapshot.others]
    return _Causes((snapshot.clusters[cluster], *placements), tuple(ref for ref in named if ref not in snapshot.others))


def owner_of(decisions: Decisions, key: PluginKey, admitted: Deployed) -> Ref:
    """Who installed a plugin, as it was stored; else by its name."""
    if admitted.installer is not None:
        return admitted.installer.owner
    organization, cluster, name = key
    for ref in decisions.index.snapshot.presets:
        if ref.organization == organization and generated_name(ref.name, cluster) == name:
            return ref
    preset = name.removesuffix(f"-{cluster}")
    return Ref("PluginPreset", organization, preset) if preset != name else Ref("Plugin", organization, name)


def _retains(admitted: Deployed) -> bool:
    return admitted.installer is not None and admitted.installer.retain


def _handed_to(admitted: Deployed, here: ClusterDecisions) -> str:
    """The plugin that has the same release now, and takes over what is installed (B23); "" if none does."""
    by = admitted.installer
    if by is None:
        return ""
    release = (by.release_namespace, by.release_name)
    targets = ((name, each.target) for name, each in here.plugins.items())
    return next((name for name, to in targets if (to.release_namespace, to.release_name) == release), "")


def _dependents(changes: Owners, key: PluginKey, definition: str, here: ClusterDecisions) -> tuple[str, ...]:
    """Installed plugins of the cluster whose definition depends on this one: they go first."""
    organization = key[0]
    definitions = changes.decisions.index.definitions
    found = []
    for name, state in (changes.snapshot.states.get(here.cluster.ref) or {}).items():
        admitted = state.admitted
        if admitted is None or admitted.definition is None or name == key[2]:
            continue
        for home in (organization, PLATFORM_NAMESPACE):
            revision = definitions.versions_of((home, admitted.definition)).get(admitted.version or "")
            named = revision.object.spec.depends_on if revision is not None else None
            if any(each.name == definition for each in named or ()):
                found.append(name)
                break
    return tuple(sorted(found))
