"""One order for all that is folded: undeclared paths, options inside others, migrated values; and misfits."""

from __future__ import annotations

from typing import Any

import pytest

from fleetform.app.fleet import Fleet
from fleetform.model.results.decisions import ABSENT
from fleetform.ports.state import KnownState
from support.bound import bound_fleet, gates_on, told
from support.fleets import BASE, DEFINITION, codes, documents, fleet_with, override, plugin_on, value_on
from support.states import states

ANY = "allowUndeclared: true"


def tree_of(fleet: Fleet, cluster: str = "eu-1") -> dict[str, Any]:
    return fleet.inputs.values(plugin_on(fleet, cluster))


# ---- Paths that nobody declares


@pytest.mark.rule("S55")
@pytest.mark.parametrize(
    ("items", "value"),
    [
        (["[{path: extra.b, value: 2}]", "[{path: extra, value: {a: 1}}]", "[{path: extra.a, strategy: Remove}]"], {}),
        (["[{path: extra, value: {a: 1}}]", "[{path: extra.b, value: 2}]"], {"a": 1, "b": 2}),
        (["[{path: extra.b, value: 2}]", "[{path: extra, value: {a: 1}}]"], {"a": 1}),
        (
            ["[{path: extra, value: {a: {x: 1}}}]", "[{path: extra, value: {a: {z: 2}}, strategy: Merge}]"],
            {"a": {"x": 1, "z": 2}},
        ),
        (["[{path: /extra/a, value: 1}]", "[{path: extra.a, value: 2}]"], {"a": 2}),
        (["[{path: extra, value: {a: 1}}]", "[{path: extra, strategy: Remove}]"], None),
        (["[{path: extra, value: [a, b]}]", "[{path: 'extra[0]', strategy: Remove}]"], ["b"]),
    ],
)
def test_undeclared_paths_go_by_age_and_strategy(items: list[str], value: object) -> None:
    written = [override(f"o{n}", each, ANY, created=f"2026-01-0{n + 1}") for n, each in enumerate(items)]
    # The order of files decides nothing.
    for texts in (written, written[::-1]):
        assert tree_of(fleet_with(overrides=documents(*texts))).get("extra") == value


@pytest.mark.rule("S55", "R0-10")
def test_undeclared_paths_go_by_rank_before_age() -> None:
    whole = override("whole", "[{path: extra, value: {a: 1}}]", ANY, created="2026-02-01")
    part = override(
        "part", "[{path: extra.b, value: 2}]", f"{ANY}, clusterSelector: {{clusterNames: [eu-1]}}", "2026-01-01"
    )
    fleet = fleet_with(overrides=documents(whole, part))
    assert (tree_of(fleet)["extra"], tree_of(fleet, "eu-2")["extra"]) == ({"a": 1, "b": 2}, {"a": 1})


@pytest.mark.rule("S55")
def test_an_undeclared_map_above_declared_options_is_one_value_with_them() -> None:
    definition = DEFINITION + "  - {name: image.tag, type: string, default: '1'}\n"
    newest = override("whole", "[{path: image, value: {tag: '2', name: x}}]", ANY, created="2026-02-01")
    fleet = fleet_with(definition=definition, o=newest)
    assert tree_of(fleet)["image"] == {"tag": "2", "name": "x"}
    assert value_on(fleet, "eu-1", "image.tag") == "2"
    part = override("part", "[{path: image.tag, value: '3'}]", created="2026-03-01")
    assert tree_of(fleet_with(definition=definition, o=newest, p=part))["image"] == {"tag": "3", "name": "x"}


@pytest.mark.rule("S55", "R1-14")
def test_values_of_configs_can_be_removed_and_merged_into() -> None:
    definition = DEFINITION + "  configs: [{group: '', resource: configmaps, values: {from: /data, to: extra}}]\n"
    preset = BASE["preset.yaml"] + "    configs: [{group: '', resource: configmaps, name: c}]\n"
    config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: acme}\ndata: {a: '1', b: '2'}\n"
    files = {"definition": definition, "preset": preset, "config": config}
    assert tree_of(fleet_with(**files))["extra"] == {"a": "1", "b": "2"}
    for items, value in (
        ("[{path: extra.a, strategy: Remove}]", {"b": "2"}),
        ("[{path: extra, strategy: Remove}]", None),
        ("[{path: extra, value: {c: '3'}, strategy: Merge}]", {"a": "1", "b": "2", "c": "3"}),
        ("[{path: extra.b, value: x}]", {"a": "1", "b": "x"}),
    ):
        assert tree_of(fleet_with(**files, o=override("o", items, ANY))).get("extra") == value


# ---- Options inside others

NESTED = """
apiVersion: greenhouse.sap/v1alpha1
kind: PluginDefinition
metadata: {name: web, namespace: acme}
spec:
  version: 1.0.0
  helmChart: {name: web, repository: oci://example.com/charts, version: 1.0.0}
  options:
  - {name: m, type: map, default: {k: 1, j: 2}}
  - {name: m.k, type: int, default: 5}
"""


def nested_fleet(*overrides: str, values: str = "[]") -> Fleet:
    preset = (
        "apiVersion: greenhouse.sap/v1alpha1\nkind: PluginPreset\nmetadata: {name: web, namespace: acme}\n"
        "spec: {clusterSelector: {}, deletionPolicy: Delete, plugin: "
        f"{{pluginDefinitionRef: {{name: web}}, pluginDefinition: web, optionValues: {values}}}}}\n"
    )
    written = [override(f"o{n}", each, created=f"2026-01-0{n + 1}") for n, each in enumerate(overrides)]
    return fleet_with(definition=NESTED, preset=preset, overrides=documents(*written) if written else "")


@pytest.mark.rule("S54")
@pytest.mark.parametrize(
    ("overrides", "value"),
    [
        # Within the defaults the deeper path wins.
        ([], {"k": 5, "j": 2}),
        (["[{path: m.k, value: 7}]", "[{path: m, value: {j: 3}, strategy: Merge}]"], {"k": 7, "j": 3}),
        (["[{path: m.k, value: 7}]", "[{path: m, value: {k: 8}}]"], {"k": 8}),
        (["[{path: m, value: {j: 3}}]", "[{path: m.k, value: 7}]"], {"j": 3, "k": 7}),
        (["[{path: m.k, value: 7}]", "[{path: m, strategy: Remove}]"], {"k": 5, "j": 2}),
    ],
)
def test_an_option_inside_another_goes_by_rank_and_age(overrides: list[str], value: dict[str, int]) -> None:
    fleet = nested_fleet(*overrides)
    assert tree_of(fleet)["m"] == value
    assert value_on(fleet, "eu-1", "m") == value
    assert value_on(fleet, "eu-1", "m.k") == value.get("k", ABSENT)


@pytest.mark.rule("S54", "S55")
@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("{name: above, value: {size: 1, m: {j: 3}}}", {"size": 1, "m": {"j": 3}}),
        ("{name: above.size, value: 1}", {"size": 1, "m": {"k": 5, "j": 2}}),
    ],
)
def test_what_one_cluster_alone_says_above_options_inside_each_other_is_one_value_with_them(
    said: str, value: dict[str, Any]
) -> None:
    preset = (
        "apiVersion: greenhouse.sap/v1alpha1\nkind: PluginPreset\nmetadata: {name: web, namespace: acme}\n"
        f"spec: {{clusterSelector: {{}}, clusterOptionOverrides: [{{clusterName: eu-1, overrides: [{said}]}}], "
        "deletionPolicy: Delete, plugin: {pluginDefinitionRef: {name: web}, pluginDefinition: web}}\n"
    )
    fleet = fleet_with(definition=NESTED.replace("name: m", "name: above.m"), preset=preset)
    assert tree_of(fleet)["above"] == value
    assert tree_of(fleet, "eu-2")["above"] == {"m": {"k": 5, "j": 2}}
    assert value_on(fleet, "eu-1", "above.m") == value["m"]
    assert value_on(fleet, "eu-1", "above.m.k") == value["m"].get("k", ABSENT)


@pytest.mark.rule("S54")
def test_an_option_inside_another_is_refused_natively_and_a_warning_in_greenhouse() -> None:
    native = DEFINITION + "  - {name: labels.team, type: string}\n"
    found = [each for each in fleet_with(definition=native).findings.all if each.code == "duplicate-option"]
    assert [each.severity for each in found] == ["error"]
    found = [each for each in nested_fleet().findings.all if each.code == "duplicate-option"]
    assert [each.severity for each in found] == ["warning"]


# ---- Bindings that nothing refers to


@pytest.mark.rule("S57")
def test_a_binding_that_nothing_refers_to_warns_and_blocks_nobody() -> None:
    unread = "[{name: X, clusterFieldRef: {path: /spec/none}}]"
    fleet = bound_fleet("[]", unread)
    assert gates_on(fleet) == []
    assert told(fleet, "unbound")[0].endswith("nothing there refers to it, so it blocks nothing")
    assert gates_on(bound_fleet("[{name: host, value: $(X)}]", unread)) == ["config-missing"]
    assert gates_on(bound_fleet("[]", unread, "  substitute: {A: $(X)}\n")) == ["config-missing"]


@pytest.mark.rule("S57")
@pytest.mark.parametrize("name", ["CLUSTER_NAME", "ZONE"])
def test_a_reference_in_a_default_is_text_and_warns(name: str) -> None:
    definition = DEFINITION.replace("{name: host, type: string}", f"{{name: host, type: string, default: a-$({name})}}")
    fleet = bound_fleet("[]", "[{name: ZONE, value: z}]", definition=definition)
    assert value_on(fleet, "eu-1", "host") == f"a-$({name})"
    assert told(fleet, "mention-is-text") == [f"$({name}) is text in a default"]


# ---- Migrations lose nothing


def newer(options: str, migrations: str, version: str = "2.0.0") -> str:
    return (
        "apiVersion: fleetform.dev/v1alpha1\nkind: PluginDefinition\nmetadata: {name: web, namespace: acme}\n"
        f"spec:\n  version: {version}\n  source: {{manifests: {{path: ./manifests}}}}\n  options: {options}\n"
        f"  changes: {{breaking: false, migrations: {migrations}}}\n"
    )


TO_LIST = newer(
    "[{name: labels, type: list}, {name: replicas, type: int}]",
    "[{retype: {name: labels, expression: 'value.map(k, k)'}}]",
)


@pytest.mark.rule("S58")
def test_a_retype_of_parts_that_layers_merge_blocks_instead_of_losing_one() -> None:
    preset = BASE["preset.yaml"] + "    - {name: labels, value: {a: x}}\n"
    alone = fleet_with(newer=TO_LIST, preset=preset)
    assert value_on(alone, "eu-1", "labels") == ["a"]
    merge = override("o", "[{path: labels, value: {b: y}, strategy: Merge}]")
    both = fleet_with(newer=TO_LIST, preset=preset, o=merge)
    assert [(each.gate, each.option) for each in plugin_on(both, "eu-1").gates] == [("value-type", "labels")]
    assert value_on(fleet_with(newer=TO_LIST, o=merge), "eu-1", "labels") == ["b"]


@pytest.mark.rule("S58")
def test_a_retype_of_a_reference_applies_after_it_is_resolved() -> None:
    values = "[{name: labels, value: $(X)}]"
    fleet = bound_fleet(values, "[{name: X, value: {a: 1}}]", newer=TO_LIST)
    assert value_on(fleet, "eu-1", "labels") == ["a"]
    winner = plugin_on(fleet, "eu-1").options["labels"].winner
    assert winner is not None
    assert winner.migrated_from == "labels"


@pytest.mark.rule("S58")
@pytest.mark.parametrize(
    ("options", "migrations", "message"),
    [
        (
            "[a, b]",
            "[{rename: {from: a, to: b}}]",
            "a is renamed to b, and this version still declares it: nothing is renamed",
        ),
        ("[a, b]", "[{rename: {from: a, to: b}}, {rename: {from: b, to: a}}]", "a is renamed to b"),
        (
            "[c]",
            "[{rename: {from: a, to: c}}, {rename: {from: /b, to: /c}}]",
            "two options are renamed to /c: the value of one would be lost",
        ),
    ],
)
def test_renames_that_would_lose_a_value_are_refused(options: str, migrations: str, message: str) -> None:
    declared = "[" + ", ".join(f"{{name: {each}, type: string}}" for each in options.strip("[]").split(", ")) + "]"
    found = [
        each for each in fleet_with(newer=newer(declared, migrations)).findings.all if each.code == "bad-migration"
    ]
    assert {each.severity for each in found} == {"error"}
    assert found[0].message.startswith(message)


RENAMED = newer("[{name: name, type: any}]", "[{rename: {from: host, to: name}}]")


@pytest.mark.rule("S58", "R0-14")
@pytest.mark.parametrize(
    "values",
    [
        "[{name: host, value: old}, {name: name, value: new}]",
        "[{name: name, value: new}, {name: host, value: old}]",
        "{host: old, name: new}",
    ],
)
def test_of_an_old_and_a_new_name_in_one_object_the_new_one_wins(values: str) -> None:
    preset = BASE["preset.yaml"].split("    optionValues")[0] + f"    optionValues: {values}\n"
    assert value_on(fleet_with(newer=RENAMED, preset=preset), "eu-1", "name") == "new"


@pytest.mark.rule("S58", "R2-6")
def test_a_value_is_migrated_from_an_option_however_its_path_is_written() -> None:
    fleet = fleet_with(newer=RENAMED, o=override("o", "[{path: /host, value: x}]"))
    winner = plugin_on(fleet, "eu-1").options["name"].winner
    assert winner is not None
    assert winner.migrated_from == "host"


# ---- Misfits of some versions, or on some clusters


@pytest.mark.rule("S59", "S18")
def test_an_index_past_the_end_of_a_newer_default_is_a_gate_there() -> None:
    past = override("o", "[{path: 'args[2]', value: c}]")
    shorter = newer("[{name: args, type: list, default: []}, {name: replicas, type: int}]", "[]")
    fleet = fleet_with(newer=shorter, o=past)
    assert [each.gate for each in plugin_on(fleet, "eu-1").gates] == ["value-type"]
    assert not fleet.findings.errors
    # It fits no version there is.
    assert "wrong-index" in codes(fleet_with(o=override("o", "[{path: 'args[5]', value: c}]")))


@pytest.mark.rule("S59")
def test_an_index_past_the_end_on_some_clusters_is_a_gate_there() -> None:
    shorter = override("short", "[{path: args, value: []}]", "clusterSelector: {clusterNames: [eu-1]}", "2026-01-01")
    past = override(
        "past", "[{path: 'args[2]', value: c}]", "clusterSelector: {clusterNames: [eu-1, eu-2]}", "2026-02-01"
    )
    fleet = fleet_with(o=documents(shorter, past))
    assert [each.gate for each in plugin_on(fleet, "eu-1").gates] == ["value-type"]
    assert value_on(fleet, "eu-2", "args") == ["a", "b", "c"]
    assert not fleet.findings.errors


@pytest.mark.rule("S59", "S58")
def test_a_path_into_a_map_that_became_a_list_is_a_gate() -> None:
    fleet = fleet_with(
        newer=TO_LIST,
        preset=BASE["preset.yaml"] + "    - {name: labels, value: {a: x}}\n",
        o=override("o", "[{path: labels.b, value: y}]"),
    )
    assert [each.gate for each in plugin_on(fleet, "eu-1").gates] == ["value-type"]
    assert not fleet.findings.errors


@pytest.mark.rule("S58")
def test_a_value_that_fits_a_version_on_the_way_is_not_converted_there() -> None:
    way = newer("[{name: args, type: list}]", "[{retype: {name: args, expression: '[value]'}}]", "1.1.0")
    counted = newer("[{name: args, type: int}]", "[{retype: {name: args, expression: size(value)}}]", "1.2.0")
    fleet = fleet_with(way=way, newer=counted, o=override("o", "[{path: args, value: [a, b]}]"))
    assert value_on(fleet, "eu-1", "args") == 2


@pytest.mark.rule("S55", "S18")
def test_an_index_of_an_undeclared_list_is_one_of_the_list_that_all_make() -> None:
    items = "[{path: 'u[0]', value: a}, {path: 'u[1]', value: b}]"
    assert tree_of(fleet_with(o=override("o", items, ANY)))["u"] == ["a", "b"]
    past = fleet_with(o=override("o", "[{path: 'u[2]', value: a}]", ANY))
    assert {each.gate for each in plugin_on(past, "eu-1").gates} == {"value-type"}


# ---- What does not fit is a hole


PAST = override("past", "[{path: 'args[5]', value: c}]", "clusterSelector: {clusterNames: [eu-1]}", "2026-01-01")


@pytest.mark.rule("S59")
def test_what_does_not_fit_leaves_its_option_without_a_value_and_others_alone() -> None:
    beside = override("beside", "[{path: 'args[0]', value: z}, {path: host, value: h}]")
    plugin = plugin_on(fleet_with(o=documents(PAST, beside)), "eu-1")
    assert [(each.gate, each.option) for each in plugin.gates] == [("value-type", "args")]
    assert (plugin.options["args"].value, plugin.options["host"].value) == (ABSENT, "h")


@pytest.mark.rule("S59", "S18")
@pytest.mark.parametrize(
    ("item", "value"),
    [("{path: args, value: [z]}", ["z"]), ("{path: args, strategy: Remove}", ["a", "b"]),
     ("{path: 'args[5]', strategy: Remove}", ["a", "b"])],
)  # fmt: skip
def test_what_does_not_fit_goes_with_whatever_replaces_or_removes_its_path(item: str, value: list[str]) -> None:
    over = override("over", f"[{item}]", "clusterSelector: {clusterNames: [eu-1]}", "2026-02-01")
    fleet = fleet_with(o=documents(PAST, over))
    assert (value_on(fleet, "eu-1", "args"), plugin_on(fleet, "eu-1").gates) == (value, ())
    assert not fleet.findings.errors
    assert told(fleet, "shadowed-override") == [
        "the override past has no effect: other overrides win on the only plugin it matches"
    ]


@pytest.mark.rule("S59", "R0-18")
def test_a_merge_hides_what_does_not_fit_only_where_it_says_something_itself() -> None:
    definition = DEFINITION + "  - {name: m, type: map, default: {k: 1}}\n"
    inside = override("inside", "[{path: m.k.q, value: 2}]", created="2026-01-01")
    for value, gates in (("{k: {q: 3}}", []), ("{k: {j: 3}}", ["value-type"])):
        over = override("over", f"[{{path: m, value: {value}, strategy: Merge}}]", created="2026-02-01")
        plugin = plugin_on(fleet_with(definition=definition, o=documents(inside, over)), "eu-1")
        assert [each.gate for each in plugin.gates] == gates


@pytest.mark.rule("S59")
def test_each_path_that_fits_nowhere_is_told_by_itself() -> None:
    other = override("other", "[{path: 'args[9]', value: d}]")
    fleet = fleet_with(o=documents(PAST, other))
    found = [(each.code, each.object and each.object.name) for each in fleet.findings.errors]
    assert sorted(found, key=str) == [("wrong-index", "other"), ("wrong-index", "past")]


@pytest.mark.rule("S59")
def test_beside_one_that_fits_nowhere_one_that_fits_some_clusters_is_a_warning() -> None:
    one, both = (f"clusterSelector: {{clusterNames: {names}}}" for names in ("[eu-1]", "[eu-1, eu-2]"))
    longer = override("longer", "[{path: args, value: [a, b, c]}]", one, "2026-01-01")
    some = override("some", "[{path: 'args[3]', value: d}]", both, "2026-02-01")
    nowhere = override("nowhere", "[{path: 'args[9]', value: e}]", both, "2026-03-01")
    fleet = fleet_with(o=documents(longer, some, nowhere))
    found = {(each.code, each.severity, each.object and each.object.name) for each in fleet.findings.all}
    assert found == {("wrong-index", "error", "nowhere"), ("wrong-type", "warning", "some")}


@pytest.mark.rule("S18")
def test_where_a_path_leads_nowhere_there_is_nothing_to_remove() -> None:
    shorter = override("short", "[{path: args, value: [z]}]", created="2026-01-01")
    gone = override("gone", "[{path: 'args[1]', strategy: Remove}]", created="2026-02-01")
    fleet = fleet_with(definition=DEFINITION.replace("[a, b]", "[a, b, c]"), o=documents(shorter, gone))
    assert plugin_on(fleet, "eu-1").gates == ()


@pytest.mark.rule("S58", "R2-6")
def test_what_was_retyped_is_converted_also_where_its_name_went_and_came_back() -> None:
    way = newer("[{name: args, type: map}]", "[{retype: {name: args, expression: '{\"was\": value}'}}]", "1.1.0")
    away = newer("[{name: other, type: map}]", "[{rename: {from: args, to: other}}]", "1.2.0")
    back = newer("[{name: args, type: map}]", "[]", "1.3.0")
    fleet = fleet_with(way=way, away=away, back=back, o=override("o", "[{path: args, value: [a]}]"))
    assert value_on(fleet, "eu-1", "args") == {"was": ["a"]}


@pytest.mark.rule("S3", "S37")
def test_a_value_that_is_left_out_is_not_in_the_way_of_a_version_without_its_option() -> None:
    runs = KnownState(plugins=states(running={("acme", "eu-1", "web-eu-1"): "1.0.0"}))
    gone = newer("[{name: replicas, type: int}]", "[]", "1.1.0")
    optional = "[{name: Q, objectFieldRef: {kind: ConfigMap, name: none, fieldPath: /data/x}, optional: true}]"
    for value, gates in (("x-$(Q)", []), ("x", ["removed-option"])):
        fleet = bound_fleet(f"[{{name: host, value: {value}}}]", optional, state=runs, newer=gone)
        assert gates_on(fleet) == gates
