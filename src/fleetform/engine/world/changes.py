"""Changes: what each owner wants now, as a plan takes it; one Change per owner, made when it is asked for.

An owner is a preset or a Plugin made by hand; a group with a policy of its own is an owner for itself, named
`<preset>/<group>`. What a pass before has made is taken over as it is if nothing that it depends on is another, so that
after one event one Change is made anew and all others are the same objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from msgspec import structs

from fleetform.engine.decisions import Decisions
from fleetform.engine.desired import Inputs
from fleetform.engine.index.differences import changed_keys
from fleetform.engine.plan.records import Approval, Candidate, Change, ClusterFacts, World
from fleetform.engine.plan.rollouts import Policy, Rollout, is_of_any, rollout_name
from fleetform.engine.world.candidate import Facts
from fleetform.engine.world.consent import Consents, Persons, asks_for_others, authors_of, emergency_of
from fleetform.engine.world.contents import ContentHashes, change_id, differing_objects, digest
from fleetform.engine.world.context import Context, Same
from fleetform.engine.world.joining import Joiners, Joining, OnSide, Redecide
from fleetform.engine.world.made_of import objects_of
from fleetform.engine.world.opening import Openings
from fleetform.engine.world.parts import Part, PartPlugins, plugins_again, plugins_by_part
from fleetform.engine.world.plugin_states import flat_states
from fleetform.engine.world.removals import removals_of, unwanted
from fleetform.engine.world.rows import Rows, Surrounding, rows_of
from fleetform.engine.world.sides import NOTHING_KEPT, KeptObjects
from fleetform.engine.world.staging import Staging
from fleetform.engine.world.stored import NOTHING_STORED, Contents, OwnerRequest, Stored
from fleetform.model.authors import NO_AUTHORS, Authors
from fleetform.model.kinds.preset import OwnerSpec
from fleetform.model.objects import AnyObject, Object, Ref
from fleetform.model.results.decisions import PluginDecision, PluginKey
from fleetform.model.snapshot import Snapshot
from fleetform.model.state import UNKNOWN, PluginState
from fleetform.syntax.hashing import as_written


class _Made(NamedTuple):
    """A Change, and all that it was made of."""

    change: Change
    contents: Mapping[str, str]
    made_of: tuple[Any, ...]
    rows: Rows
    elsewhere: Mapping[str, str | None]
    joiners: Mapping[PluginKey, tuple[OnSide, ...]]


class _Earlier(NamedTuple):
    """What a pass leaves to the next one."""

    made: Mapping[Ref, _Made] = {}
    contexts: Mapping[str, Context] = {}
    world: World | None = None
    unwanted: frozenset[PluginKey] | None = None


class OwnerChanges:
    """The changes of all owners of one pass.

    before only saves work: the answer does not depend on it. authors are those who made files what they are. redecide
    and kept, objects that are others by now, are for clusters that join while a rollout runs (B21). unrendered are
    plugins that could not be rendered a moment ago.
    """

    def __init__(
        self,
        decisions: Decisions,
        inputs: Inputs,
        stored: Stored = NOTHING_STORED,
        before: OwnerChanges | None = None,
        redecide: Redecide | None = None,
        authors: Authors = NO_AUTHORS,
        kept: KeptObjects = NOTHING_KEPT,
        unrendered: Iterable[PluginKey] = (),
    ) -> None:
        self.decisions, self.inputs, self.stored = decisions, inputs, stored
        self.snapshot: Snapshot = decisions.index.snapshot
        self._redecide, self._kept, self.authors = redecide, kept, authors
        self._unrendered = frozenset(unrendered)
        # The parts of the pass before, and not the pass: that would keep all passes before it, too.
        self._earlier: _Earlier = before._handed_on() if before is not None else _Earlier()
        self.hashes: ContentHashes = ContentHashes(self.snapshot, before.hashes if before is not None else None)
        self._facts: Facts = Facts(stored.silent_since, before._facts if before is not None else None)
        self._contexts: dict[str, Context] = {}
        self._made: dict[Ref, _Made] = {}
        self._world: World | None = None
        self.states: Mapping[PluginKey, PluginState] = before.states if before is not None else {}
        changed: set[PluginKey] = set()
        if before is None or before.snapshot.states is not self.snapshot.states:
            then = before.snapshot.states if before is not None else {}
            self.states, changed = flat_states(self.snapshot.states, then, self.states)
        # Owners that something new reaches; None: any of them may be.
        self._touched: set[Object[Any]] | None = None
        # Their plugins that are decided anew or of which something else is stored.
        # In order of clusters where they are many: what belongs together in memory is met together.
        self._moved: Iterable[PluginKey] = ()
        self._plugins: dict[Ref, PartPlugins]
        moved = changed_keys(decisions.clusters, before.decisions.clusters) if before is not None else []
        again = plugins_again(decisions, before.decisions, before._plugins, moved) if before is not None else None
        if before is not None and again is not None:
            self._plugins, self._moved = again.plugins, dict.fromkeys((*again.anew, *changed))
            if before.stored.silent_since == stored.silent_since:
                self._touched = again.touched | {plugin.target.owner for key in changed for plugin in self._named(key)}
        else:
            self._plugins = plugins_by_part(decisions)
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

    def on_other_sides(self, key: PluginKey) -> tuple[OnSide, ...]:
        """How a plugin of a cluster that joins was decided beside what is wanted."""
        plugins = self._named(key)
        parts = [owner for owner in self._plugins if plugins and _is_of(owner, plugins[0].target.owner.ref)]
        return next((found for each in parts if (found := self._of(each).joiners.get(key))), ())

    def world(self, complete: bool = True) -> World:
        """Everything that a plan depends on. complete: all was loaded, so that absence means gone (B22)."""
        changes = tuple(self.change(owner) for owner in self._plugins)
        limits = {name: self._context(name).limits for name in self._organizations()}
        removals = removals_of(self, self._unwanted, limits)
        found = World(changes, self.states, removals, limits, complete, self._unrendered)
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

    def _make(self, part: Part, plugins: Mapping[PluginKey, PluginDecision]) -> _Made:
        context, ref = self._context(part.owner.ref.organization), part.ref
        staging = context.staging(part)
        rollouts = self.stored.rollouts.get(ref, ())
        request = self.stored.requests.get(ref, OwnerRequest())
        admitted = self.stored.admitted.get(ref)
        # Whatever a Change follows from, so that it is made again if any of it is another.
        asks = _asks_for_others(staging.policy, rollouts, part.owner.spec, request)
        made_of = (part.owner, context.key, rollouts, request, admitted, Same(self.authors if asks else None))
        known = self._earlier.made.get(ref)
        if known is not None and (known.made_of != made_of or not self._is_elsewhere(known.elsewhere)):
            known = None
        if known is not None and known.joiners:
            # They are decided with objects that nobody compares.
            known = None
        if known is not None and self._touched is not None and part.owner not in self._touched:
            return known
        rows = self._rows(part, context, staging, plugins)
        if known is not None and known.rows is rows:
            return known
        # What reaches only clusters that join makes no other change.
        installed = [row.plugin for row in rows.by_key.values() if row.state.admitted is not None]
        objects = objects_of(self.decisions, self.inputs, part.owner, installed or plugins.values())
        contents = self.hashes.contents(objects)
        base = self.admitted_of(ref)
        joiners = self._with_joiners(part, context, staging, rows, len(installed), contents)
        change = self._change(part, context, staging, joiners.candidates, contents, rollouts, request, base)
        if asks:
            made_by = authors_of(self.hashes.differing(objects, base), self.authors, context.persons)
            change = structs.replace(change, authors=made_by)
        elsewhere = {each: self.hashes.now(each) for each in base if each not in contents}
        return _Made(change, contents, made_of, rows, elsewhere, joiners.decided)

    def _rows(
        self, part: Part, context: Context, staging: Staging, plugins: Mapping[PluginKey, PluginDecision]
    ) -> Rows:
        """A candidate for each plugin; of the pass before those of which nothing is another."""
        earlier = self._earlier.made.get(part.ref)
        before = earlier.rows if earlier is not None and earlier.made_of[:2] == (part.owner, context.key) else None
        opening = context.openings.of(part.owner, next(iter(plugins.values())).target.definition)

        def candidate(key: PluginKey, plugin: PluginDecision, state: PluginState, facts: ClusterFacts) -> Candidate:
            return context.candidates.candidate(key, plugin, state, facts, staging, opening)

        moved = self._moved if self._touched is not None else None
        return rows_of(
            plugins, Surrounding(self.states, self._facts, self.decisions.clusters, candidate, moved), before
        )

    def _is_elsewhere(self, known: Mapping[str, str | None]) -> bool:
        """Whether objects that no longer reach the owner are as they were."""
        return all(self.hashes.now(identity) == then for identity, then in known.items())

    def _change(
        self,
        part: Part,
        context: Context,
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
        name = change_id(self.hashes, base, contents, rollouts, lambda: self._differing(candidates))
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
            gone_back=tuple(each for each in earlier if each.went_back),
            continues=self._continues(candidates, contents, rollouts, base),
            unfinished=frozenset(each.name for each in earlier if each.is_unfinished),
        )

    def _continues(
        self, candidates: list[Candidate], contents: Contents, rollouts: tuple[Rollout, ...], base: Contents
    ) -> tuple[str, ...]:
        """The changes that brought what is wanted, if that goes on: what came after them went back, no object differs
        from what they brought, and they had not come to all that is installed (B24).

        A plugin that they did come to and that differs all the same has another value of its own: a change by itself.
        """
        succeeded = [each for each in rollouts if each.phase == "Succeeded"]
        if not succeeded or not any(each.went_back for each in rollouts[rollouts.index(succeeded[-1]) :]):
            return ()
        if differing_objects(self.hashes, base, contents):
            return ()
        last = succeeded[-1]
        found = tuple(dict.fromkeys(each.change_id for each in succeeded if each.contents == last.contents))
        for key, _ in self._differing(candidates):
            attempt = self.states.get(key, UNKNOWN).attempt
            if attempt is None or attempt.back or not is_of_any(attempt.rollout, last.owner.name, found):
                return found
        return ()

    def _differing(self, candidates: list[Candidate]) -> Iterator[tuple[PluginKey, str]]:
        """Plugins that are installed and are not what is wanted, with the hash of that; values that clusters read make
        no change."""
        for each in candidates:
            admitted, wanted = self.states.get(each.key, UNKNOWN).admitted, as_written(each.wanted.input_hash)
            if admitted is not None and as_written(admitted.input_hash) != wanted:
                yield each.key, wanted or ""

    def _approvals(
        self, context: Context, owner: Ref, change: str, policy: Policy, last: Rollout | None, used: frozenset[str]
    ) -> tuple[Approval, ...]:
        """Of the rollout that runs, by the policy that it started with; and of the one that comes next."""
        found: list[Approval] = []
        if last is not None:
            kept = last.policy if last.is_open and last.started is not None else policy
            found += context.consents.of(last.name, kept.digest)
            used = used | {last.name}
        found += context.consents.of(rollout_name(owner.name, change, used), policy.digest)
        return tuple(found)

    def _with_joiners(
        self,
        part: Part,
        context: Context,
        staging: Staging,
        rows: Rows,
        installed: int,
        contents: Contents,
    ) -> Joiners:
        """Candidates, those of new clusters with what their stage has admitted (B21)."""
        admitted, rollouts = self.stored.admitted.get(part.ref), self.stored.rollouts.get(part.ref, ())
        every = rows.by_key.values()
        candidates = [row.candidate for row in every]
        if admitted is None or self._redecide is None or installed in (0, len(every)) or staging.policy.external:
            return Joiners(candidates)
        joining = Joining(self.decisions, self.inputs, self.hashes, self._kept, self._redecide)
        last = rollouts[-1] if rollouts else None
        plugins, states = [row.plugin for row in every], [row.state for row in every]
        return joining.with_sides(candidates, plugins, states, context.lifecycle, contents, admitted, last)

    # ---- All owners

    def _organizations(self) -> list[str]:
        return sorted({ref.organization for ref in (*self._plugins, *self.snapshot.states)})

    def _context(self, organization: str) -> Context:
        found = self._contexts.get(organization)
        if found is None:
            before = self._earlier.contexts.get(organization)
            found = Context(self.decisions, self.inputs, self.stored, organization, self.authors)
            if before is not None and before.key == found.key:
                found.take_over(before)
            self._contexts[organization] = found
        return found

    # ---- For removals

    def change_of(self, owner: Ref) -> Change | None:
        return self.change(owner) if owner in self._plugins else None

    def contents_of(self, object_: AnyObject) -> str:
        return self.hashes.of(object_)

    def admitted_of(self, owner: Ref) -> Contents:
        """The objects that an owner's plugins were last made of; none if nobody knows."""
        admitted = self.stored.admitted.get(owner)
        return admitted.objects if admitted is not None else {}

    def is_as_admitted(self, owner: Object[Any]) -> bool:
        """Whether an owner says what it said when its plugins were admitted."""
        return not self.hashes.differing([owner], self.admitted_of(owner.ref))

    def persons_of(self, organization: str) -> Persons:
        return self._context(organization).persons

    def facts_of(self, cluster: Object[Any]) -> ClusterFacts:
        return self._facts.of(cluster)

    def openings_of(self, organization: str) -> Openings:
        return self._context(organization).openings

    def consents_of(self, organization: str) -> Consents:
        return self._context(organization).consents


def _is_of(part: Ref, owner: Ref) -> bool:
    return part == owner or (part[:2] == owner[:2] and part.name.startswith(f"{owner.name}/"))


def _asks_for_others(policy: Policy, rollouts: tuple[Rollout, ...], spec: OwnerSpec, request: OwnerRequest) -> bool:
    """Whether it matters who made a change: people who did not must agree, to a stage or to an emergency."""
    kept = [each.policy for each in rollouts[-1:] if each.is_open]
    declared = request.emergency or (spec.upgrades.emergency if spec.upgrades is not None else None)
    return declared is not None or any(map(asks_for_others, (policy, *kept)))


def _same_world(one: World, other: World) -> bool:
    """Whether two worlds are made of the very same parts."""
    return (
        one.states is other.states
        and one.complete == other.complete
        and len(one.changes) == len(other.changes)
        and all(mine is theirs for mine, theirs in zip(one.changes, other.changes, strict=True))
        and one.limits == other.limits
        and one.removals == other.removals
        and one.unrendered == other.unrendered
    )
