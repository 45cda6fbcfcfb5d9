"""What an upgrade brings, over the whole span from what runs to what is wanted, and whose values it meets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import UNSET

from fleetform.app.views import MASKED, ref_view
from fleetform.engine.report.effects import hidden_items, winning_items
from fleetform.engine.versions.span import Span
from fleetform.model.kinds.definition import Option
from fleetform.model.results.decisions import Item, PluginDecision, Revision
from fleetform.ports import Locator
from fleetform.syntax.option_paths import normal_form, parse_path

View = dict[str, Any]


def span_view(span: Span, versions: Mapping[str, Revision]) -> View:
    """The span as plain data; defaults of options that any version calls secret are masked."""
    secret = {form for each in versions.values() for form, option in each.forms.items() if option.type == "secret"}
    return {
        "changelog": [_version_view(each) for each in span.passed],
        "options": {
            "added": [{"path": each.name, "type": each.type, "required": each.required} for each in span.added],
            "removed": [{"path": each.name} for each in span.removed],
            "renamed": [{"from": before, "to": after} for before, after in span.renamed],
            "retyped": [{"path": new.name, "from": old.type, "to": new.type} for old, new in span.retyped],
            "redefaulted": [
                {"path": new.name, "from": _default(old, secret), "to": _default(new, secret)}
                for old, new in span.redefaulted
            ],
            "required": [{"path": each.name} for each in span.required],
        },
    }


def _default(option: Option, secret: set[tuple[str, ...]]) -> Any:
    if option.default is UNSET:
        return None
    return dict(MASKED) if normal_form(parse_path(option.name)) in secret else option.default


def _version_view(revision: Revision) -> View:
    changes = revision.object.spec.changes
    return {
        "definition": revision.object.ref.name,
        "version": revision.version,
        "text": (changes.changelog or changes.summary or "") if changes is not None else "",
        "breaking": bool(changes is not None and changes.breaking),
        "irreversible": bool(changes is not None and changes.irreversible),
        "acknowledge": changes.acknowledge if changes is not None else None,
    }


def affected_view(span: Span, wanted: PluginDecision, locator: Locator) -> list[View]:
    """The values that people wrote and that the upgrade reads differently, and the defaults it changes under them."""
    return [
        {"path": path, "effect": effect, "object": ref_view(item.layer.object.ref, item.at, locator)}
        for path, effect, item in _affected(span, wanted)
    ]


def _affected(span: Span, wanted: PluginDecision) -> Iterator[tuple[str, str, Item]]:
    redefaulted = {new.name for _, new in span.redefaulted}
    retyped = {new.name for _, new in span.retyped}
    for name, decision in wanted.options.items():
        for item in dict.fromkeys((*winning_items(decision), *hidden_items(decision))):
            if item.migrated_from is not None:
                yield item.migrated_from, "migrated", item
            elif item.layer.name != "default" and name in retyped:
                yield item.text, "retyped", item
        winner = decision.winner
        if winner is not None and winner.layer.name == "default" and name in redefaulted:
            yield name, "default", winner
    removed = {option.name for option in span.removed}
    for skipped in wanted.skipped:
        if skipped.reason == "removed" or (skipped.reason == "not-declared" and skipped.item.text in removed):
            yield skipped.item.text, "removed", skipped.item
