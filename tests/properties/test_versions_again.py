"""Versions that come, go and change: a pass that is given the one before answers as a fresh one does, for less work."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetform.engine.decide import decide
from fleetform.engine.decisions import Decisions
from fleetform.model.kinds.base import ClusterSelector, OptionValue
from fleetform.model.kinds.definition import (
    Changes,
    MigrationStep,
    Option,
    PluginDefinitionSpec,
    Removal,
    Rename,
    Support,
)
from fleetform.model.kinds.lifecycle import LifecyclePolicySpec
from fleetform.model.kinds.preset import Acknowledgement, DefinitionRef, PluginPresetSpec, PluginTemplate, Upgrades
from fleetform.model.objects import Object, Ref
from fleetform.model.results.decisions import PluginDecision
from fleetform.model.snapshot import Snapshot
from properties.edits import put, taken
from properties.seen import seen_plugin
from properties.strategies import NOW, a_cluster, an_object, examples
from support.states import states

NUMBERS = ("1.0.0", "1.1.0", "1.2.0", "2.0.0", "2.1.0-rc.1")
WANTED = (None, "1.1.0", "~1.1.0", "^1.0", ">=1.0 <3", ">=2.1.0-0", "2.x", "9.0.0")
CLUSTERS = ("c0", "c1", "c2")
OPTIONS = (
    Option("host", "string"),
    Option("server", "string"),
    Option("port", "int", default=1),
    Option("port", "int", required=True),
    Option("token", "secret"),
    Option("token", "string"),
)
CHANGES = (
    None,
    Changes(breaking=True),
    Changes(irreversible=True),
    Changes(migrations=[MigrationStep(rename=Rename("host", "server"))]),
    Changes(migrations=[MigrationStep(remove=Removal("host"))]),
)
VALUES = (OptionValue("host", "a"), OptionValue("server", "b"), OptionValue("port", 2), OptionValue("token", "t"))


@st.composite
def specs(draw: st.DrawFn, number: str) -> PluginDefinitionSpec:
    chosen = draw(st.lists(st.sampled_from(OPTIONS), max_size=4, unique_by=lambda option: option.name))
    return PluginDefinitionSpec(number, options=chosen, changes=draw(st.sampled_from(CHANGES)))


@st.composite
def presets(draw: st.DrawFn, name: str) -> Object[PluginPresetSpec]:
    values = draw(st.lists(st.sampled_from(VALUES), max_size=3, unique_by=lambda value: value.name))
    wanted = DefinitionRef("d", version=draw(st.sampled_from(WANTED)))
    template = PluginTemplate(wanted, release_name=name, option_values=values)
    agreed = [Acknowledgement(number) for number in draw(st.lists(st.sampled_from(NUMBERS[1:4]), max_size=1))]
    spec = PluginPresetSpec(plugin=template, cluster_selector=ClusterSelector(), upgrades=Upgrades(agreed))
    return an_object("PluginPreset", name, spec)


@st.composite
def fleets(draw: st.DrawFn) -> Snapshot:
    numbers = draw(st.lists(st.sampled_from(NUMBERS), min_size=1, unique=True))
    offered = [an_object("PluginDefinition", "d", draw(specs(number))) for number in numbers]
    owners = [draw(presets(name)) for name in ("p", "q")]
    clusters = [a_cluster(name, {}) for name in CLUSTERS]
    keys = [("acme", cluster, f"{owner}-{cluster}") for cluster in CLUSTERS for owner in ("p", "q")]
    running = draw(st.dictionaries(st.sampled_from(keys), st.sampled_from(NUMBERS)))
    return Snapshot(
        NOW,
        clusters={each.ref: each for each in clusters},
        definitions={(each.ref, each.spec.version): each for each in sorted(offered, key=_version)},
        presets={each.ref: each for each in owners},
        states=states(running),
    )


def _version(object_: Object[Any]) -> str:
    return str(object_.spec.version)


@st.composite
def edits(draw: st.DrawFn, before: Snapshot) -> Snapshot:
    """A version written or taken away, or a policy changed."""
    what = draw(st.sampled_from(["write", "write", "take", "policy"]))
    if what == "policy":
        rule = Support("d", floor=draw(st.sampled_from(NUMBERS[:3])), yanked=[draw(st.sampled_from(NUMBERS))])
        policy = an_object("LifecyclePolicy", "default", LifecyclePolicySpec(support=[rule]))
        return replace(before, others={policy.ref: policy})
    number = draw(st.sampled_from(NUMBERS))
    key = (Ref("PluginDefinition", "acme", "d"), number)
    if what == "take":
        return replace(before, definitions=taken(before.definitions, key))
    object_ = an_object("PluginDefinition", "d", draw(specs(number)))
    return replace(before, definitions=put(before.definitions, key, object_))


def seen(plugin: PluginDecision) -> Any:
    """Everything that follows from versions."""
    skipped = [(each.item.text, each.reason) for each in plugin.skipped]
    secret = [(each.slot.name, each.slot.secret) for each in plugin.options.values()]
    migrated = [(each.name, each.winner.migrated_from) for each in plugin.options.values() if each.winner]
    upgrade = seen(plugin.upgrade) if plugin.upgrade is not None else None
    return seen_plugin(plugin), skipped, secret, migrated, plugin.running, plugin.target.forced, upgrade


def everything(decisions: Decisions) -> dict[Any, Any]:
    return {key: seen(plugin) for key, plugin in decisions.plugins.items()}


@pytest.mark.rule("R0-14", "R0-16")
@examples(400)
@given(fleets(), st.data())
def test_versions_decided_one_by_one_equal_a_fresh_decision(snapshot: Snapshot, data: st.DataObject) -> None:
    decisions = decide(snapshot)
    for _ in range(data.draw(st.integers(1, 3))):
        snapshot = data.draw(edits(snapshot))
        decisions = decide(snapshot, decisions)
        assert everything(decisions) == everything(decide(snapshot))


@examples(100)
@given(fleets())
def test_a_new_revision_that_nobodys_range_admits_leaves_every_decision_as_it_is(snapshot: Snapshot) -> None:
    before = decide(snapshot)
    newest = an_object("PluginDefinition", "d", PluginDefinitionSpec("0.1.0-alpha"))
    after = decide(
        replace(snapshot, definitions=put(snapshot.definitions, (newest.ref, "0.1.0-alpha"), newest)), before
    )
    # One whose range nothing satisfies is told what there is, and that changed.
    unsatisfied = [key for key, plugin in before.plugins.items() if plugin.wanted_version is None]
    assert [key for key in after.plugins if after.plugins[key] is not before.plugins[key]] == unsatisfied
