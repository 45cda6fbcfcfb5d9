"""Outputs: what a plugin offers to others on its cluster."""

from __future__ import annotations

import pytest

from fleetform.app.fleet import Fleet
from fleetform.engine.bindings.value_sources import OUTPUT
from fleetform.ports.state import KnownState
from fleetform.syntax.hashing import as_written
from support.bound import (
    HOST,
    a_cluster,
    bound_fleet,
    bound_on,
    config_map,
    definition_of,
    fleet_and,
    gates_on,
    lines_of,
    option_on,
    preset,
    told,
)
from support.fleets import documents, plugin_on
from support.states import states

FROM_CA = "[{name: X, pluginOutputRef: {definition: ca, output: issuer}}]"


def with_producer(
    outputs: str, bindings: str | None = None, consumer: str = FROM_CA, state: KnownState | None = None, **files: str
) -> Fleet:
    """A plugin that offers outputs, and one that reads them."""
    producer = documents(preset("[]", bindings, name="ca"), definition_of("ca", outputs))
    return fleet_and({"preset": preset(HOST, consumer), "producer": producer, **files}, state)


@pytest.mark.rule("R3-4")
@pytest.mark.parametrize(
    ("outputs", "bindings", "expected"),
    [
        ("[{name: issuer, value: root}]", None, "root"),
        ("[{name: issuer, value: ca-$(CLUSTER_NAME)}]", None, "ca-eu-1"),
        ("[{name: issuer, value: '$(ORGANIZATION)-$$(X)'}]", None, "acme-$(X)"),
        ("[{name: issuer, value: $(NAME)}]", "[{name: NAME, value: n-$(cluster.labels.region)}]", "n-eu"),
        ("[{name: issuer, value: $(A)}]", "[{name: A, value: a$(B)}, {name: B, value: b$(CLUSTER_NAME)}]", "abeu-1"),
        ("[{name: issuer, objectFieldRef: {kind: ConfigMap, name: c, fieldPath: /data/k}}]", None, "from-c"),
        (
            "[{name: issuer, objectFieldRef: {kind: ConfigMap, name: $(C), fieldPath: /data/k}}]",
            "[{name: C, value: c}]",
            "from-c",
        ),
        ("[{name: issuer, objectFieldReference: {kind: ConfigMap, name: c, path: .data.k}}]", None, "from-c"),
    ],
)
def test_an_output_is_made_with_the_names_of_the_plugin_that_offers_it(
    outputs: str, bindings: str | None, expected: str
) -> None:
    fleet = with_producer(outputs, bindings, c=config_map("c", k="from-c"))
    assert not fleet.findings.all
    assert (option_on(fleet), gates_on(fleet)) == (expected, [])
    source = bound_on(fleet)["X"].source
    assert source is not None
    assert str(source.ref) == "PluginPreset/acme/ca"


@pytest.mark.rule("R3-4")
def test_an_output_keeps_its_type() -> None:
    fleet = with_producer("[{name: issuer, value: {a: [1, true]}}]")
    assert bound_on(fleet)["X"].value == {"a": [1, True]}


@pytest.mark.rule("R3-4")
def test_names_of_the_one_that_reads_mean_nothing_in_an_output() -> None:
    fleet = with_producer("[{name: issuer, value: $(MINE)}]", "[]", FROM_CA[:-1] + ", {name: MINE, value: m}]")
    missing = bound_on(fleet)["X"].unresolved
    assert missing is not None
    assert "$(MINE) is not bound" in missing.message


@pytest.mark.rule("R3-4", "B17")
def test_an_output_of_a_plugin_that_is_not_there_is_waited_for_on_that_cluster_alone() -> None:
    only_eu = preset("[]", None, name="ca").replace(
        "clusterSelector: {}", "clusterSelector: {matchLabels: {region: eu}}"
    )
    fleet = with_producer("[]", producer=documents(only_eu, definition_of("ca", "[{name: issuer, value: i}]")))
    assert (option_on(fleet), option_on(fleet, cluster="eu-2")) == ("i", "i")
    assert gates_on(fleet, "us-1") == ["dependency"]
    (waits,) = plugin_on(fleet, "us-1").waits
    assert waits.message == "X cannot be resolved: there is no plugin of ca on the cluster"
    assert waits.do == "install ca there, or give a default"


@pytest.mark.rule("R3-4", "R3-26")
@pytest.mark.parametrize(("more", "value"), [("default: none", "none"), ("optional: true", None)])
def test_a_default_stands_in_for_a_plugin_that_is_not_there(more: str, value: str | None) -> None:
    fleet = bound_fleet(HOST, f"{FROM_CA[:-2]}, {more}}}]")
    assert gates_on(fleet) == []
    assert (option_on(fleet) or None) == value


@pytest.mark.rule("R3-4")
def test_an_output_that_is_not_offered_names_those_that_are() -> None:
    fleet = with_producer("[{name: isuer, value: a}, {name: zone, value: b}]")
    (gate,) = plugin_on(fleet, "eu-1").gates
    assert (gate.gate, gate.message, gate.do) == (
        "config-missing",
        "X cannot be resolved: ca 1.0.0 has no output issuer",
        "did you mean isuer?",
    )
    (gate,) = plugin_on(with_producer("[{name: b, value: a}, {name: a, value: b}]"), "eu-1").gates
    assert gate.do == "it has a, b"
    (gate,) = plugin_on(with_producer("[]"), "eu-1").gates
    assert gate.do == "it has none"


@pytest.mark.rule("R3-4")
def test_outputs_are_passed_on_over_several_plugins() -> None:
    middle = documents(preset("[]", FROM_CA, name="mid"), definition_of("mid", "[{name: passed, value: 'via $(X)'}]"))
    bindings = "[{name: X, pluginOutputRef: {definition: mid, output: passed}}]"
    fleet = with_producer("[{name: issuer, value: root}]", None, bindings, middle=middle)
    assert option_on(fleet) == "via root"
    absent = bound_fleet(HOST, bindings, middle=middle)
    assert (gates_on(absent), gates_on(absent, owner="mid")) == (["dependency"], ["dependency"])


@pytest.mark.rule("R3-4")
def test_many_outputs_over_many_plugins_are_read_at_once() -> None:
    """Each plugin's names are bound once for an output, not once for each way that leads to it."""
    files = {}
    for number in range(12):
        reads = [
            f"{{name: N{each}, pluginOutputRef: {{definition: d{number + 1}, output: o{each}}}}}" for each in "abc"
        ]
        reads = reads if number < 11 else [f"{{name: N{each}, value: {each}}}" for each in "abc"]
        offers = ", ".join(f"{{name: o{each}, value: $(N{each})}}" for each in "abc")
        owner = preset("[{name: host, value: $(Nc)}]", f"[{', '.join(reads)}]", name=f"d{number}")
        files[f"d{number}"] = documents(owner, definition_of(f"d{number}", f"[{offers}]"))
    assert option_on(fleet_and(files), owner="d0") == "c"


def test_a_chain_of_too_many_outputs_is_refused_for_each_plugin_that_is_too_far_from_its_beginning() -> None:
    """What was read before for another plugin changes nothing."""
    files = {}
    for number in range(64):
        reads = f"[{{name: X, pluginOutputRef: {{definition: d{number + 1}, output: out}}}}]"
        owner = preset(HOST, reads if number < 63 else "[{name: X, value: root}]", name=f"d{number}")
        files[f"d{number}"] = documents(owner, definition_of(f"d{number}", "[{name: out, value: $(X)}]"))
    fleet = fleet_and(files)
    for number in range(3):
        (gate,) = plugin_on(fleet, "eu-1", f"d{number}").gates
        assert "it is made of outputs of outputs, over more than 60 plugins" in gate.message
        assert gate.do == "bind to those at the beginning of the chain"
    assert [gates_on(fleet, owner=f"d{number}") for number in (3, 4)] == [[], []]
    assert [option_on(fleet, owner=f"d{number}") for number in (3, 63)] == ["root", "root"]


# ---- Which version's


TWO = documents(
    preset("[]", None, name="ca"),
    definition_of("ca", "[{name: issuer, value: old}]", "1.0.0"),
    definition_of("ca", "[{name: issuer, value: new}]", "2.0.0"),
)


@pytest.mark.rule("B17")
def test_without_a_state_the_outputs_are_those_of_the_wanted_version() -> None:
    assert option_on(with_producer("[]", producer=TWO)) == "new"


@pytest.mark.rule("B17")
def test_with_a_state_the_outputs_are_those_of_the_version_that_was_last_healthy() -> None:
    key = ("acme", "eu-1", "ca-eu-1")
    state = KnownState(plugins=states({key: "2.0.0"}, healthy={key: "1.0.0"}))
    fleet = with_producer("[]", state=state, producer=TWO)
    assert [option_on(fleet, cluster=each) for each in ("eu-1", "eu-2")] == ["old", "new"]


@pytest.mark.rule("B17", "B16")
def test_a_field_that_the_plugin_makes_itself_is_read_on_the_cluster() -> None:
    outputs = "[{name: issuer, objectFieldRef: {kind: Service, name: ca, fieldPath: /spec/clusterIP}}]"
    assert gates_on(with_producer(outputs)) == ["downstream"]
    state = KnownState(
        plugins=states(observed={("acme", "eu-1", "ca-eu-1"): {f"{OUTPUT}issuer": "10.0.0.9", "issuer": "a binding's"}})
    )
    fleet = with_producer(outputs, state=state)
    assert (option_on(fleet), gates_on(fleet)) == ("10.0.0.9", [])
    assert gates_on(fleet, "us-1") == ["downstream"]


@pytest.mark.rule("B16")
def test_what_an_output_reads_on_the_cluster_rolls_nothing() -> None:
    outputs = "[{name: issuer, objectFieldRef: {kind: Service, name: ca, fieldPath: /spec/clusterIP}}]"

    def hashed(address: str) -> str | None:
        observed = {("acme", "eu-1", "ca-eu-1"): {f"{OUTPUT}issuer": address}}
        fleet = with_producer(outputs, state=KnownState(plugins=states(observed=observed)))
        assert option_on(fleet) == address
        return fleet.inputs.hash(plugin_on(fleet, "eu-1"))

    assert hashed("10.0.0.9") == hashed("10.0.0.8") is not None


@pytest.mark.rule("B16", "R3-15")
@pytest.mark.parametrize("asked_first", ["host-x", "yy"])
def test_what_rolls_does_not_depend_on_the_plugin_that_is_asked_for_first(asked_first: str) -> None:
    """Definitions refer to each other in a circle here, though no plugins on a cluster do."""

    def binding(name: str, definition: str, output: str) -> str:
        return f"{{name: {name}, pluginOutputRef: {{definition: {definition}, output: {output}}}}}"

    def of(name: str, definition: str, reads: str, region: str = "") -> str:
        text = preset("[{name: host, value: $(A)}]" if name == "yy" else "[]", reads, name=name, definition=definition)
        text = text.replace("    optionValues", f"    releaseName: {name}\n    optionValues")
        where = f"{{matchLabels: {{region: {region}}}}}"
        return text.replace("clusterSelector: {}", f"clusterSelector: {where}") if region else text

    def hashed(address: str) -> str | None:
        files = {
            "x": of("host-x", "a", f"[{binding('M', 'm', 'out')}, {binding('Z', 'z', 'address')}]"),
            "m-eu": of("m-eu", "m", "[]", "eu"),
            "m-us": of("m-us", "m", f"[{binding('B', 'yy', 'out')}]", "us"),
            "yy": of("yy", "yy", f"[{binding('A', 'a', 'out')}]", "eu"),
            "z": of("z", "z", "[]"),
            "definitions": documents(
                definition_of("a", "[{name: out, value: $(Z)}]"),
                definition_of("m", "[{name: out, value: hi}]"),
                definition_of("yy", "[{name: out, value: $(A)}]"),
                definition_of(
                    "z",
                    "[{name: address, objectFieldRef: {kind: Service, name: z, fieldPath: /spec/clusterIP}}]",
                ),
            ),
        }
        observed = {("acme", name, f"z-{name}"): {f"{OUTPUT}address": address} for name in ("eu-1", "eu-2", "us-1")}
        fleet = fleet_and(files, KnownState(plugins=states(observed=observed)))
        assert fleet.findings.errors == ()
        fleet.inputs.hash(plugin_on(fleet, "eu-1", asked_first))
        assert option_on(fleet, owner="yy") == address
        return fleet.inputs.hash(plugin_on(fleet, "eu-1", "yy"))

    assert as_written(hashed("10.0.0.1")) == as_written(hashed("10.0.0.2")) is not None


@pytest.mark.rule("B16")
@pytest.mark.parametrize(
    ("section", "binding", "output", "reads"),
    [
        ("bindings", "objectFieldRef: {kind: ConfigMap, name: c, fieldPath: /data/k}", "value: o", True),
        ("bindings", "value: v", "value: o", False),
        ("controlPlaneBindings", "objectFieldRef: {kind: ConfigMap, name: c, fieldPath: /data/k}", "value: o", False),
        ("controlPlaneBindings", "value: v", "objectFieldRef: {kind: Service, name: s, fieldPath: /spec/x}", True),
    ],
)
def test_clusters_are_asked_only_for_fields_of_bindings_there_and_of_outputs(
    section: str, binding: str, output: str, reads: bool
) -> None:
    files = {
        "preset": preset(HOST, None, f"  {section}: [{{name: X, {binding}}}]\n"),
        "definition": definition_of("web", f"[{{name: out, {output}}}]"),
        "c": config_map("c", k="here"),
    }
    assert fleet_and(files).decisions.binders.reads_clusters() is reads


# ---- Cycles


def cycle(*names: str, selectors: dict[str, str] | None = None) -> dict[str, str]:
    """Plugins that each read an output of the next."""
    files = {}
    for name, following in zip(names, (*names[1:], names[0]), strict=True):
        bindings = f"[{{name: X, pluginOutputRef: {{definition: {following}, output: out}}}}]"
        owner = preset("[]", bindings, name=name)
        if selectors is not None:
            owner = owner.replace("clusterSelector: {}", f"clusterSelector: {selectors[name]}")
        files[name] = documents(owner, definition_of(name, "[{name: out, value: $(X)}]"))
    return files


@pytest.mark.rule("B17")
@pytest.mark.parametrize("names", [("a",), ("a", "b"), ("a", "b", "c")])
def test_plugins_that_wait_for_each_other_are_rejected_by_name(names: tuple[str, ...]) -> None:
    fleet = fleet_and(cycle(*names))
    (message,) = [each.message for each in fleet.findings.errors]
    cycled = f"{' → '.join((*names, names[0]))} wait for each other's outputs on eu-1"
    assert message == (cycled if len(names) > 1 else "a waits for an output of its own on eu-1")
    assert lines_of(fleet, "output-cycle") == [[9] * len(names)]
    for name in names:
        assert gates_on(fleet, owner=name) == ["value-type"]


@pytest.mark.rule("B17")
def test_plugins_that_share_no_cluster_form_no_cycle() -> None:
    selectors = {"a": "{matchLabels: {region: eu}}", "b": "{matchLabels: {region: us}}"}
    fleet = fleet_and(cycle("a", "b", selectors=selectors))
    assert not fleet.findings.errors
    assert (gates_on(fleet, "eu-1", "a"), gates_on(fleet, "us-1", "b")) == (["dependency"], ["dependency"])


@pytest.mark.rule("B17")
def test_a_cycle_is_told_once_however_many_clusters_it_is_on() -> None:
    clusters = documents(*(a_cluster(f"c{number}") for number in range(9)))
    fleet = fleet_and({"clusters": clusters, **cycle("a", "b")})
    assert told(fleet, "output-cycle") == ["a → b → a wait for each other's outputs on c0"]


@pytest.mark.rule("B17")
def test_cycles_that_share_a_cluster_are_all_told() -> None:
    fleet = fleet_and({**cycle("a", "b"), **cycle("c", "d"), **cycle("e")})
    assert [each.split(" wait")[0] for each in told(fleet, "output-cycle")] == ["a → b → a", "c → d → c", "e"]


def reader(name: str, definition: str, reads: str, release: str = "") -> str:
    """A plugin that reads an output of a definition."""
    text = preset(HOST, f"[{{name: X, pluginOutputRef: {{definition: {reads}, output: out}}}}]", "", name, definition)
    return text.replace("    optionValues", f"    releaseName: {release or name}\n    optionValues")


def offering(name: str) -> str:
    return definition_of(name, "[{name: out, value: it}]")


@pytest.mark.rule("B17")
def test_plugins_of_one_definition_that_read_from_others_form_no_cycle() -> None:
    """Of two plugins of a neither is read, so that b waits for none, and the one that reads b gets what it asks for."""
    files = {
        "one": reader("one", "a", "c"),
        "two": reader("two", "a", "b"),
        "b": reader("b", "b", "a"),
        "c": preset("[]", None, name="c"),
        "definitions": documents(*map(offering, "abc")),
    }
    fleet = fleet_and(files)
    assert not fleet.findings.errors
    assert [gates_on(fleet, owner=each) for each in ("one", "two", "b")] == [[], [], ["value-type"]]


@pytest.mark.rule("B17")
def test_a_plugin_that_reads_from_a_sibling_of_its_definition_forms_no_cycle() -> None:
    sibling = preset("[]", None, "", "sibling", "a").replace("    option", "    releaseName: sibling\n    option")
    fleet = fleet_and({"one": reader("one", "a", "a"), "sibling": sibling, "a": offering("a")})
    assert not fleet.findings.errors
    (gate,) = plugin_on(fleet, "eu-1", "one").gates
    assert "there are several plugins of a on the cluster, of one, sibling" in gate.message


@pytest.mark.rule("B17")
def test_a_cycle_stands_at_the_bindings_that_make_it() -> None:
    """The last binding of each leads elsewhere."""
    reads = "[{{name: A, pluginOutputRef: {{definition: {}, output: out}}}},\n    "
    reads += "{{name: B, pluginOutputRef: {{definition: free, output: out}}}}]"
    files = {
        "a": preset("[]", reads.format("b"), name="a"),
        "b": preset("[]", reads.format("a"), name="b"),
        "free": preset("[]", None, name="free"),
        "definitions": documents(*map(offering, ("a", "b", "free"))),
    }
    assert lines_of(fleet_and(files), "output-cycle") == [[9, 9]]


@pytest.mark.rule("B17")
def test_a_cycle_that_another_plugin_breaks_on_one_cluster_is_told_where_it_stands() -> None:
    """On eu-1 there are two plugins of b, so that a reads neither."""
    other = preset("[]", None, "", "other", "b").replace("    option", "    releaseName: other\n    option")
    fleet = fleet_and({**cycle("a", "b"), "other": other.replace("Selector: {}", "Selector: {clusterNames: [eu-1]}")})
    assert told(fleet, "output-cycle") == ["a → b → a wait for each other's outputs on eu-2"]


@pytest.mark.rule("B17")
def test_outputs_are_those_of_the_target_where_gates_hold_back_what_is_wanted() -> None:
    breaking = TWO + "  changes: {breaking: true}\n"
    running = KnownState(plugins=states({("acme", "eu-1", "ca-eu-1"): "1.0.0"}))
    fleet = with_producer("[]", state=running, producer=breaking)
    assert [option_on(fleet, cluster=each) for each in ("eu-1", "eu-2")] == ["old", "new"]
    free = with_producer("[]", state=running, producer=TWO)
    assert option_on(free) == "new"


@pytest.mark.rule("S63")
@pytest.mark.parametrize(("more", "gates", "value"), [("", ["value-type"], None), (", as: json", [], '{"a":1}')])
def test_a_map_reaches_substitute_only_as_text(more: str, gates: list[str], value: str | None) -> None:
    fleet = bound_fleet("[]", f"[{{name: X, value: {{a: 1}}{more}}}]", "  substitute: {A: $(X)}\n")
    assert gates_on(fleet) == gates
    assert fleet.inputs.substituted(plugin_on(fleet, "eu-1")).get("A") == value


@pytest.mark.rule("S63", "S39")
def test_an_option_that_is_a_map_or_a_list_is_no_variable() -> None:
    fleet = bound_fleet("[{name: host, value: x}]", None)
    needs = fleet.inputs.render_input(plugin_on(fleet, "eu-1"))
    assert needs is not None
    assert needs.variables.keys() == {"host", "replicas"}
    assert needs.unset == ("token",)
