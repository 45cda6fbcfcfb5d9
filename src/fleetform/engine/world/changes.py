"""Changes: what each owner wants now, as a plan takes it; one Change per owner, made when it is asked for.

An owner is a preset or a Plugin made by hand; a group with a policy of its own is an owner for itself, named
`<preset>/<group>`. What a pass before has made is taken over as it is if nothing that it depends on is another, so that
after one event one Change is made anew and all others are the same objects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from msgspec import structs

from fleetform.engine.decisions import Decisions
from fleetform.engine.desired import Inputs
from fleetform.engine.plan.policy import limits_of
from fleetform.engine.plan.records import Approval, Candidate, Change, ClusterFacts, Limits, World
from fleetform.engine.plan.rollouts import Policy, Rollout, rollout_name
from fleetform.engine.versions.lifecycle import Lifecycle, lifecycle_of
from fleetform.engine.world.candidate import Candidates, Facts
from fleetform.engine.world.consent import (
    NO_AUTHORS,
    Authors,
    Consents,
    Persons,
    asks_for_others,
    authors_of,
    emergency_of,
    organization_of,
)
from fleetform.engine.world.contents import ContentHashes, change_id, digest
from fleetform.engine.world.opening import Openings
from fleetform.engine.world.removals import removals_of, unwanted
from fleetform.engine.world.staging import Staging, Stagings
from fleetform.engine.world.stored import NOTHING_STORED, Contents, OwnerRequest, Stored
from fleetform.model.kinds import PLATFORM_NAMESPACE
from fleetform.model.kinds.lifecycle import LifecyclePolicySpec
from fleetform.model.kinds.preset import OwnerSpec, PresetGroup
from fleetform.model.objects import AnyObject, Object, Ref
from fleetform.model.results.decisions import ClusterDecisions, PluginDecision, PluginKey
from fleetform.model.snapshot import Snapshot
from fleetform.model.state import UNKNOWN, Deployed, PluginState

# A plugin at another version than the one that is wanted, decided with what is written now; None: nobody can tell.
AtVersion = Callable[[PluginDecision, str], PluginDecision | None]
_KINDS_OF_CONTEXT = frozenset({"RolloutPolicy", "UpdateWindow", "LifecyclePolicy", "Approval"})


class _Part(NamedTuple):
    """An owner, or a group of it that moves by itself."""

    owner: Object[Any]
    group: PresetGroup | None

    @property
    def ref(self) -> Ref:
        ref = self.owner.ref
        return ref if self.group is None else ref._replace(name=f"{ref.name}/{self.group.name}")


class _Plugins(NamedTuple):
    """An owner's plugins, what is stored of each, their clusters, and what else is there if that matters."""

    plugins: list[PluginDecision]
    states: list[PluginState]
    facts: list[ClusterFacts]
    beside: list[ClusterDecisions]


class _Made(NamedTuple):
    """A Change, and all that it was made of."""

    change: Change
    contents: Mapping[str, str]
    made_of: tuple[Any, ...]
    plugins: _Plugins
    candidates: list[Candidate]
    elsewhere: Mapping[str, str | None]


class _Earlier(NamedTuple):
    """What a pass leaves to the next one."""

    made: Mapping[Ref, _Made] = {}
    contexts: Mapping[str, _Context] = {}
    world: World | None = None
    unwanted: frozenset[PluginKey] | None = None


class OwnerChanges:
    """The changes of all owners of one pass.

    before only saves work: the answer does not depend on it. at_version decides a plugin at an older version, for
    clusters that join before a rollout has reached their stage (B21). authors are those who made files what they are.
    """

    def __init__(
        self,
        decisions: Decisions,
        inputs: Inputs,
        stored: Stored = NOTHING_STORED,
        before: OwnerChanges | None = None,
        at_version: AtVersion | None = None,
        authors: Authors = NO_AUTHORS,
    ) -> None:
        self.decisions, self.inputs, self.stored = decisions, inputs, stored
        self.snapshot: Snapshot = decisions.index.snapshot
        self._at_version, self._authors = at_version, authors
        # The parts of the pass before, and not the pass: that would keep all passes before it, too.
        self._earlier: _Earlier = before._handed_on() if before is not None else _Earlier()
        self._hashes: ContentHashes = ContentHashes(self.snapshot, before._hashes if before is not None else None)
        self._facts: Facts = Facts(stored.silent_since, before._facts if before is not None else None)
        self._contexts: dict[str, _Context] = {}
        self._made: dict[Ref, _Made] = {}
        self._world: World | None = None
        self.states: Mapping[PluginKey, PluginState] = before.states if before is not None else {}
        changed: set[PluginKey] = set()
        if before is None or before.snapshot.states is not self.snapshot.states:
            self.states, changed = _flat_states(self.snapshot, before)
        # Owners that something new reaches; None: any of them may be.
        self._touched: set[Object[Any]] | None = None
        self._plugins: dict[Ref, tuple[_Part, list[PluginDecision]]]
        if before is not None and before.decisions.clusters is decisions.clusters:
            self._plugins = before._plugins
            if before.stored.silent_since == stored.silent_since:
                self._touched = {plugin.target.owner for key in changed for plugin in self._named(key)}
        else:
            self._plugins = self._by_part()
        self._unwanted = self._find_unwanted(changed)

    def _handed_on(self) -> _Earlier:
        return _Earlier(self._made, self._contexts, self._world, self._unwanted)

    def _named(self, key: PluginKey) -> list[PluginDecision]:
        """What is decided of a plugin, if anybody wants it."""
        here = self.decisions.clusters.get(Ref("Cluster", key[0], key[1]))
        candidates = here.candidates if here is not None else []
        return [each for each in candidates if each.name == key[2]]

    def _find_unwanted(self, changed: set[PluginKey]) -> frozenset[PluginKey]:
        """Plugins that are stored and that nobody wants."""
        known = self._earlier.unwanted
        if known is None or self._touched is None:
            return frozenset(unwanted(self.decisions, self.states))
        return known - changed | frozenset(
            unwanted(self.decisions, {key: self.states.get(key, UNKNOWN) for key in changed})
        )

    @property
    def owners(self) -> list[Ref]:
        return list(self._plugins)

    def change(self, owner: Ref) -> Change:
        """What one owner wants now."""
        return self._of(owner).change

    def contents(self, owner: Ref) -> Mapping[str, str]:
        """What an owner's plugins are made of now: what is remembered once it is admitted (stored.objects_after)."""
        return self._of(owner).contents

    def world(self, complete: bool = True) -> World:
        """Everything that a plan depends on. complete: all was loaded, so that absence means gone (B22)."""
        changes = tuple(self.change(owner) for owner in self._plugins)
        limits = {name: self._context(name).limits for name in self._organizations()}
        found = World(changes, self.states, removals_of(self, self._unwanted), limits, complete)
        before = self._earlier.world
        self._world = before if before is not None and _same_world(before, found) else found
        return self._world

    @property
    def forgotten(self) -> list[PluginKey]:
        """Plugins that nobody wants and that were never installed: nothing is left to be known of them."""
        return sorted(key for key in self._unwanted if self.states[key].admitted is None)

    # ---- One owner

    def _of(self, owner: Ref) -> _Made:
        found = self._made.get(owner)
        if found is None:
            part, plugins = self._plugins[owner]
            found = self._made[owner] = self._make(part, plugins)
        return found

    def _make(self, part: _Part, plugins: list[PluginDecision]) -> _Made:
        context, ref = self._context(part.owner.ref.organization), part.ref
        staging = context.staging(part)
        rollouts = self.stored.rollouts.get(ref, ())
        request = self.stored.requests.get(ref, OwnerRequest())
        admitted = self.stored.admitted.get(ref)
        # Whatever a Change follows from, so that it is made again if any of it is another.
        asks = _asks_for_others(staging.policy, rollouts, part.owner.spec, request)
        made_of = (part.owner, context.key, rollouts, request, admitted, _Same(self._authors if asks else None))
        known = self._earlier.made.get(ref)
        if known is not None and (known.made_of != made_of or not self._is_elsewhere(known.elsewhere)):
            known = None
        if known is not None and self._touched is not None and part.owner not in self._touched:
            return known
        states = [self.states.get(each.key, UNKNOWN) for each in plugins]
        facts = [self._facts.of(each.cluster) for each in plugins]
        beside = [self.decisions.clusters[each.cluster.ref] for each in plugins if _has_dependencies(each)]
        plugins_now = _Plugins(plugins, states, facts, beside)
        if known is not None and known.plugins == plugins_now:
            return known
        earlier = self._earlier.made.get(ref)
        made = self._candidates(part, context, staging, plugins_now, earlier)
        candidates = self._with_baselines(context, plugins, made, states)
        objects = self._objects(part.owner, plugins, states)
        contents = self._hashes.contents(objects)
        base = admitted.objects if admitted is not None else {}
        change = self._change(part, context, staging, candidates, contents, rollouts, request, base)
        if asks:
            made_by = authors_of(self._hashes.differing(objects, base), self._authors, context.persons)
            change = structs.replace(change, authors=made_by)
        elsewhere = {each: self._hashes.now(each) for each in base if each not in contents}
        return _Made(change, contents, made_of, plugins_now, made, elsewhere)

    def _candidates(
        self, part: _Part, context: _Context, staging: Staging, now: _Plugins, earlier: _Made | None
    ) -> list[Candidate]:
        """A candidate for each plugin; of the pass before those of which nothing is another."""
        opening = context.openings.of(part.owner, now.plugins[0].target.definition)
        known: dict[PluginDecision, tuple[PluginState, ClusterFacts, Candidate]] = {}
        # What plugins of other owners are beside them is told for all of them at once.
        if earlier is not None and earlier.made_of[:2] == (part.owner, context.key) and not now.beside:
            then = earlier.plugins
            triples = zip(then.states, then.facts, earlier.candidates, strict=True)
            known = dict(zip(then.plugins, triples, strict=True))
        found = []
        for plugin, state, cluster in zip(now.plugins, now.states, now.facts, strict=True):
            same = known.get(plugin)
            if same is not None and same[0] is state and same[1] is cluster:
                found.append(same[2])
            else:
                found.append(context.candidates.candidate(plugin, state, cluster, staging, opening))
        return found

    def _is_elsewhere(self, known: Mapping[str, str | None]) -> bool:
        """Whether objects that no longer reach the owner are as they were."""
        return all(self._hashes.now(identity) == then for identity, then in known.items())

    def _change(
        self,
        part: _Part,
        context: _Context,
        staging: Staging,
        candidates: list[Candidate],
        contents: Mapping[str, str],
        rollouts: tuple[Rollout, ...],
        request: OwnerRequest,
        base: Contents,
    ) -> Change:
        ref, spec = part.ref, part.owner.spec
        last = rollouts[-1] if rollouts else None
        earlier = rollouts[:-1]
        policy = context.persons.of_policy(staging.policy)
        name = change_id(self._hashes, base, contents, rollouts, candidates, self.states)
        used = frozenset(each.name for each in earlier)
        upgrades = spec.upgrades
        return Change(
            ref,
            name,
            tuple(candidates),
            policy,
            last,
            used,
            self._approvals(context, ref, name, policy, last, used),
            # Those who made it are looked up only where it matters: that reads the history of a repository.
            frozenset(),
            emergency_of(upgrades.emergency if upgrades is not None else None, request.emergency, context.persons),
            request.supersede == name,
            spec.suspend,
            frozenset(each.change_id for each in earlier if each.rejected),
            digest(contents),
        )

    def _approvals(
        self, context: _Context, owner: Ref, change: str, policy: Policy, last: Rollout | None, used: frozenset[str]
    ) -> tuple[Approval, ...]:
        """Of the rollout that runs, by the policy that it started with; and of the one that comes next."""
        found: list[Approval] = []
        if last is not None:
            kept = last.policy if last.is_open and last.started is not None else policy
            found += context.consents.of(last.name, kept.digest)
            used = used | {last.name}
        found += context.consents.of(rollout_name(owner.name, change, used), policy.digest)
        return tuple(found)

    def _objects(
        self, owner: Object[OwnerSpec], plugins: list[PluginDecision], states: list[PluginState]
    ) -> set[AnyObject]:
        """The objects that reach an owner's plugins. What reaches only clusters that join makes no other change."""
        found: set[AnyObject] = {owner}
        installed = [each for each, state in zip(plugins, states, strict=True) if state.admitted is not None]
        wanted = [each.upgrade or each for each in installed or plugins]
        for shared in {each.shared for each in wanted}:
            found.update(shared.overrides)
            found.update(each.config for each in shared.configs.effective if each.config is not None)
        found.update(each.object for each in {each.target.revision for each in wanted} if each is not None)
        found.update(each.instance for each in wanted if each.instance is not None)
        compiled = self.decisions.index.owners.get(owner)
        if compiled is not None and compiled.program is not None and any(True for _ in compiled.program.references):
            for plugin in wanted:
                sources = [each.source for each in self.inputs.bound(plugin)]
                found.update(each for each in sources if each is not None and each.ref.kind != "Cluster")
        return found

    def _with_baselines(
        self,
        context: _Context,
        plugins: list[PluginDecision],
        candidates: list[Candidate],
        states: list[PluginState],
    ) -> list[Candidate]:
        """New clusters with what their stage has admitted: the version that most of its clusters run (B21)."""
        new = [index for index, state in enumerate(states) if state.admitted is None]
        if not new or len(new) == len(states) or self._at_version is None:
            return candidates
        by_stage: dict[str | None, Counter[Deployed]] = {}
        everywhere: Counter[Deployed] = Counter()
        for candidate, state in zip(candidates, states, strict=True):
            if state.admitted is not None:
                runs = Deployed(state.admitted.version, state.admitted.definition)
                by_stage.setdefault(candidate.stage, Counter())[runs] += 1
                everywhere[runs] += 1
        found = list(candidates)
        for index in new:
            candidate = candidates[index]
            runs = _most_common(by_stage.get(candidate.stage, everywhere))
            other = runs.definition is not None and runs.definition != candidate.wanted.definition
            if runs.version in (None, candidate.wanted.version) or other:
                continue
            older = self._at_version(plugins[index], runs.version or "")
            if older is not None and not older.gates:
                found[index] = structs.replace(candidate, baseline=context.candidates.deployed(older))
        return found

    # ---- All owners

    def _by_part(self) -> dict[Ref, tuple[_Part, list[PluginDecision]]]:
        """Plugins by their owner, or by the group of it that moves by itself, in order of clusters."""
        groups = MovingGroups(self.decisions)
        by_owner: dict[Object[Any], list[PluginDecision]] = {}
        for here in self.decisions.clusters.values():
            for plugin in here.plugins.values():
                owner = plugin.target.owner
                known = by_owner.get(owner)
                if known is None:
                    by_owner[owner] = [plugin]
                else:
                    known.append(plugin)
            for claim in here.claims:
                # What another owner keeps is told of those that lose it, unless the name alone is what they want.
                if claim.candidate.name not in here.plugins:
                    by_owner.setdefault(claim.candidate.target.owner, []).append(claim.plugin)
        found: dict[Ref, tuple[_Part, list[PluginDecision]]] = {}
        for owner, plugins in by_owner.items():
            if not groups.has_any(owner):
                found[owner.ref] = _Part(owner, None), plugins
                continue
            for plugin in plugins:
                part = _Part(owner, groups.of(plugin))
                found.setdefault(part.ref, (part, []))[1].append(plugin)
        return dict(sorted(found.items(), key=lambda pair: (pair[0].organization, pair[0].name, pair[0].kind)))

    def _organizations(self) -> list[str]:
        return sorted({ref.organization for ref in (*self._plugins, *self.snapshot.states)})

    def _context(self, organization: str) -> _Context:
        found = self._contexts.get(organization)
        if found is None:
            before = self._earlier.contexts.get(organization)
            found = _Context(self.decisions, self.inputs, self.stored, organization, self._authors)
            if before is not None and before.key == found.key:
                found.take_over(before)
            self._contexts[organization] = found
        return found

    # ---- For removals

    def change_of(self, owner: Ref) -> Change | None:
        return self.change(owner) if owner in self._plugins else None

    def contents_of(self, object_: AnyObject) -> str:
        return self._hashes.of(object_)

    def facts_of(self, cluster: Object[Any]) -> ClusterFacts:
        return self._facts.of(cluster)

    def openings_of(self, organization: str) -> Openings:
        return self._context(organization).openings

    def consents_of(self, organization: str) -> Consents:
        return self._context(organization).consents


def _most_common(found: Counter[Deployed]) -> Deployed:
    return min(found, key=lambda each: (-found[each], str(each.version)))


def _asks_for_others(policy: Policy, rollouts: tuple[Rollout, ...], spec: OwnerSpec, request: OwnerRequest) -> bool:
    """Whether it matters who made a change: people who did not must agree, to a stage or to an emergency."""
    kept = [each.policy for each in rollouts[-1:] if each.is_open]
    declared = request.emergency or (spec.upgrades.emergency if spec.upgrades is not None else None)
    return declared is not None or any(map(asks_for_others, (policy, *kept)))


def _has_dependencies(plugin: PluginDecision) -> bool:
    revision = (plugin.upgrade or plugin).target.revision
    return bool(plugin.target.owner.spec.wait_for or (revision is not None and revision.object.spec.depends_on))


def _flat_states(
    snapshot: Snapshot, before: OwnerChanges | None
) -> tuple[Mapping[PluginKey, PluginState], set[PluginKey]]:
    """What is stored of each plugin, by its key, and which of it is another than in the pass before."""
    earlier = before.snapshot.states if before is not None else {}
    found: dict[PluginKey, PluginState] = dict(before.states) if before is not None else {}
    changed: set[PluginKey] = set()
    gone = [ref for ref in earlier if ref not in snapshot.states]
    for ref, on_cluster in (*snapshot.states.items(), *((each, {}) for each in gone)):
        known = earlier.get(ref, {})
        if known is on_cluster:
            continue
        for name in (*on_cluster, *(each for each in known if each not in on_cluster)):
            key, state = (ref.organization, ref.name, name), on_cluster.get(name)
            if state is not known.get(name):
                changed.add(key)
                if state is not None:
                    found[key] = state
                else:
                    del found[key]
    return found, changed


def _same_world(one: World, other: World) -> bool:
    """Whether two worlds are made of the very same parts."""
    return (
        one.states is other.states
        and one.complete == other.complete
        and len(one.changes) == len(other.changes)
        and all(mine is theirs for mine, theirs in zip(one.changes, other.changes, strict=True))
        and one.limits == other.limits
        and one.removals == other.removals
    )


class MovingGroups:
    """Groups of presets that have a policy or a strategy of their own, and the clusters in them."""

    def __init__(self, decisions: Decisions) -> None:
        self._index = decisions.index
        self._groups: dict[Object[Any], dict[str, PresetGroup]] = {}

    def has_any(self, owner: Object[Any]) -> bool:
        groups: list[PresetGroup] = getattr(owner.spec, "groups", None) or []
        return any(each.rollout is not None or each.rollout_strategy is not None for each in groups)

    def of(self, plugin: PluginDecision) -> PresetGroup | None:
        """The group that a plugin moves with: of several the last, as for all that groups say (S1, R1-17)."""
        owner = plugin.target.owner
        if owner not in self._groups:
            self._groups[owner] = self._clusters(owner)
        return self._groups[owner].get(plugin.cluster.ref.name)

    def _clusters(self, owner: Object[Any]) -> dict[str, PresetGroup]:
        compiled = self._index.owners[owner]
        selection = self._index.selection(owner.ref.organization)
        written = {each.name: each for each in owner.spec.groups or ()}
        found: dict[str, PresetGroup] = {}
        for group in compiled.groups:
            moves = written[group.name]
            by_itself = moves.rollout is not None or moves.rollout_strategy is not None
            for cluster in selection.clusters_in(compiled, group):
                if by_itself:
                    found[cluster.ref.name] = moves
                elif compiled.placed_by_groups:
                    found.pop(cluster.ref.name, None)
        return found


class _Context:
    """What all owners of an organization have in common: its people, policies and windows, each compiled once.

    key is what it was made of: while that is the same, what it has compiled may be taken over.
    """

    def __init__(
        self, decisions: Decisions, inputs: Inputs, stored: Stored, organization: str, authors: Authors
    ) -> None:
        snapshot = decisions.index.snapshot
        homes = (PLATFORM_NAMESPACE, organization)
        policies = [
            each for ref, each in snapshot.others.items() if ref.kind in _KINDS_OF_CONTEXT and ref.organization in homes
        ]
        self.key = (
            snapshot.organizations.get(Ref("Organization", organization, organization)),
            policies,
            decisions.index.placements if decisions.index.placements.objects else None,
            snapshot.announced,
            _Same(inputs.transforms),
            tuple(each for each in stored.approvals if each.organization == organization),
            _Same(authors if any(each.ref.kind == "Approval" for each in policies) else None),
        )
        lifecycles = [snapshot.others.get(Ref("LifecyclePolicy", home, "default")) for home in homes]
        platform, own = (
            each.spec if each is not None and isinstance(each.spec, LifecyclePolicySpec) else None
            for each in lifecycles
        )
        self.lifecycle: Lifecycle = lifecycle_of(platform, own)
        self.limits: Limits = limits_of(platform, own)
        self.persons = Persons(organization_of(snapshot, organization))
        self.candidates = Candidates(decisions, inputs, self.lifecycle)
        self.consents = Consents(snapshot, organization, stored.approvals, self.persons, authors)
        self._stagings = Stagings(snapshot, decisions.index.placements, organization, self.lifecycle)
        self.openings = Openings(snapshot, organization)

    def take_over(self, before: _Context) -> None:
        """What depends on nothing but the key. Candidates are of one pass: they read its decisions."""
        self.key, self.limits = before.key, before.limits
        self._stagings, self.openings, self.consents = before._stagings, before.openings, before.consents

    def staging(self, part: _Part) -> Staging:
        own = self._stagings.of_group(part.owner, part.group) if part.group is not None else None
        return own if own is not None else self._stagings.of(part.owner)


class _Same:
    """Compares by identity: what is in it is looked at by nobody before it is needed."""

    def __init__(self, thing: object) -> None:
        self._thing = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other._thing is self._thing

    def __hash__(self) -> int:
        return id(self._thing)
