"""explain PRESET OPTION: one option over all clusters of a preset, clusters with the same value and reason together."""

from __future__ import annotations

import msgspec

from fleetform.app.answering.options import explained_option
from fleetform.app.errors import NotFoundError
from fleetform.app.fleet import Fleet
from fleetform.app.questions import find_option
from fleetform.model.answers.explanation import OptionEverywhere, OptionGroup
from fleetform.model.answers.options import ExplainedOption
from fleetform.model.results.decisions import PluginDecision
from fleetform.syntax.hashing import content_hash


def explain_everywhere(fleet: Fleet, plugins: list[PluginDecision], name: str, option: str) -> OptionEverywhere:
    """What an option is on each plugin of a preset, the most common value first."""
    groups: dict[str, tuple[ExplainedOption, list[PluginDecision]]] = {}
    # Plugins that share a decision share its explanation.
    members_of: dict[int, list[PluginDecision]] = {}
    without: list[str] = []
    missing: NotFoundError | None = None
    for plugin in plugins:
        try:
            decision = find_option(plugin, option)
        except NotFoundError as error:
            missing = error
            without.append(plugin.cluster.ref.name)
            continue
        if id(decision) in members_of:
            members_of[id(decision)].append(plugin)
            continue
        found = explained_option(decision, fleet.input.locator)
        winner = msgspec.to_builtins(found.winner) if found.winner is not None else None
        key = content_hash(msgspec.to_builtins([found.value, winner, found.parts or []]))
        members_of[id(decision)] = groups.setdefault(key, (found, []))[1]
        members_of[id(decision)].append(plugin)
    if not groups and missing is not None:
        raise missing
    ordered = sorted(groups.values(), key=lambda each: (-len(each[1]), each[1][0].cluster.ref.name))
    return OptionEverywhere(
        name=name,
        option=option,
        plugins=len(plugins),
        groups=[
            OptionGroup(
                clusters=sorted(each.cluster.ref.name for each in members),
                versions=sorted({each.version or "" for each in members}),
                option=found,
            )
            for found, members in ordered
        ],
        without=sorted(without),
    )
