"""What random fleets are made of, from simple to odd: hypothesis picks whole items and selectors from here.

Picking from a list costs one choice where building costs a dozen, so the same time tries ten times as many fleets; and
examples shrink towards the beginning of each list.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

from fleetform.model.kinds.base import (
    ClusterSelector,
    ClusterSelectors,
    LabelRequirement,
    LabelSelector,
    OptionValue,
    SecretKey,
    ValueFrom,
)
from fleetform.model.kinds.definition import Option, OptionType
from fleetform.model.kinds.preset import OverrideItem

CLUSTERS = ("c0", "c1", "c2", "c3", "c4", "c5")
DEFINITIONS = ("d0", "d1")
PRESETS = ("p0", "p1", "p2")

# ---- Options: names with dots and indexes among them (R0-8)

TYPES: dict[str, OptionType] = {
    "count": "int",
    "host": "string",
    "labels": "map",
    "args": "list",
    "web": "map",
    "web.port": "int",
    "flags[0]": "string",
    "token": "secret",
}
SPELLINGS = {"count": "/count", "web": "/web", "web.port": "/web/port", "flags[0]": "flags.0"}
INSIDE = {
    "labels": ("labels.a", "/labels/b", "labels.a.x", "/labels/a/y", "/labels/0"),
    "args": ("args[0]", "/args/1", "args[2]"),
    "web": ("web.host", "/web/a/x"),
}
MAPS: list[Any] = [{}, {"a": 1}, {"b": 2, "a": {"x": 1}}, {"a": {"x": 3, "y": 4}}, {"b": {"y": 5}}]
VALUES: dict[OptionType, list[Any]] = {
    "int": [0, 1, 2],
    "string": ["a", "b"],
    "secret": ["hush"],
    "list": [[], ["a"], ["a", "b"], ["c", "b", "a"]],
    "map": MAPS,
}
EXPRESSIONS = ("cluster.name", "cluster.labels.region", "definition.version + organization.name")
VAULT = ValueFrom(SecretKey("vault", "key"))
UNDECLARED = ("never.declared", "/never/declared")


def declarations() -> list[Option]:
    """Every option in every form: without a default, required, and with each default."""
    found = []
    for name, kind in TYPES.items():
        found += [Option(name, kind), Option(name, kind, required=True)]
        found += [Option(name, kind, default=value) for value in VALUES[kind] if kind != "secret"]
    return found


class Saying(NamedTuple):
    """Something that can be said about an option."""

    option: str
    path: str
    said: dict[str, Any]
    whole: bool = True

    def as_value(self) -> OptionValue:
        return OptionValue(self.path, **self.said)


def sayings() -> list[Saying]:
    """Half of them speak of two options only, so that all layers often meet on one."""
    undeclared = [Saying(UNDECLARED[0], path, {"value": 1}) for path in UNDECLARED]
    every = [*(each for name in TYPES for each in (*_whole(name), *_inside(name))), *undeclared]
    often = [each for each in every if each.option == "count"]
    return [*often * 8, *(each for each in every if each.option == "labels"), *every]


def _whole(name: str) -> Iterator[Saying]:
    kind = TYPES[name]
    for path, value in product(dict.fromkeys((name, SPELLINGS.get(name, name))), VALUES[kind]):
        yield Saying(name, path, {"value": value})
    if kind in ("string", "secret"):
        yield Saying(name, name, {"value_from": VAULT})
    if kind == "string":
        yield from (Saying(name, name, {"expression": each}) for each in EXPRESSIONS)


def _inside(name: str) -> Iterator[Saying]:
    values = ["a", "b"] if TYPES[name] == "list" else [7, *MAPS[1:3]]
    for path, value in product(INSIDE.get(name, ()), values):
        yield Saying(name, path, {"value": value}, whole=False)


def override_sayings() -> list[tuple[str, OverrideItem]]:
    """All strategies; those that only overrides have twice, as they are the ones to get wrong."""
    found = [(each.option, OverrideItem(each.path, **each.said)) for each in sayings()]
    removals = [(name, path) for name in TYPES for path in (name, *INSIDE.get(name, ()))]
    odd = [(name, OverrideItem(path, strategy="Remove")) for name, path in removals]
    for each in sayings():
        if isinstance(each.said.get("value"), dict) and each.said["value"]:
            odd.append((each.option, OverrideItem(each.path, strategy="Merge", **each.said)))
    return [*found, *odd, *odd]


# ---- Selectors

_LABELS = {"env": ("prod", "dev"), "region": ("eu", "us"), "tier": ("1", "2")}


def label_sets() -> list[dict[str, str]]:
    """Every combination, each label also absent."""
    sets = []
    for values in product(*((None, *values) for values in _LABELS.values())):
        sets.append({key: value for key, value in zip(_LABELS, values, strict=True) if value is not None})
    return sets


def label_selectors() -> list[LabelSelector]:
    equal = [LabelSelector(match_labels=labels) for labels in label_sets() if len(labels) in (1, 2)]
    listed = [LabelSelector(match_expressions=[each]) for each in _requirements()]
    both = [
        LabelSelector(one.match_labels, other.match_expressions) for one, other in zip(equal[::2], listed, strict=False)
    ]
    return [*equal, *listed, *both]


def _requirements() -> Iterator[LabelRequirement]:
    for key, values in _LABELS.items():
        yield LabelRequirement(key, "Exists")
        yield LabelRequirement(key, "DoesNotExist")
        for chosen in (values[:1], values[1:], values):
            yield LabelRequirement(key, "In", list(chosen))
            yield LabelRequirement(key, "NotIn", list(chosen))


def one_selectors() -> list[ClusterSelector]:
    """Bare, below labelSelector, by name, with ignored ones, and some of each at once."""
    labels = label_selectors()
    everything = [ClusterSelector(), ClusterSelector(label_selector=LabelSelector())]
    named = [ClusterSelector(cluster_names=[name]) for name in CLUSTERS]
    ignoring = [ClusterSelector(ignore_clusters=[name]) for name in CLUSTERS[:3]]
    bare = [ClusterSelector(each.match_labels, each.match_expressions) for each in labels]
    mixed = [
        ClusterSelector(
            label_selector=each,
            cluster_names=[CLUSTERS[number % 6], CLUSTERS[number % 4]] if number % 2 else None,
            ignore_clusters=[CLUSTERS[number % 5]] if number % 3 else None,
        )
        for number, each in enumerate(labels)
    ]
    return [*everything, *named, *named, *ignoring, *bare, *mixed]


def cluster_selectors() -> list[ClusterSelectors]:
    ones = one_selectors()
    pairs: list[ClusterSelectors] = [[ones[number], ones[-number]] for number in range(1, len(ones), 3)]
    with_all: list[ClusterSelectors] = [[each, ClusterSelector()] for each in ones[2:20]]
    return [*ones, [], *([each] for each in ones[:12]), *with_all, *pairs]
