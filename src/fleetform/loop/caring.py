"""Caring: what is done from time to time while nothing else is due.

What was decided step by step is held against a decision made anew; what was admitted is rendered again and compared
(R2-38); and what nobody needs any more is removed from the store.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec import structs

from fleetform.app.fleet import Fleet
from fleetform.app.rendering.delivered_files import delivered_files
from fleetform.app.rendering.plugin_renders import render_plugins
from fleetform.engine.decide import decide
from fleetform.engine.decisions import Decisions
from fleetform.engine.desired import Inputs
from fleetform.loop.image import Extras, Image
from fleetform.loop.records import packed
from fleetform.loop.standing import Standing
from fleetform.model.results.decisions import PluginDecision, PluginKey
from fleetform.model.state import PluginState
from fleetform.ports.rendering import Renders
from fleetform.ports.store import Event

# Of a large fleet it takes seconds to decide it anew.
_BETWEEN_DECISIONS = timedelta(hours=24)
# So many versions of the store can be asked for: pages of lists, and those who follow changes.
_KEPT_VERSIONS = 1_000
# At one time no more is rendered than a pass may take.
_MOST_RENDERED = 200


class Care(NamedTuple):
    """What was found: plugins that were decided otherwise than they would be anew, which is a bug; plugins whose state
    would be rendered otherwise now; how many states nobody needed any more."""

    at: datetime
    differing: Sequence[PluginKey] = ()
    render_changed: Sequence[PluginKey] = ()
    forgotten: int = 0


class Caretaker:
    """Remembers how far it came the last time."""

    def __init__(self, standing: Standing) -> None:
        self._standing = standing
        self._rendered_to = ""
        self._anew_at: datetime | None = None

    def run(self) -> Care:
        standing, around = self._standing, self._standing.around
        now = around.clock.now()
        fleet = standing.decide(now)
        if fleet is None:
            return Care(now)
        differing: list[PluginKey] = []
        if self._anew_at is None or not timedelta(0) <= now - self._anew_at < _BETWEEN_DECISIONS:
            self._anew_at = now
            fresh, differing = decided_anew(fleet)
            if differing:
                # What was decided anew is right: the next pass goes on from there.
                standing.decide_from(fresh)
        extras = Extras()
        image, changed, self._rendered_to = render_again(
            fleet, standing.image, around.renders, self._rendered_to, now, extras
        )
        before = len(image.states)
        image = without_unneeded(image)
        standing.commit(image, extras, now)
        around.store.sweep(blobs_of(standing.image))
        around.store.compact(_KEPT_VERSIONS)
        return Care(now, differing, changed, before - len(image.states))


def decided_anew(fleet: Fleet) -> tuple[Decisions, list[PluginKey]]:
    """The same fleet decided with nothing at hand, and the plugins of which that says something else."""
    fresh = decide(fleet.snapshot)
    before, after = fleet.decisions, fresh
    mine, theirs = fleet.inputs, Inputs(after, fleet.transforms, fleet.inputs.secret_digest)
    keys = sorted(before.plugins.keys() | after.plugins.keys())

    def said(decisions: Decisions, inputs: Inputs, key: PluginKey) -> object:
        plugin = decisions.plugins.get(key)
        return [_said(inputs, each) for each in (plugin, plugin.upgrade)] if plugin is not None else None

    return fresh, [key for key in keys if said(before, mine, key) != said(after, theirs, key)]


def _said(inputs: Inputs, plugin: PluginDecision | None) -> object:
    return (plugin.version, inputs.state_hash(plugin), plugin.gates, plugin.waits) if plugin is not None else None


def render_again(
    fleet: Fleet, image: Image, renders: Renders, start: str, now: datetime, extras: Extras
) -> tuple[Image, list[PluginKey], str]:
    """Some of the admitted states rendered again, from behind a hash on: those that come out otherwise are told once.

    What is delivered stays what was admitted. Also where to start the next time.
    """
    running = _running(fleet, image)
    asked = sorted(hash_ for hash_ in running if hash_ > start)[:_MOST_RENDERED]
    # Only what the files still say can be rendered again.
    held = {hash_: [each for each in running[hash_] if fleet.inputs.state_hash(each) == hash_] for hash_ in asked}
    ordered = [hash_ for hash_ in asked if held[hash_]]
    rendered = render_plugins(fleet, [held[hash_][0] for hash_ in ordered], renders, to_folder=True, despite_gates=True)
    states, found = dict(image.states), list[PluginKey]()
    for hash_, result in zip(ordered, rendered, strict=True):
        if result.blocked or result.unsteady:
            # It cannot be rendered here now, or comes out otherwise each time (B28): nothing can be told.
            continue
        state = states[hash_]
        digest, _ = packed(delivered_files(result.objects))
        changed = digest if digest != state.files else ""
        if changed == state.changed:
            continue
        states[hash_] = structs.replace(state, changed=changed)
        if changed:
            keys = [each.key for each in held[hash_]]
            found += keys
            extras.events += [_render_changed(key, state.version, hash_, now) for key in keys]
    following = asked[-1] if len(asked) == _MOST_RENDERED else ""
    return (replace(image, states=states) if states != image.states else image), found, following


def _running(fleet: Fleet, image: Image) -> dict[str, list[PluginDecision]]:
    """Plugins by the hash of what is admitted there, if that is stored."""
    found: dict[str, list[PluginDecision]] = {}
    for plugin in fleet.decisions.plugins.values():
        admitted = image.plugin(plugin.key).admitted
        if admitted is not None and admitted.input_hash is not None and admitted.input_hash in image.states:
            found.setdefault(admitted.input_hash, []).append(plugin)
    return found


def _render_changed(key: PluginKey, version: str | None, hash_: str, now: datetime) -> Event:
    reason = "the same input renders differently now; what was admitted stays"
    return Event(now, *key, event="RenderChanged", version=version, input_hash=hash_, reason=reason)


def without_unneeded(image: Image) -> Image:
    """Without states that no plugin has, had healthy, is brought to, or would or may yet go back to."""
    needed = {hash_ for here in image.known.plugins.values() for state in here.values() for hash_ in _needed(state)}
    needed |= {each.input_hash for each in image.deliveries.values()}
    kept = {hash_: state for hash_, state in image.states.items() if hash_ in needed}
    return replace(image, states=kept) if len(kept) != len(image.states) else image


def _needed(state: PluginState) -> Iterator[str | None]:
    deployed = [state.admitted, state.last_healthy]
    place = state.enrolment
    while place is not None:
        deployed += [place.target, place.before]
        place = place.earlier
    yield from (each.input_hash for each in deployed if each is not None)
    if state.attempt is not None:
        yield state.attempt.input_hash


def blobs_of(image: Image) -> set[str]:
    """The bytes that the states of an image need."""
    blobs = ((each.files, each.source_files, each.sealed) for each in image.states.values())
    return {digest for of_state in blobs for digest in of_state if digest}
