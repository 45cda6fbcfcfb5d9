"""Admitting: the starts of a plan are rendered, and only what rendered is stored as admitted (B2).

What does not render is stored as that, by its hash: the next plan finds it blocked, its slot free and no budget spent.
A tool or a source that is missing here says nothing about the input: such a start is simply not made yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache, partial

from msgspec import structs

from fleetform.app.answering.changed_objects import changed_objects, changes_text, with_changes
from fleetform.app.fleet import Fleet
from fleetform.app.reading.kept_objects import needed
from fleetform.app.rendering.delivered_files import delivered_files
from fleetform.app.rendering.plugin_renders import PluginRender, render_plugins
from fleetform.engine.plan.carry_out import Write, writes
from fleetform.engine.plan.progress import is_reread
from fleetform.engine.plan.records import OwnerPlan, Plan, Step
from fleetform.engine.plan.rollouts import Rollout
from fleetform.engine.world.changes import OwnerChanges
from fleetform.engine.world.contents import content_of
from fleetform.engine.world.hashes import unknown_hash
from fleetform.engine.world.stored import is_settled, objects_after
from fleetform.loop.image import Extras, Image
from fleetform.loop.records import AdmittedState, packed
from fleetform.loop.sealing import sealed
from fleetform.model.objects import AnyObject, Ref
from fleetform.model.results.decisions import PluginDecision, PluginKey
from fleetform.model.snapshot import VersionKey
from fleetform.model.state import UNKNOWN, Deployed, PluginState, Trouble
from fleetform.ports.observing import CheckedObject
from fleetform.ports.rendering import Renders
from fleetform.ports.state import KnownState, KnownVersion, Rejection
from fleetform.ports.store import Event

# Of why something cannot be rendered so much is kept; its event has all of it.
_LONGEST_FAILURE = 300


@dataclass
class Rendering:
    """What became of the starts of a plan: states that can be admitted, what failed, and what could not be tried.

    gone are those of the failed that nobody wants any more: nobody needs to be told. sources are the digests of what
    versions of definitions render.
    """

    states: dict[str, AdmittedState] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    unavailable: dict[PluginKey, str] = field(default_factory=dict)
    sources: dict[VersionKey, str] = field(default_factory=dict)


def render_targets(
    fleet: Fleet,
    targets: Iterable[tuple[PluginKey, Deployed]],
    image: Image,
    renders: Renders,
    extras: Extras,
    changes: OwnerChanges | None = None,
    straight: Callable[[Fleet, PluginDecision], bool] = lambda fleet, plugin: False,
) -> Rendering:
    """Renders what is not stored yet, each distinct hash once. changes know what clusters get that join, straight which
    plugins are applied to their clusters themselves: secrets are filled in there."""
    found = Rendering()
    wanted: dict[str, tuple[Fleet, PluginDecision]] = {}
    asked: dict[str, list[PluginKey]] = {}
    for key, target in targets:
        hash_ = target.input_hash or ""
        asked.setdefault(hash_, []).append(key)
        if hash_ in image.states or hash_ in wanted or hash_ in found.failed:
            continue
        decision = _decision(fleet, key, target) or _on_other_side(fleet, key, target, changes)
        if decision is None:
            found.failed[hash_] = "what it was made of is gone from the files, and its bytes were not stored"
            found.gone.add(hash_)
        else:
            wanted[hash_] = decision
    sources = _Sources(renders, image, extras)
    for hash_, side, result in _rendered(wanted, renders, straight):
        if result.unavailable:
            found.unavailable.update(dict.fromkeys(asked[hash_], _reason(result)))
        elif result.blocked:
            found.failed[hash_] = _reason(result)
        else:
            digest, blob = packed(delivered_files(result.objects))
            extras.blobs.append((digest, blob))
            plugin = result.plugin
            definition, revision = plugin.target.definition, image.source.revision
            source, source_files = sources.of(side, result)
            seal = sealed(side, plugin) if straight(side, plugin) else None
            if seal is not None:
                extras.blobs.append(seal)
            found.states[hash_] = AdmittedState(
                digest,
                plugin.version,
                definition,
                result.key,
                revision,
                source,
                source_files,
                health=_health_checks(side, plugin),
                sealed=seal[0] if seal is not None else "",
            )
            if source and plugin.target.revision is not None:
                found.sources[plugin.target.revision.object.ref, plugin.target.revision.version] = source
    return found


def _health_checks(fleet: Fleet, plugin: PluginDecision) -> tuple[CheckedObject, ...]:
    """The objects whose health its definition names. Flux judges what it installs itself, and these are not seen."""
    revision, delivery = plugin.target.revision, fleet.inputs.delivery(plugin)
    if delivery is not None and delivery.flux is not None:
        return ()
    checks = (revision.object.spec.health or ()) if revision is not None else ()
    return tuple(CheckedObject(each.kind, each.name, each.namespace or "", each.api_version or "") for each in checks)


class _Sources:
    """What admitted states were rendered from, kept by digest: the source may be gone when somebody asks (R2-38)."""

    def __init__(self, renders: Renders, image: Image, extras: Extras) -> None:
        self._renders, self._extras = renders, extras
        self._stored = {each.source: each.source_files for each in image.states.values() if each.source}

    def of(self, fleet: Fleet, render: PluginRender) -> tuple[str, str]:
        """The digest of a plugin's source, and of the blob with its files; "" where there is none."""
        # Flux renders by itself.
        input_ = render.input or fleet.render_input(render.plugin)
        source = self._renders.source(input_) if input_ is not None else None
        if source is None:
            return "", ""
        if source.digest not in self._stored:
            digest, blob = packed(source.files())
            self._extras.blobs.append((digest, blob))
            self._stored[source.digest] = digest
        return source.digest, self._stored[source.digest]


def admit(
    image: Image, found: Plan, changes: OwnerChanges, rendering: Rendering, now: datetime, extras: Extras
) -> Image:
    """The image once a plan was carried out, as far as its starts rendered."""
    to_store = writes(found)
    known = _with_rollouts(image.known, found, [each.rollout for each in to_store if each.rollout], changes)
    states = _states(image, known, found, changes, to_store, rendering, now, extras)
    known = _with_sources(known, rendering.sources)
    image = replace(image, known=known) if known is not image.known else image
    if rendering.states:
        image = replace(image, states={**image.states, **rendering.states})
    return image.with_plugins(states)


def _states(
    image: Image,
    known: KnownState,
    found: Plan,
    changes: OwnerChanges,
    to_store: list[Write],
    rendering: Rendering,
    now: datetime,
    extras: Extras,
) -> dict[PluginKey, PluginState]:
    """What is stored of plugins after a plan. known has the rollouts after it: one may have ended, another begun."""

    @cache
    def changed(owner: Ref) -> str:
        return changes_text(changed_objects(known, changes, owner))

    states: dict[PluginKey, PluginState] = {}
    steps = {step.key: (step, owner) for owner in found.owners for step in owner.moves}
    for key, progress, _, is_start in to_store:
        if key is None or progress is None:
            continue
        if not is_start:
            states[key] = progress
            continue
        if key in rendering.unavailable:
            continue
        step, owner = steps[key]
        hash_ = (progress.admitted.input_hash if progress.admitted is not None else None) or ""
        if hash_ in image.states or hash_ in rendering.states:
            states[key] = progress
            state = image.states.get(hash_) or rendering.states[hash_]
            # Where the version stays, what made it another state is all that tells it from the one before.
            before = found.world.states.get(key, UNKNOWN)
            why = (_read_anew(before, step) or changed(owner.change.owner)) if _version_stays(before, step) else ""
            extras.events.append(_started(step, _change_id(step, owner, image), state.revision, why, now))
        elif hash_ in rendering.failed:
            # Its place in the rollout stands; it has not started.
            before, why = states.get(key, image.plugin(key)), _in_a_line(rendering.failed[hash_])
            states[key] = structs.replace(before, render_failed=hash_, render_failure=why)
            if hash_ not in rendering.gone:
                extras.events.append(_render_failed(key, hash_, rendering.failed[hash_], now))
    return states


def with_unrendered(
    image: Image,
    found: Plan,
    unavailable: Mapping[PluginKey, str],
    waiting: Iterable[PluginKey],
    now: datetime,
    extras: Extras,
) -> Image:
    """The image with the starts that could not be rendered for now, each since when, and what of that is new. waiting
    are those that something else holds by now."""
    before = image.known.unrendered
    still = {key: before[key] for key in waiting}
    for step in (*found.starts, *found.renders):
        message = unavailable.get(step.key)
        if message is None or not step.is_free:
            continue
        trouble = before.get(step.key)
        if trouble is None or trouble.message != message:
            trouble = Trouble("render", message, trouble.since if trouble is not None else now)
            extras.events.append(Event(now, *step.key, event="NotRendered", reason=message))
        still[step.key] = trouble
    return replace(image, known=replace(image.known, unrendered=still)) if still != before else image


def _change_id(step: Step, owner: OwnerPlan, image: Image) -> str:
    """The change that a start belongs to: its rollout's, though files may have come to another meanwhile."""
    attempt, rollout = step.progress.attempt, owner.rollout
    if rollout is not None and attempt is not None and attempt.rollout == rollout.name:
        return rollout.change_id
    earlier = image.change_ids.get((step.key[0], attempt.rollout)) if attempt is not None else None
    return earlier or owner.change.change_id


def _with_rollouts(known: KnownState, found: Plan, rollouts: list[Rollout], changes: OwnerChanges) -> KnownState:
    """What is known once these rollouts are so: what they admitted, and which versions did not hold."""
    stored, rejected = known.rollouts, list(known.rejected)
    for rollout in rollouts:
        earlier = next((each for each in stored.rollouts.get(rollout.owner, ()) if each.name == rollout.name), None)
        stored = stored.with_rollout(rollout if earlier is not None else with_changes(rollout, known, changes))
        if rollout.rejected and not (earlier is not None and earlier.rejected):
            rejected += _rejections(rollout, found, changes)
    admitted = dict(stored.admitted)
    for owner in found.owners:
        ref, settled = owner.change.owner, partial(is_settled, owner.change, found.world.states)
        after = objects_after(admitted.get(ref), owner.change.rollout, owner.rollout, changes.contents(ref), settled)
        if after is not None:
            admitted[ref] = after
    kept = known.kept
    if admitted != stored.admitted:
        stored = structs.replace(stored, admitted=admitted)
        wanted = needed(stored, changes.hashes) if kept else set()
        kept = {key: each for key, each in kept.items() if key in wanted}
    if stored is known.rollouts and len(rejected) == len(known.rejected):
        return known
    return replace(known, rollouts=stored, rejected=tuple(rejected), kept=kept)


def _with_sources(known: KnownState, sources: Mapping[VersionKey, str]) -> KnownState:
    """With the digest of what a version renders, as it was admitted first: other bytes under it are refused (R2-35)."""
    new = {key: each for key, each in sources.items() if known.versions.get(key, KnownVersion()).digest is None}
    if not new:
        return known
    stamped = {key: known.versions.get(key, KnownVersion())._replace(digest=digest) for key, digest in new.items()}
    return replace(known, versions={**known.versions, **stamped})


def _rendered(
    wanted: Mapping[str, tuple[Fleet, PluginDecision]],
    renders: Renders,
    straight: Callable[[Fleet, PluginDecision], bool],
) -> Iterator[tuple[str, Fleet, PluginRender]]:
    """What is wanted by hash, with the side that it was decided on; what is of one side is rendered together."""
    by_side: dict[int, list[str]] = {}
    for hash_, (side, _) in wanted.items():
        by_side.setdefault(id(side.snapshot), []).append(hash_)
    for hashes in by_side.values():
        side, plugins = wanted[hashes[0]][0], [wanted[each][1] for each in hashes]
        by_reference = partial(straight, side)
        results = render_plugins(side, plugins, renders, to_folder=True, despite_gates=True, by_reference=by_reference)
        yield from ((hash_, side, result) for hash_, result in zip(hashes, results, strict=True))


def _decision(fleet: Fleet, key: PluginKey, target: Deployed) -> tuple[Fleet, PluginDecision] | None:
    """The decision that a hash stands for: what is wanted, or what runs meanwhile."""
    plugin = fleet.decisions.plugins.get(key)
    if plugin is None:
        return None
    for each in (plugin.upgrade, plugin):
        if each is None:
            continue
        if (fleet.inputs.state_hash(each) or unknown_hash(each.key, each.version)) == target.input_hash:
            return fleet, each
    return None


def _on_other_side(
    fleet: Fleet, key: PluginKey, target: Deployed, changes: OwnerChanges | None
) -> tuple[Fleet, PluginDecision] | None:
    """What the stage of a cluster that joins has admitted, with the fleet as it was for that."""
    for each in changes.on_other_sides(key) if changes is not None else ():
        if each.deployed.input_hash == target.input_hash:
            return replace(fleet, snapshot=each.side.index.snapshot, partial=each.side), each.plugin
    return None


def _reason(result: PluginRender) -> str:
    return "; ".join(each.message for each in result.blocked)


def _rejections(rollout: Rollout, found: Plan, changes: OwnerChanges) -> Sequence[Rejection]:
    """The versions that a rollout brought and that did not hold: rejected while their owner is as it is (B10).

    Where it installs a version that others of its plugins ran before, the version is not what did not hold there.
    """
    plan: OwnerPlan | None = next((each for each in found.owners if each.change.owner == rollout.owner), None)
    if plan is None:
        return ()
    owner: AnyObject | None = changes.snapshot.presets.get(rollout.owner) or changes.snapshot.plugins.get(rollout.owner)
    places = [each.progress.enrolment for each in plan.steps]
    members = [each for each in places if each is not None and each.rollout == rollout.name]
    ran = {each.before.version for each in members if each.before is not None}
    versions: set[str] = set()
    for each in members:
        had = {each.before.version} if each.before is not None else ran
        if each.target.version is not None and each.target.version not in had:
            versions.add(each.target.version)
    content = content_of(owner) if owner is not None else None
    return [Rejection(rollout.owner, version, content) for version in sorted(versions)]


def _version_stays(before: PluginState, step: Step) -> bool:
    then, now = before.admitted, step.progress.admitted
    if step.action == "rollback" or then is None or now is None:
        return False
    return (then.version, then.definition) == (now.version, now.definition) and then.input_hash != now.input_hash


def _read_anew(before: PluginState, step: Step) -> str:
    """What was read on the cluster since it was last started, if that is all that is another (B16)."""
    now, then = step.progress.admitted, before.attempt
    if now is None or not is_reread(before.admitted, now):
        return ""
    news = [name for name, each in sorted(before.readings.items()) if then is None or each.since > then.started]
    fields = [f"{name} was read anew: {before.readings[name].of.partition(' ')[2]}" for name in news]
    return "; ".join(fields) or "values of its cluster were read anew"


def _started(step: Step, change_id: str, revision: str, changed: str, now: datetime) -> Event:
    attempt, admitted = step.progress.attempt, step.progress.admitted
    assert attempt is not None
    return Event(
        now,
        *step.key,
        event="RolledBack" if attempt.back else "Started",
        version=admitted.version if admitted is not None else None,
        input_hash=attempt.input_hash,
        rollout=attempt.rollout,
        change_id=change_id,
        reason=", ".join([each for each in (f"stage {step.stage}" if step.stage else "", changed) if each]),
        revision=revision,
    )


def _render_failed(key: PluginKey, hash_: str, reason: str, now: datetime) -> Event:
    return Event(now, *key, event="RenderFailed", input_hash=hash_, reason=reason)


def _in_a_line(reason: str) -> str:
    """The beginning of what a tool says, which may be pages."""
    line = next((each.strip() for each in reason.splitlines() if each.strip()), "")
    return line if len(line) <= _LONGEST_FAILURE else line[: _LONGEST_FAILURE - 1] + "…"


def places_of_joiners(found: Plan) -> Iterator[tuple[PluginKey, Deployed]]:
    """What a rollout will bring clusters that join, and what they go back to: rendered while that can be decided.

    Once something is installed there it is not decided any more.
    """
    states = found.world.states
    for owner in found.owners:
        for step in owner.moves:
            place = step.progress.enrolment
            if place is not None and place.joined and states.get(step.key, UNKNOWN).admitted is None:
                yield from ((step.key, each) for each in (place.target, place.before) if each is not None)
