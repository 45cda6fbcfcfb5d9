"""From configs to values (R1-14): the items of a config object, each with its path in the object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from fleetform.model.kinds.base import SecretKey
from fleetform.model.kinds.definition import ConfigValues, SupportedConfig
from fleetform.model.objects import Path
from fleetform.model.results.configs import ConfigReference, Configs
from fleetform.model.results.decisions import ABSENT, Item, Layer, Steps, Strategy
from fleetform.syntax.option_paths import PathError, get_in, parse_path, text_of

DEPLOYMENT_CONFIG = ("addon.open-cluster-management.io", "addondeploymentconfigs")
ADDON_TEMPLATE = ("addon.open-cluster-management.io", "addontemplates")
# Where the parts of an AddOnDeploymentConfig go; its variables go to the top, by their names (S33).
DEPLOYMENT_VALUES: Mapping[str, Path] = {
    "nodeSelector": ("spec", "nodePlacement", "nodeSelector"),
    "tolerations": ("spec", "nodePlacement", "tolerations"),
    "registries": ("spec", "registries"),
    "proxyConfig": ("spec", "proxyConfig"),
    "agentInstallNamespace": ("spec", "agentInstallNamespace"),
    "resourceRequirements": ("spec", "resourceRequirements"),
}
ConfigItem = tuple[ConfigReference, Item]


def config_items(configs: Configs, supported: Sequence[SupportedConfig]) -> list[ConfigItem]:
    """The items of the configs that count, each with its reference, in fold order: the later goes over the earlier."""
    by_type = {(each.group, each.resource): each for each in supported}
    folded: dict[tuple[str, str], list[ConfigReference]] = {}
    for reference in sorted(configs.effective, key=lambda each: each.fold):
        folded.setdefault(reference.type, []).append(reference)
    found: list[ConfigItem] = []
    for type_, references in folded.items():
        supported_type = by_type.get(type_) or SupportedConfig(*type_)
        found += _of_type(supported_type, [each for each in references if each.config is not None], configs)
    return sorted(found, key=lambda each: each[0].fold)


def _of_type(supported: SupportedConfig, references: list[ConfigReference], configs: Configs) -> Iterator[ConfigItem]:
    values = supported.values
    if values is None and (supported.group, supported.resource) == DEPLOYMENT_CONFIG:
        for each in references:
            yield from ((each, item) for item in _deployment_items(each))
        return
    if values is None or values.use == "None" or not references:
        return
    if supported.merge_fields:
        for each in references:
            yield from ((each, item) for item in _items(each, values, "Merge"))
    elif values.use == "Last":
        yield from ((references[-1], item) for item in _items(references[-1], values, "Replace"))
    else:
        # One list with an element for each config, in the order in which they are listed. It has no place for
        # references to secrets; a check reports a definition that asks for it.
        listed = [each for each in configs.effective if each in references and not _is_secret(each)]
        start, steps = _pointer(values.from_), _steps(values.to or "")
        if listed and steps:
            last = max(listed, key=lambda each: each.fold)
            elements = [get_in(_tree(each), start) for each in listed]
            yield last, _item(last, steps, start, [each for each in elements if each is not ABSENT], "Replace")


def _items(reference: ConfigReference, values: ConfigValues, strategy: Strategy) -> Iterator[Item]:
    """The items of one config: at the path it goes to, or at the top, key by key."""
    start, steps = _pointer(values.from_), _steps(values.to or "")
    if _is_secret(reference):
        yield from _secret_items(reference, start, steps)
        return
    content = get_in(_tree(reference), start)
    if content is ABSENT:
        return
    if steps:
        yield _item(reference, steps, start, content, strategy if isinstance(content, dict) else "Replace")
    elif isinstance(content, dict):
        for key, value in content.items():
            as_map = strategy if isinstance(value, dict) else "Replace"
            yield _item(reference, (key,), (*start, key), value, as_map)


def _is_secret(reference: ConfigReference) -> bool:
    return reference.config is not None and reference.config.ref.kind == "Secret"


def _secret_items(reference: ConfigReference, start: Steps, to: Steps) -> Iterator[Item]:
    """The keys of a Secret, or the one that is meant, by reference: its content stays on the cluster."""
    tree = _tree(reference)
    for field in ("data", "stringData"):
        entries = tree.get(field)
        for key in entries if isinstance(entries, dict) else ():
            one = len(start) == 2 and start[0] in ("data", "stringData")
            steps = to if one and to else (*to, key)
            if not one or start[1] == key:
                secret = SecretKey(tree["metadata"]["name"], key)
                yield Item(_layer(reference), text_of(steps), steps, (field,), key, secret=secret)


def _deployment_items(reference: ConfigReference) -> Iterator[Item]:
    tree = _tree(reference)
    variables = get_in(tree, ("spec", "customizedVariables"))
    for index, each in enumerate(variables if isinstance(variables, list) else ()):
        if isinstance(each, dict) and isinstance(each.get("name"), str):
            path: Path = ("spec", "customizedVariables", index, "value")
            yield _item(reference, (each["name"],), path, each.get("value", ""), "Replace")
    for name, path in DEPLOYMENT_VALUES.items():
        value = get_in(tree, path)
        if value is not ABSENT and value is not None:
            yield _item(reference, (name,), path, value, "Replace")


def addon_template(configs: Configs) -> ConfigReference | None:
    """The AddOnTemplate that an add-on is rendered from: of several, the one that goes over the others (R1-8)."""
    found = [each for each in configs.effective if each.type == ADDON_TEMPLATE and each.config is not None]
    return max(found, key=lambda each: each.fold, default=None)


def _tree(reference: ConfigReference) -> Any:
    assert reference.config is not None
    return reference.config.content


def _item(reference: ConfigReference, steps: Steps, path: Path, value: object, strategy: Strategy) -> Item:
    collection, index = (path[:-1], path[-1]) if path else ((), "kind")
    return Item(_layer(reference), text_of(steps), steps, collection, index, value, strategy=strategy)


def _layer(reference: ConfigReference) -> Layer:
    assert reference.config is not None
    return Layer("config", 0, reference.config, f"place {reference.place}")


def _pointer(text: str) -> Steps:
    try:
        return parse_path(text) if text not in ("", "/") else ()
    except PathError:
        # Reported where the definition is checked; this leads to nothing.
        return ("",)


def _steps(text: str) -> Steps:
    try:
        return parse_path(text) if text else ()
    except PathError:
        return ()


def at_place(items: Iterable[ConfigItem], place: int, part: str | None = None) -> list[Item]:
    """The items of configs of one place; part is a group's name, or empty for the preset itself."""
    return [item for reference, item in items if reference.place == place and (part is None or reference.part == part)]
