"""What an upgrade brings, over the whole span from what runs to what is wanted, and whose values it affects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import UNSET

from fleetform.app.answering.masks import masked
from fleetform.app.answering.references import reference
from fleetform.engine.report.effects import hidden_items, winning_items
from fleetform.engine.versions.migrations import secret_forms
from fleetform.engine.versions.span import Span
from fleetform.model.answers.base import MASKED, Json
from fleetform.model.answers.upgrades import (
    AddedOption,
    AffectedValue,
    ChangelogEntry,
    OptionPath,
    OptionsOfUpgrade,
    RedefaultedOption,
    RenamedOption,
    RetypedOption,
)
from fleetform.model.kinds.definition import Option
from fleetform.model.results.decisions import Item, PluginDecision, Revision
from fleetform.ports.inputs import Locator
from fleetform.syntax.option_paths import normal_form, parse_path, text_of


def changelog(span: Span) -> list[ChangelogEntry]:
    """What the authors of the versions passed say of them, the oldest first."""
    entries = []
    for revision in span.passed:
        changes = revision.object.spec.changes
        entry = ChangelogEntry(
            definition=revision.object.ref.name,
            version=revision.version,
            text=(changes.changelog or changes.summary or "") if changes is not None else "",
            breaking=bool(changes is not None and changes.breaking),
            irreversible=bool(changes is not None and changes.irreversible),
            acknowledge=changes.acknowledge if changes is not None else None,
        )
        entries.append(entry)
    return entries


def options_of(span: Span, versions: Mapping[str, Revision]) -> OptionsOfUpgrade:
    """What becomes of options; defaults of options that any version calls secret are masked."""
    secret = secret_forms(versions.values())

    def default(option: Option) -> Json:
        if option.default is UNSET:
            return None
        return MASKED if normal_form(parse_path(option.name)) in secret else masked(option.default)

    return OptionsOfUpgrade(
        added=[AddedOption(path=each.name, type=each.type, required=each.required) for each in span.added],
        removed=[OptionPath(path=each.name) for each in span.removed],
        renamed=[RenamedOption(from_=before, to=after) for before, after in span.renamed],
        retyped=[RetypedOption(path=new.name, from_=old.type, to=new.type) for old, new in span.retyped],
        redefaulted=[
            RedefaultedOption(path=new.name, from_=default(old), to=default(new)) for old, new in span.redefaulted
        ],
        required=[OptionPath(path=each.name) for each in span.required],
    )


def affected_values(span: Span, wanted: PluginDecision, locator: Locator) -> list[AffectedValue]:
    """The values that people wrote and that the upgrade reads differently, and the defaults it changes under them."""
    found: list[AffectedValue] = []

    def add(effect: Literal["migrated", "retyped", "removed", "default"], item: Item) -> None:
        place = reference(item.layer.object.ref, item.at, locator)
        found.append(AffectedValue(path=text_of(parse_path(item.text)), effect=effect, object=place))

    redefaulted = {new.name for _, new in span.redefaulted}
    retyped = {new.name for _, new in span.retyped}
    for name, decision in wanted.options.items():
        for item in dict.fromkeys((*winning_items(decision), *hidden_items(decision))):
            if item.migrated_from is not None:
                add("migrated", item)
            elif item.layer.name != "default" and name in retyped:
                add("retyped", item)
        winner = decision.winner
        if winner is not None and winner.layer.name == "default" and name in redefaulted:
            add("default", winner)
    removed = {normal_form(parse_path(option.name)) for option in span.removed}
    for skipped in wanted.skipped:
        form = normal_form(skipped.item.steps)
        gone = any(form[: length + 1] in removed for length in range(len(form)))
        if skipped.reason == "removed" or (gone and skipped.reason in ("not-declared", "not-yet-known")):
            add("removed", skipped.item)
    return found
