"""Options with their provenance, as answers bear them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec import UNSET, structs

from fleetform.app.answering.masks import item_value, masked
from fleetform.app.answering.references import reference
from fleetform.engine.report.effects import applied_overrides, sides_of
from fleetform.model.answers.base import MASKED
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
from fleetform.model.results.decisions import Item, OptionDecision, PluginDecision, Sides, Skipped, Steps
from fleetform.ports.inputs import Locator
from fleetform.syntax.option_paths import readable_text_of


def provenance(item: Item, locator: Locator, secret: bool = False) -> Provenance:
    """Who gives an item, and where; an expression that makes a secret is not shown."""
    return Provenance(
        layer=item.layer.name,
        rank=item.layer.rank,
        object=reference(item.layer.object.ref, item.at, locator),
        part=item.layer.part or UNSET,
        expression=item.expression if item.expression is not None and not secret else UNSET,
        migrated_from=item.migrated_from if item.migrated_from is not None else UNSET,
    )


def _hidden(items: Iterable[Item], secret: bool, locator: Locator, path: Steps | None = None) -> list[HiddenItem]:
    """Items that lost; of a path inside an option, what each says there."""
    return [
        HiddenItem(
            **structs.asdict(provenance(item, locator, secret)),
            value=item_value(item, secret, path[len(item.steps) :] if path is not None else ()),
            strategy=item.strategy if item.strategy != "Replace" else UNSET,
        )
        for item in items
    ]


def explained_option(decision: OptionDecision, locator: Locator, variables: Iterable[str] = ()) -> ExplainedOption:
    """An option's derivation; variables are those that its value refers to."""
    option, secret, winner = decision.slot.option, decision.slot.secret, decision.winner
    problem = decision.unresolved[0].message if decision.unresolved else decision.problem
    won = None
    if winner is not None:
        won = WinningItem(**structs.asdict(provenance(winner, locator, secret)), tie=decision.tie)
    parts = []
    for each in decision.parts:
        path = decision.slot.steps + each.steps
        part = ExplainedPart(
            path=readable_text_of(path),
            option=decision.name,
            inside=readable_text_of(each.steps),
            value=MASKED if secret else masked(each.value),
            winner=WinningItem(**structs.asdict(provenance(each.winner, locator, secret)), tie=each.tie),
            hidden=_hidden(each.hidden, secret, locator, path),
        )
        parts.append(part)
    return ExplainedOption(
        path=decision.name,
        type=option.type if option is not None else None,
        value=masked(decision.value),
        winner=won,
        hidden=_hidden(decision.hidden, secret, locator),
        migrated_from=winner.migrated_from if winner is not None else None,
        mentions=list(variables),
        parts=parts or UNSET,
        removed_by=provenance(decision.removed_by, locator) if decision.removed_by is not None else UNSET,
        problem=problem if problem is not None else UNSET,
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
            **structs.asdict(provenance(each.winner, locator, each.slot.secret)),
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
