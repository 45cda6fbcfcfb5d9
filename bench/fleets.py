"""Fleets of any size, made from a seed: clusters × plugins with options and overrides."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from fleetform.model.kinds.base import ClusterSelector, Metadata, OptionValue
from fleetform.model.kinds.definition import Option, PluginDefinitionSpec
from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.kinds.preset import (
    ClusterOptionOverride,
    DefinitionRef,
    OverrideItem,
    PluginOverrideSpec,
    PluginPresetSpec,
    PluginTemplate,
)
from fleetform.model.objects import Object, Origin, Ref
from fleetform.model.snapshot import Snapshot
from fleetform.syntax.times import parse_time

NOW = datetime(2026, 11, 1, tzinfo=UTC)
ORGANIZATION = "acme"
ENVIRONMENTS = ("prod", "dev", "qa")
REGIONS = 20
TIERS = 4


@dataclass(frozen=True)
class Size:
    """How large a fleet is; differing is the share of options that differ on every cluster."""

    clusters: int
    plugins: int = 10
    options: int = 40
    overrides: int = 500
    differing: float = 0.1
    seed: int = 7


def make_fleet(size: Size) -> Snapshot:
    rng = random.Random(size.seed)
    clusters = [_cluster(number) for number in range(size.clusters)]
    presets = [_preset(number, size) for number in range(size.plugins)]
    overrides = [make_override(number, size, rng) for number in range(size.overrides)]
    definitions = [_definition(number, size) for number in range(size.plugins)]
    return Snapshot(
        NOW,
        clusters={each.ref: each for each in clusters},
        definitions={(each.ref, each.spec.version): each for each in definitions},
        presets={each.ref: each for each in presets},
        overrides={each.ref: each for each in overrides},
    )


def made(
    kind: str,
    name: str,
    spec: Any,
    labels: dict[str, str] | None = None,
    created: datetime | None = None,
) -> Object[Any]:
    """An object as if it had been read from a file of its own."""
    metadata = Metadata(name=name, namespace=ORGANIZATION, labels=labels)
    return Object(Ref(kind, ORGANIZATION, name), metadata, spec, Origin(f"{kind}/{name}.yaml", 1, 100), created=created)


def _cluster(number: int) -> Object[ClusterSpec]:
    labels = {
        "env": ENVIRONMENTS[number % 3],
        "region": f"r{number % REGIONS}",
        "tier": str(number % TIERS),
        "cloud": "x",
        "host": f"h{number}",
    }
    return made("Cluster", f"c{number}", ClusterSpec(), labels)


def _definition(number: int, size: Size) -> Object[PluginDefinitionSpec]:
    options = [Option(option_name(each), "int", default=each) for each in range(size.options)]
    return made("PluginDefinition", f"d{number}", PluginDefinitionSpec("1.0.0", options=options))


def option_name(number: int) -> str:
    return f"group{number % 8}.option{number}"


def _preset(number: int, size: Size) -> Object[PluginPresetSpec]:
    differing = range(int(size.options * size.differing))
    blocks = [
        ClusterOptionOverride(
            f"c{cluster}", [OptionValue(option_name(each), value=cluster * 100 + each) for each in differing]
        )
        for cluster in range(size.clusters)
    ]
    values = [OptionValue(option_name(each), value=each + 1000) for each in range(0, size.options, 4)]
    template = PluginTemplate(DefinitionRef(f"d{number}"), option_values=values)
    spec = PluginPresetSpec(plugin=template, cluster_selector=ClusterSelector(), cluster_option_overrides=blocks)
    return made("PluginPreset", f"p{number}", spec)


def make_override(number: int, size: Size, rng: random.Random) -> Object[PluginOverrideSpec]:
    """20% reach the whole fleet, 60% some labels, 20% a few clusters by name; half name a definition."""
    kind = number % 10
    selector = None
    if 2 <= kind < 8:
        labels = {"env": rng.choice(ENVIRONMENTS), "region": f"r{rng.randrange(REGIONS)}"}
        selector = ClusterSelector(match_labels=labels)
    elif kind >= 8:
        selector = ClusterSelector(cluster_names=[f"c{rng.randrange(size.clusters)}" for _ in range(3)])
    definitions = [f"d{rng.randrange(size.plugins)}"] if number % 2 else None
    items = [
        OverrideItem(option_name(each), value=number * 10 + each)
        for each in sorted(rng.sample(range(size.options), min(2, size.options)))
    ]
    spec = PluginOverrideSpec(items, definitions, selector)
    created = parse_time(f"2026-{1 + number % 12:02}-{1 + number % 28:02}")
    return made("PluginOverride", f"o{number:04}", spec, created=created)


def with_edited_override(snapshot: Snapshot, ref: Ref, value: int) -> Snapshot:
    """The same fleet, one override of it giving another value."""
    object_ = snapshot.overrides[ref]
    items = [OverrideItem(item.path, value=value) for item in object_.spec.overrides]
    spec = PluginOverrideSpec(items, object_.spec.plugin_definition_names, object_.spec.cluster_selector)
    return replace(snapshot, overrides={**snapshot.overrides, ref: replace(object_, spec=spec)})
