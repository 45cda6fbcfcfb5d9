"""Definitions by version, with their options by path and their defaults as items."""

from __future__ import annotations

from msgspec import UNSET

from fleetform.model.kinds.definition import Option, PluginDefinitionSpec
from fleetform.model.objects import Object
from fleetform.model.results.decisions import Item, Layer, Revision, Steps
from fleetform.syntax.option_paths import PathError, normal_form, parse_path
from fleetform.syntax.versions import parse_version


def revision_of(object_: Object[PluginDefinitionSpec]) -> Revision:
    options: dict[Steps, Option] = {}
    for option in object_.spec.options or []:
        try:
            options.setdefault(parse_path(option.name), option)
        except PathError:
            continue
    version = str(parse_version(object_.spec.version))
    layer = Layer("default", 0, object_, version)
    forms = {normal_form(steps): option for steps, option in options.items()}
    return Revision(object_, version, options, layer, forms)


def default_items(revision: Revision) -> dict[Steps, Item]:
    """The defaults of a revision; computed from it at each pass, never stamped anywhere (R2-16)."""
    items: dict[Steps, Item] = {}
    for index, option in enumerate(revision.object.spec.options or []):
        if option.default is UNSET or option.default is None:
            continue
        try:
            steps = parse_path(option.name)
        except PathError:
            continue
        collection = ("spec", "options", index)
        items.setdefault(steps, Item(revision.default_layer, option.name, steps, collection, "default", option.default))
    return items
