"""Bindings at random: against a simple resolver, against plain expansion, and in any order."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from fleetform.engine.bindings.conversions import convert
from fleetform.engine.decide import decide
from fleetform.engine.desired import Inputs
from fleetform.model.kinds.base import ClusterSelector, Metadata, OptionValue
from fleetform.model.kinds.definition import Option, PluginDefinitionSpec
from fleetform.model.kinds.preset import Binding, DefinitionRef, PluginPresetSpec, PluginTemplate
from fleetform.model.objects import Object, Origin, Ref
from fleetform.model.results.decisions import ABSENT
from fleetform.model.snapshot import Snapshot
from properties.programs import MAPS, NAMES, Nothing, Simple, programs, reach
from properties.seen import exact, seen
from properties.strategies import NOW, a_cluster, an_object, examples, fleets
from support.bound import config_map, definition_of, everything, preset, secret
from support.fleets import BASE, documents, fleet_of

CLUSTERS = ("c0", "c1")


def a_config_map(name: str, data: dict[str, str]) -> Object[Any]:
    tree = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
    ref = Ref("ConfigMap", "acme", name)
    return Object(ref, Metadata(name=name), None, Origin("m.yaml", 1, 9), "foreign:v1", content=tree)


def a_fleet(bindings: list[Binding]) -> Snapshot:
    """A plugin on two clusters whose options are each one name."""
    values = [OptionValue(f"o{name}", value=f"$({name})") for name in NAMES]
    spec = PluginPresetSpec(
        plugin=PluginTemplate(DefinitionRef("d"), option_values=values),
        cluster_selector=ClusterSelector(),
        control_plane_bindings=bindings,
    )
    definition = PluginDefinitionSpec("1.0.0", options=[Option(f"o{name}", "any") for name in NAMES])
    objects = [an_object("PluginDefinition", "d", definition), an_object("PluginPreset", "p", spec)]
    clusters = [a_cluster(name, {}) for name in CLUSTERS]
    return Snapshot(
        NOW,
        clusters={each.ref: each for each in clusters},
        definitions={(objects[0].ref, "1.0.0"): objects[0]},
        presets={objects[1].ref: objects[1]},
        others={each.ref: each for each in (a_config_map(name, data) for name, data in MAPS.items())},
    )


def _converted(value: Any, how: Any) -> Any:
    return convert(value, how)


@pytest.mark.rule("R3-15", "R3-17", "R3-24", "R3-25", "R3-26")
@examples(400)
@given(programs())
def test_bindings_and_options_are_what_a_simple_resolver_says(bindings: list[Binding]) -> None:
    decisions = decide(a_fleet(bindings))
    inputs = Inputs(decisions)
    written = {each.name: each for each in bindings}
    leads_to = reach(written)
    in_cycles = {name for name, names in leads_to.items() if name in names}
    for plugin in decisions.plugins.values():
        simple = Simple(written, plugin.cluster.ref.name, _converted)
        bound = {each.name: each for each in inputs.bound(plugin)}
        program = decisions.index.owners[plugin.target.owner].program
        assert program is not None
        assert bool(program.cycles) == bool(in_cycles)
        for name in written:
            if leads_to[name] & in_cycles:
                continue
            expected = simple.value(name)
            missing = bound[name].unresolved
            if isinstance(expected, Nothing):
                assert missing is not None, name
                assert missing.gate == expected.gate, name
                assert plugin.options[f"o{name}"].value is ABSENT, name
            else:
                assert exact(bound[name].value) == exact(expected), name
                assert exact(plugin.options[f"o{name}"].value) == exact(expected), name


@pytest.mark.rule("R3-15")
@examples(150)
@given(programs(), st.randoms(use_true_random=False))
def test_the_order_in_which_names_are_bound_changes_nothing(bindings: list[Binding], random: Random) -> None:
    shuffled = random.sample(bindings, len(bindings))
    one, other = (everything(decide(a_fleet(each))) for each in (bindings, shuffled))
    for key, (plugin, missing, bound, *rest) in one.items():
        assert (plugin.options, sorted(missing), sorted(bound), *rest) == (
            other[key][0].options,
            sorted(other[key][1]),
            sorted(other[key][2]),
            *other[key][3:],
        )


@pytest.mark.rule("B6")
@examples(80)
@given(fleets())
def test_a_section_of_bindings_that_binds_nothing_decides_nothing_else(snapshot: Snapshot) -> None:
    """Such values are decided in other ways, some of them once for all clusters: the answers are the same."""

    def binding(owner: Object[Any]) -> Object[Any]:
        return replace(owner, spec=structs.replace(owner.spec, control_plane_bindings=[]))

    presets, plugins = (
        {ref: binding(each) for ref, each in them.items()} for them in (snapshot.presets, snapshot.plugins)
    )
    assert seen(decide(replace(snapshot, presets=presets, plugins=plugins))) == seen(decide(snapshot))


# ---- Files in any order

BINDS = (
    "[{name: A, value: a-$(B)}, {name: B, objectFieldRef: {kind: ConfigMap, name: $(C), fieldPath: /data/k}},"
    " {name: C, value: c}]"
)
READS = "[{name: A, pluginOutputRef: {definition: ca, output: out}}, {name: B, value: $(A)$(cluster.labels.tier)}]"
TEXTS = [
    *(document for text in BASE.values() for document in text.split("---\n") if "PluginPreset" not in document),
    preset("[{name: host, value: $(B)}, {name: args, value: [$(A), $(NOWHERE)]}]", READS),
    preset("[{name: host, value: $(A)}]", BINDS, name="ca"),
    definition_of("ca", "[{name: out, value: 'made of $(A)'}]"),
    config_map("c", k="data"),
    config_map("d", k="data"),
    secret("s", k="data"),
]


@pytest.mark.rule("R3-15", "R0-14")
@examples(40)
@given(st.randoms(use_true_random=False))
def test_the_order_of_files_and_documents_changes_nothing(random: Random) -> None:
    shuffled = random.sample(TEXTS, len(TEXTS))
    cut = random.randrange(1, len(shuffled))
    parts = {"b.yaml": shuffled[:cut], "a.yaml": shuffled[cut:]}
    fleets = [fleet_of(documents(*TEXTS)), fleet_of({name: documents(*texts) for name, texts in parts.items()})]
    one, other = (
        (everything(each.decisions), sorted((found.code, found.message) for found in each.findings.all))
        for each in fleets
    )
    assert one == other
