"""What built-in plugins share: options as text, and ways into an object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, TypeVar

import msgspec

from fleetform.transform.runner import PluginError
from fleetform.transform.wire import OptionalField
from fleetform.transformers.plugins import TransformPlugin

T = TypeVar("T")

_TEMPLATES = (("spec",), ("spec", "template", "spec"), ("spec", "jobTemplate", "spec", "template", "spec"),
              ("template", "spec"))  # fmt: skip
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


class BuiltIn(TransformPlugin):
    """A plugin of ours; number is raised when its answers change (B3)."""

    NAME: ClassVar[str]
    NUMBER: ClassVar[int] = 1
    OPTIONS: ClassVar[tuple[OptionalField, ...]]

    def __init__(self) -> None:
        super().__init__(self.NAME, f"{self.NUMBER}", "", f"{self.NAME}@{self.NUMBER}", self.OPTIONS)


# ---- Options


@lru_cache(maxsize=256)
def pairs(option: str, text: str, separator: str = "=") -> Mapping[str, str]:
    """`a=b,c=d`, or a map as JSON; a value may hold the separator itself."""
    if text.lstrip().startswith("{"):
        return _from_json(option, text, dict[str, str])
    found = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, separated, value = part.partition(separator)
        if not separated or not name.strip():
            raise PluginError(f"{option}: {part!r} is not of the form name{separator}value")
        found[name.strip()] = value.strip()
    return found


@lru_cache(maxsize=256)
def names(option: str, text: str) -> Sequence[str]:
    """`a,b`, or a list as JSON."""
    if text.lstrip().startswith("["):
        return _from_json(option, text, list[str])
    return [part for part in map(str.strip, text.split(",")) if part]


def flag(option: str, text: str, default: bool) -> bool:
    """true or false; nothing is the default."""
    word = text.strip().lower()
    if word not in ("", "true", "false"):
        raise PluginError(f"{option} is {text!r}; it is true or false")
    return word == "true" if word else default


def _from_json(option: str, text: str, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError as error:
        raise PluginError(f"{option}: {error}") from error


# ---- Objects


def below(tree: Any, *steps: str) -> Any:
    """What is at a path of an object; None where nothing is."""
    for step in steps:
        if not isinstance(tree, Mapping):
            return None
        tree = tree.get(step)
    return tree


def items(tree: Any) -> Sequence[Any]:
    """The items of a list; none where there is no list."""
    return tree if isinstance(tree, Sequence) and not isinstance(tree, str) else ()


def pod_specs(resource: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """The specs of pods in an object, by path: its own, or its template's, whatever the kind is called."""
    for path in _TEMPLATES:
        spec = below(resource, *path)
        if isinstance(spec, Mapping) and items(spec.get("containers")):
            yield path, spec


def containers(resource: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], Mapping[str, Any]]]:
    """All containers in an object, by path."""
    for path, spec in pod_specs(resource):
        for field in _CONTAINERS:
            for number, container in enumerate(items(spec.get(field))):
                if isinstance(container, Mapping):
                    yield (*path, field, number), container
