"""Random small fleets: few names, so that selectors, ranks and paths meet often."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

import fleetform.dialects.greenhouse.read as greenhouse
import fleetform.dialects.ocm.conventions as ocm
from fleetform.model.conventions import NATIVE
from fleetform.model.kinds import PLATFORM_NAMESPACE
from fleetform.model.kinds.base import ClusterSelector, Metadata, NameRef, OptionValue
from fleetform.model.kinds.definition import PluginDefinitionSpec
from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.kinds.preset import (
    ClusterOptionOverride,
    DefinitionRef,
    PluginOverrideSpec,
    PluginPresetSpec,
    PluginSpec,
    PluginTemplate,
    PresetGroup,
)
from fleetform.model.objects import Object, Origin, Ref
from fleetform.model.snapshot import Snapshot
from fleetform.syntax.names import generated_name
from fleetform.syntax.times import parse_time
from properties.pools import (
    CLUSTERS,
    DEFINITIONS,
    PRESETS,
    Saying,
    cluster_selectors,
    declarations,
    label_sets,
    override_sayings,
    sayings,
)

NOW = parse_time("2026-11-01T12:00:00Z")
ACME = "acme"

settings.register_profile("properties", derandomize=True, deadline=None, max_examples=100, database=None)


def examples(number: int) -> settings:
    """The same examples in every run: a property test that fails now and then helps nobody."""
    return settings(settings.get_profile("properties"), max_examples=number)


LABEL_SETS = st.sampled_from(label_sets())
SELECTORS = st.sampled_from(cluster_selectors())
SAYINGS = st.sampled_from(sayings())
OVERRIDE_SAYINGS = st.sampled_from(override_sayings())
OPTIONS = st.lists(st.sampled_from(declarations()), min_size=3, max_size=8, unique_by=lambda each: each.name)
VERSIONS = st.sampled_from(["1.0.0", "v1.1", "2.0.0", "3.0.0-rc.1"])
STAMPS = st.sampled_from([None, *map(parse_time, ("2026-01-01", "2026-02-01T10:00:00+02:00", "2026-02-01T08:00:00Z"))])
EXPIRIES = st.sampled_from([None, None, None, None, None, "2026-10-31", "2026-12-31"])
DEFINITION_NAMES = st.sampled_from([None, [], ["d0"], ["d1"], ["d0", "d1"], ["unknown"]])


def _first_step(saying: tuple[Any, ...]) -> str:
    option: str = saying[0]
    return option.split(".", maxsplit=1)[0]


def _as_list(said: Sequence[Saying]) -> list[OptionValue]:
    return [each.as_value() for each in said]


# One object must not contradict itself (R0-6, R0-7), so it speaks of everything below one first step once.
LISTED_VALUES = st.lists(SAYINGS, max_size=4, unique_by=_first_step).map(_as_list)
MAPPED_VALUES = st.lists(SAYINGS, max_size=4, unique_by=_first_step).map(
    lambda said: {each.path: each.said["value"] for each in said if "value" in each.said}
)
OPTION_VALUES = st.one_of(LISTED_VALUES, LISTED_VALUES, LISTED_VALUES, MAPPED_VALUES)
OVERRIDE_ITEMS = st.lists(OVERRIDE_SAYINGS, min_size=1, max_size=3, unique_by=_first_step).map(
    lambda said: [item for _, item in said]
)
OVERRIDE_SPECS = st.builds(
    PluginOverrideSpec,
    OVERRIDE_ITEMS,
    DEFINITION_NAMES,
    st.one_of(st.none(), SELECTORS, SELECTORS),
    allow_undeclared=st.sampled_from([False, False, True]),
    expires=EXPIRIES,
)
SOME_CLUSTER = st.sampled_from([*CLUSTERS[:2] * 3, *CLUSTERS])
BLOCKS = st.lists(st.builds(ClusterOptionOverride, SOME_CLUSTER, LISTED_VALUES), max_size=2)
GROUPS = st.lists(st.builds(PresetGroup, st.just("group"), SELECTORS, option_values=OPTION_VALUES), max_size=2)


def an_object(
    kind: str,
    name: str,
    spec: Any,
    organization: str = ACME,
    labels: dict[str, str] | None = None,
    created: datetime | None = None,
    dialect: str = "native",
) -> Object[Any]:
    metadata = Metadata(name=name, namespace=organization, labels=labels)
    origin = Origin(f"{kind}-{name}.yaml", 1, 9)
    object_ = Object(Ref(kind, organization, name), metadata, spec, origin, created=created)
    return as_written_in(dialect, object_)


CONVENTIONS = {
    "native": NATIVE,
    "greenhouse": greenhouse.CONVENTIONS,
    "ocm": ocm.BY_PLACEMENTS,
    "ocm-by-hand": ocm.BY_HAND,
}


def as_written_in(dialect: str, object_: Object[Any]) -> Object[Any]:
    """The object with what its manifests mean in a system."""
    return replace(object_, dialect=dialect, conventions=CONVENTIONS[dialect])


def a_cluster(name: str, labels: dict[str, str], organization: str = ACME) -> Object[ClusterSpec]:
    return an_object("Cluster", name, ClusterSpec(), organization, labels)


def an_override(name: str, spec: PluginOverrideSpec, created: datetime | None = None) -> Object[PluginOverrideSpec]:
    return an_object("PluginOverride", name, spec, created=created)


@st.composite
def definitions(draw: st.DrawFn) -> list[Object[PluginDefinitionSpec]]:
    """One or two definitions of one or two versions; some belong to the platform, or to both."""
    found = []
    for name in DEFINITIONS[: draw(st.integers(1, 2))]:
        for version in draw(st.lists(VERSIONS, min_size=1, max_size=2, unique=True)):
            home = draw(st.sampled_from([ACME, ACME, PLATFORM_NAMESPACE]))
            spec = PluginDefinitionSpec(version, options=draw(OPTIONS))
            found.append(an_object("PluginDefinition", name, spec, home))
    return found


@st.composite
def preset_specs(draw: st.DrawFn, name: str, plain: bool = False) -> PluginPresetSpec:
    """plain ones have no groups and no blocks, so that a hand-made plugin can say the same."""
    definition = DefinitionRef(draw(st.sampled_from(DEFINITIONS)), version=draw(st.sampled_from([None, None, "1.0.0"])))
    # Mostly a release of its own, so that presets claim each other's releases only now and then.
    release = draw(st.sampled_from([name, name, name, None]))
    template = PluginTemplate(definition, release_name=release, option_values=draw(OPTION_VALUES))
    selector = draw(st.one_of(st.just(ClusterSelector()), SELECTORS))
    if plain:
        return PluginPresetSpec(plugin=template, cluster_selector=selector)
    return PluginPresetSpec(
        plugin=template,
        cluster_selector=selector,
        groups=draw(GROUPS),
        cluster_option_overrides=draw(BLOCKS),
        cluster_overrides=draw(BLOCKS),
    )


@st.composite
def presets(draw: st.DrawFn, name: str, plain: bool = False) -> Object[PluginPresetSpec]:
    spec, created = draw(preset_specs(name, plain)), draw(STAMPS)
    dialect = draw(st.sampled_from(["native", "native", "native", "greenhouse"]))
    return an_object("PluginPreset", name, spec, created=created, dialect=dialect)


@st.composite
def instances(draw: st.DrawFn) -> Object[PluginSpec]:
    """Values beside a preset (B4)."""
    preset, cluster = draw(st.sampled_from(PRESETS)), draw(SOME_CLUSTER)
    spec = PluginSpec(preset_ref=NameRef(preset), option_values=draw(OPTION_VALUES))
    return an_object("Plugin", generated_name(preset, cluster), spec)


@st.composite
def hand_made(draw: st.DrawFn) -> Object[PluginSpec]:
    # One name is that of a plugin which a preset makes.
    name = draw(st.sampled_from(["hand-0", "hand-1", "p0-c0"]))
    spec = PluginSpec(
        plugin_definition=draw(st.sampled_from(DEFINITIONS)),
        cluster_name=draw(SOME_CLUSTER),
        release_name=name,
        option_values=draw(OPTION_VALUES),
    )
    return an_object("Plugin", name, spec, created=draw(STAMPS))


@st.composite
def overrides(draw: st.DrawFn, name: str) -> Object[PluginOverrideSpec]:
    return an_override(name, draw(OVERRIDE_SPECS), draw(STAMPS))


def a_snapshot(
    clusters: Sequence[Object[Any]],
    definitions: Sequence[Object[Any]],
    presets: Sequence[Object[Any]] = (),
    plugins: Sequence[Object[Any]] = (),
    overrides: Sequence[Object[Any]] = (),
) -> Snapshot:
    return Snapshot(
        NOW,
        clusters={each.ref: each for each in clusters},
        definitions={(each.ref, each.spec.version): each for each in definitions},
        presets={each.ref: each for each in presets},
        plugins={each.ref: each for each in plugins},
        overrides={each.ref: each for each in overrides},
    )


@st.composite
def fleets(draw: st.DrawFn, plain: bool = False, max_overrides: int = 6) -> Snapshot:
    """One organization's fleet; a plain one has no groups, blocks or plugins written by hand."""
    labels = draw(st.lists(LABEL_SETS, min_size=1, max_size=6))
    beside = [] if plain else draw(st.lists(st.one_of(instances(), hand_made()), max_size=3))
    return a_snapshot(
        [a_cluster(name, each) for name, each in zip(CLUSTERS, labels, strict=False)],
        draw(definitions()),
        [draw(presets(name, plain)) for name in PRESETS[: draw(st.integers(1, 3))]],
        beside,
        [draw(overrides(f"o{number}")) for number in range(draw(st.integers(0, max_overrides)))],
    )
