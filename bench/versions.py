"""A fleet in the middle of upgrades: 30 definitions × 20 revisions, ranges, a state, a policy, every kind of gate.

Every definition has two presets, one for each ring of clusters, with ranges of their own; every cluster gets ten of
the sixty. Most plugins run one or two revisions behind what is wanted, some run it, some are ahead of it.
"""

from __future__ import annotations

import random
from dataclasses import replace

from bench.fleets import ENVIRONMENTS, NOW, REGIONS, TIERS, Size, made, make_override, option_name
from fleetform.engine.decide import decide
from fleetform.engine.decisions import Decisions
from fleetform.model.kinds.base import ClusterSelector, OptionValue
from fleetform.model.kinds.definition import (
    Changes,
    MigrationStep,
    Option,
    PluginDefinitionSpec,
    Rename,
    Retype,
    Support,
    VersionEnd,
)
from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.kinds.lifecycle import LifecyclePolicySpec
from fleetform.model.kinds.preset import (
    Acknowledgement,
    ClusterOptionOverride,
    DefinitionRef,
    PluginPresetSpec,
    PluginTemplate,
    PresetGroup,
    Upgrades,
)
from fleetform.model.objects import Object
from fleetform.model.results.decisions import PluginDecision
from fleetform.model.snapshot import Snapshot
from fleetform.syntax.ranges import parse_range
from fleetform.syntax.versions import parse_version
from support.states import states

DEFINITIONS, PACKS, RINGS = 30, 3, ("stable", "latest")
VERSIONS = [f"{major}.{number // 2}.{number % 2}" for major, count in ((1, 12), (2, 8)) for number in range(count)]
RANGES: dict[str, tuple[str | None, ...]] = {
    "stable": ("1.4.1", "~1.4", "^1.1", "1.x", "~2.1", "2.2.0"),
    "latest": (None, "^2", ">=1.2 <3", "2.3.x", "*"),
}
# What happens to a definition at one of its revisions: to users' consent, or to an option that every preset sets.
CHANGES = ("breaking", "acknowledged", "required", "removed", "renamed", "retyped")
CHANGED, RENAMED, REQUIRED = option_name(8), "renamed.option8", "required.option"
PROD = ClusterSelector(match_labels={"env": "prod"})


def versioned_fleet(size: Size) -> Snapshot:
    """The fleet, with a version that runs for every plugin."""
    revisions = range(len(VERSIONS))
    snapshot = _fleet(size, [_definition(number, at, size) for number in range(DEFINITIONS) for at in revisions])
    rng = random.Random(size.seed)
    running = {key: _running(plugin, rng) for key, plugin in decide(snapshot).plugins.items()}
    return replace(snapshot, states=states(running))


def plain_fleet(size: Size) -> Snapshot:
    """The same clusters, presets and overrides with one revision of each definition: no choice, and nothing runs."""
    plain = _fleet(size, [_definition(number, 0, size) for number in range(DEFINITIONS)])
    presets = {ref: _without_range(each) for ref, each in plain.presets.items()}
    return replace(plain, presets=presets, others={})


def with_revision(snapshot: Snapshot, definition: str, version: str) -> Snapshot:
    """The same fleet after a revision of a definition was published: the one before it, under another number."""
    before = max((each for each in VERSIONS if parse_version(each) < parse_version(version)), key=parse_version)
    base = next(
        each for (ref, number), each in snapshot.definitions.items() if (ref.name, number) == (definition, before)
    )
    published = replace(base, spec=PluginDefinitionSpec(version, options=base.spec.options))
    return replace(snapshot, definitions={**snapshot.definitions, (base.ref, version): published})


def admitting(decisions: Decisions, definition: str, version: str) -> int:
    """How many plugins have a range that admits a version of a definition."""
    ranges = [each.target.wanted for each in decisions.plugins.values() if each.target.definition == definition]
    return sum(parse_range(each or "*").admits(version) for each in ranges)


def _fleet(size: Size, definitions: list[Object[PluginDefinitionSpec]]) -> Snapshot:
    rng = random.Random(size.seed)
    clusters = [_cluster(number) for number in range(size.clusters)]
    presets = [_preset(number, ring, size) for number in range(DEFINITIONS) for ring in RINGS]
    overrides = [make_override(number, size, rng) for number in range(size.overrides)]
    policy = made("LifecyclePolicy", "versions", _policy())
    return Snapshot(
        NOW,
        clusters={each.ref: each for each in clusters},
        definitions={(each.ref, each.spec.version): each for each in definitions},
        presets={each.ref: each for each in presets},
        overrides={each.ref: each for each in overrides},
        others={policy.ref: policy},
    )


def _running(plugin: PluginDecision, rng: random.Random) -> str:
    """One or two revisions behind, mostly; one of five is up to date, one of twenty ahead."""
    wanted = VERSIONS.index(plugin.version) if plugin.version is not None else 0
    chance = rng.random()
    step = 0 if chance < 0.2 else 1 if chance < 0.25 else -1 if chance < 0.7 else -2
    return VERSIONS[max(0, min(wanted + step, len(VERSIONS) - 1))]


# ---- Clusters and presets


def _place(number: int) -> tuple[int, str]:
    """A cluster's pack and ring, across all environments and regions."""
    return number // len(ENVIRONMENTS) % PACKS, RINGS[number // (len(ENVIRONMENTS) * PACKS) % len(RINGS)]


def _cluster(number: int) -> Object[ClusterSpec]:
    pack, ring = _place(number)
    labels = {
        "env": ENVIRONMENTS[number % len(ENVIRONMENTS)],
        "region": f"r{number % REGIONS}",
        "tier": str(number % TIERS),
        "pack": str(pack),
        "ring": ring,
        "host": f"h{number}",
    }
    return made("Cluster", f"c{number}", ClusterSpec(), labels)


def _range(number: int, ring: str) -> str | None:
    return RANGES[ring][number % len(RANGES[ring])]


def _change(number: int) -> tuple[str, int]:
    """What happens to a definition, and at which revision: the one that the presets of one ring want."""
    wanted = parse_range(_range(number, RINGS[number % len(RINGS)]) or "*")
    return CHANGES[number // 5 % len(CHANGES)], max(at for at, each in enumerate(VERSIONS) if wanted.admits(each))


def _preset(number: int, ring: str, size: Size) -> Object[PluginPresetSpec]:
    pack = number % PACKS
    differing = range(int(size.options * size.differing))
    blocks = [
        ClusterOptionOverride(
            f"c{cluster}", [OptionValue(option_name(each), value=cluster * 100 + each) for each in differing]
        )
        for cluster in range(size.clusters)
        if _place(cluster) == (pack, ring)
    ]
    values = [OptionValue(option_name(each), value=each + 1000) for each in range(0, size.options, 4)]
    what, at = _change(number)
    acknowledged = [Acknowledgement(VERSIONS[at], PROD)] if what == "acknowledged" else None
    required = [OptionValue(REQUIRED, value="given")] if what == "required" else None
    spec = PluginPresetSpec(
        plugin=PluginTemplate(DefinitionRef(f"d{number}", version=_range(number, ring)), option_values=values),
        cluster_selector=ClusterSelector(match_labels={"pack": str(pack), "ring": ring}),
        cluster_option_overrides=blocks,
        groups=[PresetGroup("prod", PROD, option_values=required)],
        upgrades=Upgrades(acknowledged=acknowledged),
    )
    return made("PluginPreset", f"p{number}-{ring}", spec)


def _without_range(preset: Object[PluginPresetSpec]) -> Object[PluginPresetSpec]:
    spec = preset.spec
    definition = spec.plugin.plugin_definition
    assert isinstance(definition, DefinitionRef)
    template = PluginTemplate(DefinitionRef(definition.name), option_values=spec.plugin.option_values)
    plain = PluginPresetSpec(
        plugin=template,
        cluster_selector=spec.cluster_selector,
        cluster_option_overrides=spec.cluster_option_overrides,
        groups=spec.groups,
    )
    return replace(preset, spec=plain)


# ---- Definitions


def _definition(number: int, at: int, size: Size) -> Object[PluginDefinitionSpec]:
    """A revision: other defaults than the one before, and from its definition's change on, other options."""
    what, since = _change(number)
    options = {name: Option(name, "int", default=each + at) for each, name in enumerate(_names(size))}
    if at >= since:
        options = _changed(what, options)
    changes = _changes(what) if at == since else None
    spec = PluginDefinitionSpec(VERSIONS[at], options=list(options.values()), changes=changes)
    return made("PluginDefinition", f"d{number}", spec)


def _names(size: Size) -> list[str]:
    return [option_name(each) for each in range(size.options)]


def _changed(what: str, options: dict[str, Option]) -> dict[str, Option]:
    without = {name: option for name, option in options.items() if name != CHANGED}
    if what == "required":
        return {**options, REQUIRED: Option(REQUIRED, "string", required=True)}
    if what == "removed":
        return without
    if what == "renamed":
        return {**without, RENAMED: Option(RENAMED, "int", default=8)}
    if what == "retyped":
        return {**without, CHANGED: Option(CHANGED, "string", default="8")}
    return options


def _changes(what: str) -> Changes | None:
    if what in ("breaking", "acknowledged"):
        return Changes(breaking=True)
    if what == "renamed":
        return Changes(migrations=[MigrationStep(rename=Rename(CHANGED, RENAMED))])
    if what == "retyped":
        return Changes(migrations=[MigrationStep(retype=Retype(CHANGED, "string(value)"))])
    return None


def _policy() -> LifecyclePolicySpec:
    """Floors, versions withdrawn, and ends of which one forces a pin up."""
    support = [
        *(Support(f"d{number}", floor="1.1.0") for number in range(0, DEFINITIONS, 3)),
        *(Support(f"d{number}", yanked=[VERSIONS[-1], "1.3.0"]) for number in range(0, DEFINITIONS, 7)),
        Support("d6", ends=[VersionEnd("<1.5", "2026-10-01"), VersionEnd("1.x", "2027-10-01")]),
    ]
    return LifecyclePolicySpec(support=support)
