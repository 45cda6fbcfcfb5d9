"""Options with their provenance, as answers bear them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec import UNSET, structs

from fleetform.app.answering.masks import item_value, masked, masked_inside, secret_at
from fleetform.app.answering.references import reference
from fleetform.engine.report.effects import applied_overrides, sides_of
from fleetform.model.answers.options import (
    AppliedOverride,
    ExplainedOption,
    ExplainedPart,
    HiddenItem,
    Provenance,
    SkippedItem,
    ValueSource,
    WinningItem,
)
from fleetform.model.results.decisions import Item, OptionDecision, Part, PluginDecision, Sides, Skipped, Slot, Steps
from fleetform.ports.inputs import Locator
from fleetform.syntax.addresses import with_masked_logins, without_logins
from fleetform.syntax.option_paths import readable_text_of


def provenance(item: Item, locator: Locator, secret: bool = False) -> Provenance:
    """Who gives an item, and where; an expression that makes a secret is not shown."""
    return Provenance(
        layer=item.layer.name,
        rank=item.layer.rank,
        object=reference(item.layer.object.ref, item.at, locator),
        part=item.layer.part or UNSET,
        expression=with_masked_logins(item.expression) if item.expression is not None and not secret else UNSET,
        migrated_from=item.migrated_from if item.migrated_from is not None else UNSET,
    )


def _hidden(items: Iterable[Item], slot: Slot, locator: Locator, path: Steps) -> list[HiddenItem]:
    """Items that lost at a path, with what each says there."""
    found = []
    for item in items:
        # One that is about something inside the path shows all that it says.
        secret = secret_at(slot, item.steps if len(item.steps) > len(path) else path)
        shown = HiddenItem(
            **structs.asdict(provenance(item, locator, bool(secret))),
            value=item_value(item, secret, path[len(item.steps) :]),
            strategy=item.strategy if item.strategy != "Replace" else UNSET,
        )
        found.append(shown)
    return found


def explained_option(decision: OptionDecision, locator: Locator, variables: Iterable[str] = ()) -> ExplainedOption:
    """An option's derivation; variables are those that its value refers to."""
    slot, winner = decision.slot, decision.winner
    secret = bool(secret_at(slot, slot.steps))
    problem = decision.unresolved[0].message if decision.unresolved else decision.problem
    won = None
    if winner is not None:
        won = WinningItem(**structs.asdict(provenance(winner, locator, secret)), tie=decision.tie)
    parts = [_part(decision, each, locator) for each in decision.parts]
    return ExplainedOption(
        path=decision.name,
        type=slot.option.type if slot.option is not None else None,
        value=masked(decision.value),
        winner=won,
        hidden=_hidden(decision.hidden, slot, locator, slot.steps),
        migrated_from=winner.migrated_from if winner is not None else None,
        mentions=list(variables),
        parts=parts or UNSET,
        removed_by=provenance(decision.removed_by, locator) if decision.removed_by is not None else UNSET,
        problem=without_logins(problem) if problem is not None else UNSET,
    )


def _part(decision: OptionDecision, part: Part, locator: Locator) -> ExplainedPart:
    path = decision.slot.steps + part.steps
    secret = secret_at(decision.slot, path)
    return ExplainedPart(
        path=readable_text_of(path),
        option=decision.name,
        inside=readable_text_of(part.steps),
        value=masked_inside(part.value, secret),
        winner=WinningItem(**structs.asdict(provenance(part.winner, locator, bool(secret))), tie=part.tie),
        hidden=_hidden(part.hidden, decision.slot, locator, path),
    )


def skipped_item(skipped: Skipped, locator: Locator) -> SkippedItem:
    found = structs.asdict(provenance(skipped.item, locator))
    return SkippedItem(path=skipped.item.text, reason=skipped.reason, **found)


def sources_of_values(plugin: PluginDecision, locator: Locator) -> list[ValueSource]:
    """Who set a plugin's values, except for defaults: what a chart fails on was set by somebody."""
    return [
        ValueSource(
            path=each.name,
            value=masked(each.value),
            **structs.asdict(provenance(each.winner, locator, bool(secret_at(each.slot, each.slot.steps)))),
        )
        for each in plugin.options.values()
        if each.winner is not None and each.winner.layer.name != "default"
    ]


def applied(
    plugin: PluginDecision,
    options: Mapping[str, OptionDecision],
    sides: Callable[[OptionDecision], Sides] = sides_of,
) -> list[AppliedOverride]:
    """The overrides that have an item for a plugin, in order of application."""
    return [
        AppliedOverride(name=each.override.ref.name, rank=each.rank, won=list(each.won), lost=list(each.lost))
        for each in applied_overrides(plugin.shared.overrides, options, plugin.skipped, sides)
    ]
