"""Paths, strategies, and the rules that options state."""

from __future__ import annotations

from itertools import permutations

import pytest

from fleetform.app.fleet import Fleet
from fleetform.engine.desired import values_tree
from support.fleets import BASE, PRESET, codes, documents, fleet_of, fleet_with, override, plugin_on, value_on


def errors(fleet: Fleet) -> list[str]:
    return [each.code for each in fleet.findings.all if each.severity == "error"]


@pytest.mark.rule("R0-6")
@pytest.mark.parametrize("second", ["replicas", "/replicas"])
def test_one_path_with_two_values_is_refused_with_both_places(second: str) -> None:
    fleet = fleet_with(
        override=f"""
        apiVersion: fleetform.dev/v1alpha1
        kind: PluginOverride
        metadata: {{name: o, namespace: acme}}
        spec:
          overrides:
          - path: replicas
            value: 5
          - path: {second}
            value: 7
        """
    )
    (found,) = fleet.findings.all
    locator = fleet.input.locator
    assert (found.code, found.severity) == ("conflicting-values", "error")
    assert (locator.place(found.at).line, [locator.place(each).line for each in found.related]) == (9, [7])  # type: ignore[arg-type]


@pytest.mark.rule("R0-7")
@pytest.mark.parametrize("second", ["labels.team", "/labels/team"])
def test_the_same_path_and_value_twice_is_a_warning_in_whatever_spelling(second: str) -> None:
    items = f"[{{path: labels.team, value: a}}, {{path: {second}, value: a}}]"
    fleet = fleet_with(override=override("o", items))
    assert [(each.code, each.severity) for each in fleet.findings.all] == [("repeated-value", "warning")]


@pytest.mark.rule("R0-7")
@pytest.mark.parametrize(
    "items",
    [
        "[{path: labels, value: {}}, {path: labels.team, value: a}]",
        "[{path: labels.team, value: a}, {path: labels, value: {}}]",
    ],
)
def test_a_path_and_another_inside_it_are_refused_in_either_order(items: str) -> None:
    assert errors(fleet_with(override=override("o", items))) == ["conflicting-values"]


DOTTED = """
apiVersion: fleetform.dev/v1alpha1
kind: PluginDefinition
metadata: {name: web, namespace: acme}
spec:
  version: 1.0.0
  source: {manifests: {path: ./m}}
  options:
  - {name: controller, type: map, default: {a: 1}}
  - {name: controller.config.deep, type: map, default: {x: {z: 1}}}
  - {name: "extraArgs[0]", type: string, default: --one}
  - {name: replicas, type: int}
"""


@pytest.mark.rule("R0-8")
@pytest.mark.parametrize(
    ("path", "option", "inside"),
    [
        ("controller.config.deep.x.z", "controller.config.deep", ("x", "z")),
        ("/controller/config/deep/x", "controller.config.deep", ("x",)),
        ("controller.other", "controller", ("other",)),
        ("extraArgs[0]", "extraArgs[0]", ()),
        ("/extraArgs/0", "extraArgs[0]", ()),
    ],
)
def test_the_longest_declared_name_wins_and_the_rest_is_a_path_inside(
    path: str, option: str, inside: tuple[str, ...]
) -> None:
    value = "--two" if "extraArgs" in path else "5"
    fleet = fleet_with(definition=DOTTED, override=override("o", f"[{{path: '{path}', value: '{value}'}}]"))
    decision = plugin_on(fleet, "eu-1").options[option]
    if inside:
        said = [part.steps for part in decision.parts if part.winner.layer.name == "override"]
        assert said == [inside]
    else:
        assert decision.winner is not None
        assert decision.winner.layer.name == "override"


@pytest.mark.rule("R0-8")
def test_option_names_become_the_tree_that_the_renderer_gets() -> None:
    fleet = fleet_with(definition=DOTTED)
    assert values_tree(plugin_on(fleet, "eu-1").options) == {
        "controller": {"a": 1, "config": {"deep": {"x": {"z": 1}}}},
        "extraArgs": ["--one"],
        "replicas": 2,
    }


@pytest.mark.rule("R0-9")
@pytest.mark.parametrize(
    ("item", "code"),
    [
        ("{path: replicas, value: many}", "wrong-type"),
        ("{path: replicas, value: 100}", "wrong-type"),
        ("{path: replicas, value: true}", "wrong-type"),
        ("{path: args, value: {}}", "wrong-type"),
        ("{path: replicas.inner, value: 1}", "wrong-type"),
        ("{path: replicas, value: 1, valueFrom: {secret: {name: s, key: k}}}", "exactly-one"),
        ("{path: replicas}", "exactly-one"),
        ("{path: host, valueFrom: {}}", "missing-field"),
        ("{path: 'a..b', value: 1}", "bad-path"),
        ("{path: host, expression: 'cluster.'}", "bad-expression"),
        ("{path: args, value: [x], strategy: Merge}", "bad-value"),
        ("{path: host, value: x, strategy: Remove}", "exactly-one"),
    ],
)
def test_an_overrides_value_is_held_to_the_options_rules(item: str, code: str) -> None:
    assert code in errors(fleet_with(override=override("o", f"[{item}]", "pluginDefinitionNames: [web]")))


@pytest.mark.rule("R0-9")
def test_regex_and_enum_of_the_option_are_checked_on_overrides() -> None:
    definition = BASE["definition.yaml"].replace(
        "{name: host, type: string}", "{name: host, type: string, regex: '^[a-z]+$', enum: [abc, abd]}"
    )
    for value, expected in (("ABC", ["wrong-type"]), ("xyz", ["wrong-type"]), ("abc", [])):
        fleet = fleet_with(definition=definition, override=override("o", f"[{{path: host, value: {value}}}]"))
        assert errors(fleet) == expected


@pytest.mark.rule("R0-9")
def test_a_value_may_come_from_a_secret() -> None:
    fleet = fleet_with(override=override("o", "[{path: token, valueFrom: {secret: {name: s, key: k}}}]"))
    assert codes(fleet) == []
    value = value_on(fleet, "eu-1", "token")
    assert (value.ref.name, value.ref.key) == ("s", "k")  # type: ignore[attr-defined]


@pytest.mark.rule("R0-22")
def test_an_override_that_names_no_definition_is_skipped_where_the_option_is_not_declared() -> None:
    other = (
        BASE["definition.yaml"]
        .replace("name: web", "name: other")
        .replace("{name: host, type: string}", "{name: port, type: int}")
    )
    preset = BASE["preset.yaml"].replace("name: web", "name: other")
    fleet = fleet_with(more=documents(other, preset), override=override("o", "[{path: host, value: x}]"))
    assert codes(fleet) == []
    plugins = fleet.decisions.plugins
    assert plugins["acme", "eu-1", "web-eu-1"].options["host"].value == "x"
    skipped = plugins["acme", "eu-1", "other-eu-1"].skipped
    assert [(each.item.text, each.reason) for each in skipped] == [("host", "not-declared")]
    assert "host" not in values_tree(plugins["acme", "eu-1", "other-eu-1"].options)


@pytest.mark.rule("R0-22")
def test_an_override_that_names_a_definition_without_the_option_is_an_error_unless_allowed() -> None:
    named = "pluginDefinitionNames: [web]"
    fleet = fleet_with(override=override("o", "[{path: hots, value: x}]", named))
    assert [(each.code, each.hint) for each in fleet.findings.all if each.severity == "error"] == [
        ("undeclared-option", "did you mean host?")
    ]
    allowed = fleet_with(override=override("o", "[{path: hots, value: x}]", f"{named}, allowUndeclared: true"))
    assert codes(allowed) == []
    assert values_tree(plugin_on(allowed, "eu-1").options)["hots"] == "x"


@pytest.mark.rule("S14")
def test_a_presets_undeclared_option_is_an_error_natively() -> None:
    preset = BASE["preset.yaml"].replace("{name: replicas, value: 2}", "{name: replica, value: 2}")
    found = fleet_with(preset=preset).findings.all
    assert [(each.code, each.severity, each.hint) for each in found] == [
        ("undeclared-option", "error", "did you mean replicas?")
    ]


@pytest.mark.rule("S18")
def test_merge_goes_deep_into_maps_and_replaces_lists() -> None:
    definition = BASE["definition.yaml"].replace("{team: none}", "{team: none, nested: {a: 1, list: [1, 2]}}")
    items = "[{path: labels, value: {nested: {b: 2, list: [3]}, new: x}, strategy: Merge}]"
    fleet = fleet_with(definition=definition, override=override("o", items))
    assert value_on(fleet, "eu-1", "labels") == {"team": "none", "nested": {"a": 1, "b": 2, "list": [3]}, "new": "x"}


@pytest.mark.rule("S18")
def test_remove_leaves_the_default_or_nothing() -> None:
    preset = BASE["preset.yaml"] + "    - {name: host, value: example}\n"
    items = "[{path: replicas, strategy: Remove}, {path: host, strategy: Remove}]"
    fleet = fleet_with(preset=preset, override=override("o", items))
    options = plugin_on(fleet, "eu-1").options
    assert options["replicas"].value == 1
    assert options["replicas"].removed_by is not None
    assert "host" not in values_tree(plugin_on(fleet, "eu-1").options)
    assert [item.layer.name for item in options["host"].hidden] == ["preset"]


@pytest.mark.rule("R0-13")
def test_where_a_cluster_s_own_value_is_not_known_no_other_takes_its_place() -> None:
    own = "[{clusterName: eu-1, overrides: [{name: host, expression: cluster.facts.host}]}]"
    preset = BASE["preset.yaml"] + f"    - {{name: host, value: example}}\n  clusterOptionOverrides: {own}\n"
    fleet = fleet_with(preset=preset)
    assert fleet.inputs.values(plugin_on(fleet, "eu-2"))["host"] == "example"
    assert "host" not in fleet.inputs.values(plugin_on(fleet, "eu-1"))


@pytest.mark.parametrize("more", ["", ", {name: replicas, value: 5}"])
def test_an_expression_that_one_cluster_alone_has_is_its_value_there(more: str) -> None:
    own = f"[{{clusterName: eu-1, overrides: [{{name: host, expression: cluster.name}}{more}]}}]"
    fleet = fleet_with(preset=BASE["preset.yaml"] + f"  clusterOptionOverrides: {own}\n")
    assert value_on(fleet, "eu-1", "host") == "eu-1"
    assert "host" not in fleet.inputs.values(plugin_on(fleet, "eu-2"))


def test_beside_values_that_differ_by_cluster_what_is_wrong_with_a_clusters_own_is_told_once() -> None:
    own = "[{clusterName: eu-1, overrides: [{name: args, expression: cluster.facts.args}]}]"
    by_cluster = BASE["preset.yaml"] + "    - {name: host, expression: cluster.name}\n"
    fleet = fleet_with(preset=f"{by_cluster}  clusterOptionOverrides: {own}\n")
    assert [(each.gate, each.option) for each in plugin_on(fleet, "eu-1").gates] == [("value-type", "args")]


@pytest.mark.rule("S18")
def test_remove_inside_a_map_takes_only_that_key_back_to_the_default() -> None:
    preset = BASE["preset.yaml"] + "    - {name: labels, value: {team: web, cost: low}}\n"
    items = "[{path: labels.team, strategy: Remove}, {path: labels.cost, strategy: Remove}]"
    fleet = fleet_with(preset=preset, override=override("o", items))
    assert value_on(fleet, "eu-1", "labels") == {"team": "none"}


@pytest.mark.rule("S18")
def test_a_null_value_is_refused_with_the_way_out() -> None:
    (found,) = fleet_with(override=override("o", "[{path: host, value: null}]")).findings.errors
    assert (found.code, "Remove" in found.hint) == ("null-value", True)


@pytest.mark.rule("S18")
@pytest.mark.parametrize(("index", "expected"), [(0, ["x", "b"]), (1, ["a", "x"]), (2, ["a", "b", "x"])])
def test_an_index_replaces_and_the_next_one_appends(index: int, expected: list[str]) -> None:
    fleet = fleet_with(override=override("o", f"[{{path: 'args[{index}]', value: x}}]"))
    assert value_on(fleet, "eu-1", "args") == expected


@pytest.mark.rule("S18")
def test_an_index_past_the_end_blocks_and_says_which_is_next() -> None:
    fleet = fleet_with(override=override("o", "[{path: 'args[3]', value: x}]"))
    (gate,) = plugin_on(fleet, "eu-1").gates
    assert (gate.gate, "2 is next" in gate.message) == ("value-type", True)
    (error,) = fleet.findings.errors
    assert (error.code, error.path) == ("wrong-index", "spec.overrides[0]")
    assert "shadowed-override" not in codes(fleet)


@pytest.mark.rule("S30", "S54")
@pytest.mark.parametrize("name", ["host.inner", "labels.team"])
def test_an_option_inside_another_is_refused(name: str) -> None:
    inside = fleet_with(definition=BASE["definition.yaml"] + f"  - {{name: {name}, type: string}}\n")
    assert errors(inside) == ["duplicate-option"]


@pytest.mark.rule("S20")
def test_parts_have_winners_of_their_own_and_what_each_hid() -> None:
    overrides = documents(
        override("old", "[{path: labels.team, value: a}]", created="2026-01-01"),
        override("new", "[{path: labels.team, value: b}]", created="2026-02-01"),
    )
    decision = plugin_on(fleet_with(overrides=overrides), "eu-1").options["labels"]
    assert decision.winner is not None
    assert decision.winner.layer.name == "default"
    (part,) = decision.parts
    assert (part.steps, part.value, part.tie) == (("team",), "b", "created")
    assert [item.layer.object.ref.name for item in (part.winner, *part.hidden)] == ["new", "old", "web"]
    assert decision.value == {"team": "b"}


@pytest.mark.rule("S19")
def test_an_expired_override_no_longer_applies_and_warns() -> None:
    fleet = fleet_with(override=override("o", "[{path: replicas, value: 9}]", "expires: 2026-10-31"))
    assert value_on(fleet, "eu-1", "replicas") == 2
    assert codes(fleet) == ["expired-override"]
    later = fleet_with(override=override("o", "[{path: replicas, value: 9}]", "expires: 2026-11-02"))
    assert value_on(later, "eu-1", "replicas") == 9


@pytest.mark.rule("S30")
def test_an_option_declared_twice_is_refused() -> None:
    definition = BASE["definition.yaml"] + "  - {name: /replicas, type: int}\n"
    assert errors(fleet_with(definition=definition)) == ["duplicate-option"]


@pytest.mark.rule("S30")
def test_a_stage_named_twice_is_refused() -> None:
    policy = """
    apiVersion: fleetform.dev/v1alpha1
    kind: RolloutPolicy
    metadata: {name: standard, namespace: acme}
    spec:
      stages:
      - {name: qa, clusterSelector: {matchLabels: {tier: dev}}}
      - {name: qa, remainder: true}
    """
    assert errors(fleet_with(policy=policy)) == ["duplicate-stage"]


def test_expressions_see_the_cluster_the_organization_and_the_definition() -> None:
    preset = BASE["preset.yaml"] + (
        "    - {name: host, expression: \"definition.name + '.' + cluster.name + '.' + organization.name\"}\n"
    )
    preset = preset.replace(
        "{name: replicas, value: 2}", "{name: replicas, expression: \"cluster.labels.tier == 'gold' ? 3 : 1\"}"
    )
    fleet = fleet_with(preset=preset)
    assert codes(fleet) == []
    assert [value_on(fleet, cluster, "replicas") for cluster in ("eu-1", "eu-2", "us-1")] == [3, 1, 3]
    assert value_on(fleet, "us-1", "host") == "web.us-1.acme"


def test_an_expression_that_fails_on_one_cluster_blocks_that_plugin_alone() -> None:
    clusters = BASE["clusters.yaml"].replace("labels: {region: us, tier: gold}", "labels: {region: us}")
    preset = BASE["preset.yaml"].replace("{name: replicas, value: 2}", "{name: host, expression: cluster.labels.tier}")
    fleet = fleet_with(clusters=clusters, preset=preset)
    gates = {cluster: [gate.gate for gate in plugin_on(fleet, cluster).gates] for cluster in ("eu-1", "us-1")}
    assert gates == {"eu-1": [], "us-1": ["value-type"]}
    assert "tier" in plugin_on(fleet, "us-1").gates[0].message


@pytest.mark.rule("S13")
def test_a_required_option_without_a_value_is_a_gate_there_and_a_warning() -> None:
    definition = BASE["definition.yaml"].replace(
        "{name: host, type: string}", "{name: host, type: string, required: true}"
    )
    only_eu = override("o", "[{path: host, value: x}]", "clusterSelector: {matchLabels: {region: eu}}")
    fleet = fleet_with(definition=definition, override=only_eu)
    assert [gate.gate for gate in plugin_on(fleet, "us-1").gates] == ["required-option"]
    assert plugin_on(fleet, "eu-1").gates == ()
    assert [(each.code, each.severity) for each in fleet.findings.all] == [("missing-required", "warning")]


@pytest.mark.rule("S13")
def test_a_value_wrong_for_some_revisions_only_is_a_gate_there_and_no_error() -> None:
    newer = (
        BASE["definition.yaml"]
        .replace("1.0.0", "2.0.0")
        .replace("{name: host, type: string}", "{name: host, type: int}")
    )
    fleet = fleet_with(newer=newer, override=override("o", "[{path: host, value: x}]", "pluginDefinitionNames: [web]"))
    assert errors(fleet) == []
    assert [gate.gate for gate in plugin_on(fleet, "eu-1").gates] == ["value-type"]


@pytest.mark.rule("S6")
def test_versions_side_by_side_are_revisions_and_the_newest_stable_is_taken() -> None:
    more = documents(
        *(BASE["definition.yaml"].replace("1.0.0", version) for version in ("1.10.0", "1.9.0", "2.0.0-rc.1"))
    )
    assert plugin_on(fleet_with(more=more), "eu-1").version == "1.10.0"
    pinned = BASE["preset.yaml"].replace("{name: web}\n", "{name: web, version: v1.9.0}\n")
    assert plugin_on(fleet_with(more=more, preset=pinned), "eu-1").version == "1.9.0"


@pytest.mark.rule("S6")
def test_one_version_with_two_contents_is_an_error_naming_both_places() -> None:
    other = BASE["definition.yaml"].replace("default: 1,", "default: 2,")
    (found,) = fleet_with(other=other).findings.all
    assert (found.code, found.severity, len(found.related)) == ("duplicate-object", "error", 1)


def test_a_pin_that_nothing_satisfies_blocks_and_never_falls_back() -> None:
    pinned = BASE["preset.yaml"].replace("{name: web}\n", "{name: web, version: 3.0.0}\n")
    plugin = plugin_on(fleet_with(preset=pinned), "eu-1")
    assert (plugin.version, [gate.gate for gate in plugin.gates]) == (None, ["version"])


def test_every_spelling_of_definition_and_values_loads() -> None:
    preset = """
    apiVersion: fleetform.dev/v1alpha1
    kind: PluginPreset
    metadata: {name: web, namespace: acme}
    spec:
      clusterSelector: {}
      plugin:
        pluginDefinition: web
        pluginDefinitionVersion: 1.0.0
        optionValues: {replicas: 4, labels.team: x}
    """
    fleet = fleet_of({**BASE, "preset.yaml": preset})
    assert codes(fleet) == []
    assert (value_on(fleet, "eu-1", "replicas"), value_on(fleet, "eu-1", "labels")) == (4, {"team": "x"})


@pytest.mark.rule("S60")
@pytest.mark.parametrize(
    ("items", "expected"),
    [
        (
            ["{path: 'args[2]', value: c}", "{path: 'args[3]', value: d}", "{path: 'args[0]', value: z}"],
            ["z", "b", "c", "d"],
        ),
        (
            ["{path: 'args[2]', value: c}", "{path: /args/3, value: d}", "{path: replicas, value: 9}"],
            ["a", "b", "c", "d"],
        ),
    ],
)
def test_items_of_one_override_apply_as_a_set(items: list[str], expected: list[str]) -> None:
    for order in permutations(items):
        fleet = fleet_with(override=override("o", f"[{', '.join(order)}]"))
        assert not errors(fleet)
        assert value_on(fleet, "eu-1", "args") == expected


@pytest.mark.rule("S60")
def test_values_of_one_preset_apply_as_a_set() -> None:
    values = ["{name: 'args[2]', value: c}", "{name: 'args[3]', value: d}"]
    for order in permutations(values):
        preset = BASE["preset.yaml"].replace("- {name: replicas, value: 2}", f"- {order[0]}\n    - {order[1]}")
        assert value_on(fleet_with(preset=preset), "eu-1", "args") == ["a", "b", "c", "d"]


@pytest.mark.rule("S60")
def test_several_items_of_a_list_are_removed_by_the_indexes_that_they_had() -> None:
    preset = BASE["preset.yaml"].replace("{name: replicas, value: 2}", "{name: args, value: [p, q, r, s, t]}")
    removals = [f"{{path: 'args[{index}]', strategy: Remove}}" for index in (2, 4)]
    for order in permutations([*removals, "{path: 'args[3]', value: z}"]):
        fleet = fleet_with(preset=preset, override=override("o", f"[{', '.join(order)}]"))
        assert value_on(fleet, "eu-1", "args") == ["p", "q", "z"]


@pytest.mark.rule("S1")
def test_a_group_that_selects_nothing_hides_none_of_the_others() -> None:
    groups = (
        "  groups:\n  - {name: nobody, optionValues: [{name: replicas, value: 8}]}\n"
        "  - {name: gold, clusterSelector: {matchLabels: {tier: gold}}, optionValues: [{name: replicas, value: 9}]}\n"
    )
    fleet = fleet_with(preset=PRESET + groups)
    assert [value_on(fleet, cluster, "replicas") for cluster in ("eu-1", "eu-2", "us-1")] == [9, 2, 9]
