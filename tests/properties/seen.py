"""Decisions as plain data, to compare: who said it instead of which object it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from fleetform.engine.decisions import Decisions
from fleetform.engine.options.holes import is_hole, marks_in
from fleetform.model.results.decisions import ABSENT, Item, OptionDecision, PluginDecision, PluginKey
from fleetform.syntax.option_paths import normal_form
from support.oracle import Form, Voice


class SeenPart(NamedTuple):
    """A path inside an option's value that somebody decides."""

    form: Form
    value: Any
    winner: Voice
    hidden: tuple[Voice, ...]
    tie: str | None


class SeenOption(NamedTuple):
    """An option's decision."""

    value: Any
    winner: Voice | None
    hidden: tuple[Voice, ...]
    parts: tuple[SeenPart, ...]
    tie: str | None
    removed_by: Voice | None
    problem: str | None


class SeenPlugin(NamedTuple):
    """A plugin's decision."""

    version: str | None
    options: dict[str, SeenOption]
    overrides: tuple[str, ...]
    skipped: tuple[Voice, ...]
    gates: tuple[tuple[str, str, str], ...]


def exact(value: Any) -> Any:
    """A value in a form that does not take true for 1, nor a map's order for a difference."""
    if value is ABSENT:
        return "absent"
    if is_hole(value):
        return ("hole", [str(each) for each in marks_in(value)])
    if isinstance(value, dict):
        return {key: exact(each) for key, each in value.items()}
    if isinstance(value, list):
        return [exact(each) for each in value]
    return (type(value).__name__, value)


def voice(item: Item) -> Voice:
    return Voice(item.layer.name, item.layer.object.ref.name, item.text)


def _maybe(item: Item | None) -> Voice | None:
    return voice(item) if item is not None else None


def seen_option(decision: OptionDecision) -> SeenOption:
    parts = tuple(
        SeenPart(
            normal_form(each.steps), exact(each.value), voice(each.winner), tuple(map(voice, each.hidden)), each.tie
        )
        for each in decision.parts
    )
    hidden = tuple(map(voice, decision.hidden))
    removed_by = _maybe(decision.removed_by)
    return SeenOption(
        exact(decision.value), _maybe(decision.winner), hidden, parts, decision.tie, removed_by, decision.problem
    )


def seen_plugin(plugin: PluginDecision) -> SeenPlugin:
    return SeenPlugin(
        plugin.version,
        {name: seen_option(each) for name, each in plugin.options.items()},
        tuple(each.ref.name for each in plugin.shared.overrides),
        tuple(voice(each.item) for each in plugin.skipped),
        tuple((gate.gate, gate.message, gate.option) for gate in plugin.gates),
    )


def seen(decisions: Decisions, of: Callable[[PluginDecision], bool] = lambda _: True) -> dict[PluginKey, SeenPlugin]:
    """Every plugin's decision, or those of some plugins."""
    return {key: seen_plugin(plugin) for key, plugin in decisions.plugins.items() if of(plugin)}


def seen_claims(decisions: Decisions) -> list[tuple[str, str, str, str]]:
    """What two objects want: the cluster, what is claimed, who keeps it, who does not."""
    return [
        (each.cluster.ref.name, each.claimed, str(each.keeps.ref), str(each.loses.ref)) for each in decisions.claims
    ]


def values(decisions: Decisions) -> dict[PluginKey, dict[str, Any]]:
    return {
        key: {name: exact(each.value) for name, each in plugin.options.items()}
        for key, plugin in decisions.plugins.items()
    }
