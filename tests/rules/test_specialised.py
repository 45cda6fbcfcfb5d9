"""Corners where names, sources and other systems' manifests meet."""

from __future__ import annotations

from typing import Any

import pytest

from fleetform.app.convert import convert
from fleetform.app.fleet import Fleet
from fleetform.app.scope import Scope
from fleetform.engine.bindings.value_sources import OUTPUT
from fleetform.engine.desired import values_tree
from fleetform.model.results.decisions import Secret
from fleetform.ports.state import KnownState
from fleetform.syntax.hashing import as_written, input_hash
from support.answers import diff
from support.bound import bound_fleet, config_map, preset, thing
from support.command import Runner
from support.fleets import BASE, CLUSTERS, fleet_of, fleet_with, override, plugin_on
from support.states import states

DOWNSTREAM = (
    "  bindings: [{name: NODE, objectFieldRef: {kind: Service, namespace: lb, name: it, fieldPath: /status/ip}}]\n"
)


def seen(value: Any) -> KnownState:
    """What was read on eu-1, for either plugin."""
    read = {"NODE": value, f"{OUTPUT}ip": value}
    return KnownState(plugins=states(observed={("acme", "eu-1", name): read for name in ("web-eu-1", "ca-eu-1")}))


def hash_of(fleet: Fleet) -> str | None:
    plugin = plugin_on(fleet, "eu-1")
    return fleet.inputs.hash(plugin)


@pytest.mark.rule("B16")
@pytest.mark.parametrize(
    "web",
    [
        preset("[{name: host, value: $(NODE)}]", more=DOWNSTREAM),
        preset("[]", more="  substitute: {IP: $(NODE)}\n" + DOWNSTREAM),
        preset("[{name: host, value: $(X)}]", "[{name: X, pluginOutputRef: {definition: ca, output: ip}}]"),
        preset("[{name: host, value: $(X)}]", "[{name: X, pluginOutputRef: {definition: ca, output: made}}]"),
    ],
    ids=["option", "variable", "output", "output-of-a-name"],
)
def test_what_is_read_on_a_cluster_does_not_move_the_hash(web: str) -> None:
    ca = BASE["definition.yaml"].replace("name: web", "name: ca") + (
        "  outputs:\n"
        "  - {name: ip, objectFieldRef: {kind: Service, name: it, fieldPath: /status/ip}}\n"
        "  - {name: made, value: 'x-$(NODE)'}\n"
    )
    of_ca = preset("[]", more=DOWNSTREAM, name="ca")
    files = {**BASE, "preset.yaml": web, "ca.yaml": ca, "of-ca.yaml": of_ca}
    one, other = seen("1.1.1.1"), seen("2.2.2.2")
    hashes = {hash_of(fleet_of(files, state=each)) for each in (None, one, other)}
    assert len(hashes) == 1
    assert None not in hashes
    written_otherwise = fleet_of({**files, "preset.yaml": web.replace("$(NODE)", "y$(NODE)").replace("$(X)", "y$(X)")})
    assert hash_of(written_otherwise) not in hashes


@pytest.mark.rule("B16")
def test_a_state_is_compared_by_what_was_read_on_its_cluster_as_well() -> None:
    """Once all is read; a cluster where nothing is read, and a plugin that reads nothing, have the inputHash alone."""

    def state_of(
        value: Any, host: str = "$(NODE)", cluster: str = "eu-1", unused: str = "a"
    ) -> tuple[str | None, str | None]:
        bindings = f"[{{name: UNUSED, value: {unused}}}]"
        fleet = bound_fleet(f"[{{name: host, value: {host}}}]", bindings, DOWNSTREAM, value and seen(value))
        plugin = plugin_on(fleet, cluster)
        return fleet.inputs.hash(plugin), fleet.inputs.state_hash(plugin)

    (written, one), (_, again), (_, other) = (state_of(each) for each in ("1.1.1.1", "1.1.1.1", "2.2.2.2"))
    assert one is not None
    assert other is not None
    assert one == again == state_of("1.1.1.1", unused="b")[1] != other
    assert as_written(one) == as_written(other) == written
    for unread in (state_of(None), state_of("1.1.1.1", cluster="us-1"), state_of("1.1.1.1", host="fixed")):
        assert unread[0] == unread[1] is not None
    assert state_of(None)[0] == written


@pytest.mark.rule("R3-3")
def test_an_object_on_the_cluster_may_be_in_any_namespace_there() -> None:
    fleet = fleet_with(preset=preset("[{name: host, value: $(NODE)}]", more=DOWNSTREAM))
    assert fleet.findings.errors == ()
    assert (
        plugin_on(
            fleet_of(
                {**BASE, "preset.yaml": preset("[{name: host, value: $(NODE)}]", more=DOWNSTREAM)},
                state=seen("10.0.0.1"),
            ),
            "eu-1",
        )
        .options["host"]
        .value
        == "10.0.0.1"
    )


@pytest.mark.rule("R3-4")
def test_of_several_plugins_that_could_be_meant_none_is() -> None:
    ca = BASE["definition.yaml"].replace("name: web", "name: ca") + "  outputs: [{name: it, value: x}]\n"
    reads = preset("[{name: host, value: $(X)}]", "[{name: X, pluginOutputRef: {definition: ca, output: it}}]")
    one, two = (
        preset(name="ca"),
        preset(name="second", definition="ca").replace("optionValues", "releaseName: second\n    optionValues"),
    )
    alone = fleet_with(preset=reads, ca=ca, one=one)
    assert plugin_on(alone, "eu-1").options["host"].value == "x"
    both = plugin_on(fleet_with(preset=reads, ca=ca, one=one, two=two), "eu-1")
    assert [each.message for each in both.unresolved] == [
        "X cannot be resolved: there are several plugins of ca on the cluster, of ca, second"
    ]
    # One that loses its release to the other is none.
    claimed = fleet_with(preset=reads, ca=ca, one=one, two=preset(name="second", definition="ca"))
    assert plugin_on(claimed, "eu-1").options["host"].value == "x"


@pytest.mark.rule("S37")
def test_what_is_left_out_on_one_cluster_says_so() -> None:
    optional = "[{name: X, value: $(cluster.labels.only-here), optional: true}]"
    clusters = CLUSTERS.replace("labels: {region: eu, tier: gold}", "labels: {region: eu, tier: gold, only-here: a}")
    fleet = bound_fleet("[{name: host, value: $(X)}]", optional, clusters=clusters)
    assert plugin_on(fleet, "eu-1").skipped == ()
    assert [(each.item.text, each.reason) for each in plugin_on(fleet, "us-1").skipped] == [("host", "left-out")]


@pytest.mark.rule("S35")
@pytest.mark.parametrize("root", ["", "/"])
def test_what_a_kustomization_reaches_is_no_input(root: str) -> None:
    files = {
        "fleet/definition.yaml": BASE["definition.yaml"].replace(
            "manifests: {path: ./manifests}", "kustomize: {path: ./over}"
        ),
        "fleet/clusters.yaml": CLUSTERS,
        "fleet/preset.yaml": BASE["preset.yaml"],
        "fleet/over/kustomization.yaml": "resources: [../theirs, ../one/file.yaml]\n",
        "fleet/theirs/kustomization.yaml": "resources: [all.yaml, ../deeper, inner, ./../around]\n",
        "fleet/theirs/all.yaml": config_map("theirs"),
        "fleet/theirs/inner/kustomization.yaml": "bases: [../../beyond, 'https://example.com/two']\n",
        "fleet/theirs/unused/kustomization.yaml": "resources: [../../two]\n",
        "fleet/around/all.yaml": config_map("around"),
        "fleet/beyond/kustomization.yml": "components: [../theirs, /fleet/two, /]\n",
        "fleet/beyond/all.yaml": config_map("beyond"),
        "fleet/two/all.yaml": config_map("two"),
        "fleet/deeper/all.yaml": "not: a manifest\n",
        "fleet/one/file.yaml": config_map("one"),
        "fleet/one/other.yaml": config_map("other"),
    }
    fleet = fleet_of({f"{root}{file}": text for file, text in files.items()})
    assert fleet.findings.errors == ()
    assert sorted(ref.name for ref in fleet.snapshot.others) == ["other", "two"]


@pytest.mark.parametrize("dialect", ["greenhouse.sap/v1alpha1", "fleet.squaremo.dev/v1alpha1"])
def test_a_misspelt_selector_of_another_system_selects_nothing(dialect: str) -> None:
    kind, spec = {
        "greenhouse.sap/v1alpha1": (
            "PluginPreset",
            "spec: {clusterSelector: {matchlabels: {a: b}}, plugin: {pluginDefinition: web}}",
        ),
        "fleet.squaremo.dev/v1alpha1": (
            "Module",
            "spec: {selector: {matchlabels: {a: b}}, sync: {source: {git: {url: 'https://x.y', version: {tag: v1}}}}}",
        ),
    }[dialect]
    fleet = fleet_of({**BASE, "preset.yaml": thing(kind, "it", spec, version=dialect)})
    assert [(each.code, each.hint) for each in fleet.findings.errors] == [
        ("unknown-field", "did you mean matchLabels?")
    ]
    assert fleet.decisions.plugins == {}


@pytest.mark.rule("S23")
def test_a_pin_may_name_a_build() -> None:
    build = BASE["definition.yaml"].replace("1.0.0", "1.0.0+build.5")
    pinned = BASE["preset.yaml"].replace(
        "{name: web}\n    optionValues", "{name: web, version: VERSION}\n    optionValues"
    )
    for wanted in ("1.0.0+build.5", "v1.0.0+build.5", "1.0.0", "=1.0.0"):
        fleet = fleet_of({**BASE, "definition.yaml": build, "preset.yaml": pinned.replace("VERSION", wanted)})
        assert plugin_on(fleet, "eu-1").version == "1.0.0+build.5", wanted


@pytest.mark.rule("B31")
def test_what_selects_nothing_is_converted_to_what_selects_nothing() -> None:
    module = """\
apiVersion: fleet.squaremo.dev/v1alpha1
kind: Module
metadata: {name: it, namespace: default}
spec:
  controlPlaneBindings: [{name: A, value: "$$ and $$(B)"}]
  sync:
    source: {git: {url: https://git.example.com/it, version: {tag: v1.0.0}}}
    bindings: [{name: NODE, objectFieldRef: {kind: Node, name: first, fieldPath: /x}}]
"""
    clusters = CLUSTERS.replace("namespace: acme", "namespace: default")
    fleet = fleet_of({"module.yaml": module, "clusters.yaml": clusters})
    texts = {each.path: each.text() for each in convert(fleet).files}
    assert [each.message for each in convert(fleet).losses if "travel" in each.message] != []
    again = fleet_of(texts)
    assert again.findings.errors == ()
    assert again.decisions.plugins == {}
    [converted] = again.snapshot.presets.values()
    bindings = converted.spec.control_plane_bindings
    assert bindings is not None
    assert bindings[0].value == "$ and $$(B)"


def test_a_folder_of_rendered_objects_is_no_input(
    tmp_path: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLEETFORM_CACHE_DIR", str(tmp_path / "cache"))
    run = Runner(tmp_path / "fleet", capsys, monkeypatch)
    run.folder.mkdir()
    run.write(**{name.removesuffix(".yaml"): text for name, text in BASE.items()})
    run.write(manifests__all=config_map("it"))
    before = run("validate", "-o", "json").json["counts"]
    assert run("render", "web", "--output-dir", "out").code == 0
    assert (run.folder / "out/eu-1/web-eu-1/configmap-it.yaml").exists()
    assert run("validate", "-o", "json").json["counts"] == before


# ---- Hashes


@pytest.mark.rule("B16")
@pytest.mark.parametrize(
    "web",
    [
        preset("[{name: host, value: '$(NODE)-$(cluster.labels.region)'}]", more=DOWNSTREAM),
        preset(
            "[{name: host, value: $(NODE)}]", more=DOWNSTREAM.replace("name: it", "name: it-$(cluster.labels.region)")
        ),
        preset("[{name: host, value: '$(NODE)-$(R)'}]", "[{name: R, value: $(cluster.labels.region)}]", DOWNSTREAM),
    ],
    ids=["beside", "in-the-reference", "by-name"],
)
def test_what_is_known_beside_a_value_of_the_cluster_is_part_of_the_hash(web: str) -> None:
    moved = CLUSTERS.replace("region: eu, tier: gold", "region: ap, tier: gold")
    assert hash_of(fleet_with(preset=web)) != hash_of(fleet_with(preset=web, clusters=moved))


@pytest.mark.rule("B16")
def test_names_that_nothing_mentions_do_not_move_the_hash() -> None:
    bindings = "[{name: UNUSED, objectFieldRef: {kind: ConfigMap, name: c, fieldPath: /data/k}}]"
    web = preset("[{name: host, value: $(NODE)}]", bindings, DOWNSTREAM)
    hashes = {hash_of(fleet_with(preset=web, c=config_map("c", k=each))) for each in ("1", "2")}
    assert len(hashes) == 1
    assert None not in hashes


@pytest.mark.rule("B16", "B18")
def test_a_secret_on_the_cluster_does_not_take_the_hash_away_once_it_is_read() -> None:
    web = preset("[{name: host, value: $(NODE)}]", more=DOWNSTREAM.replace("kind: Service", "kind: Secret"))
    files = {**BASE, "preset.yaml": web}
    assert hash_of(fleet_of(files)) == hash_of(fleet_of(files, state=seen("x"))) is not None


@pytest.mark.rule("B3")
def test_another_delivery_of_the_organization_is_another_input() -> None:
    organization = thing(
        "Organization", "acme", "spec: {defaultDelivery: {DELIVERY}}", version="fleetform.dev/v1alpha1"
    )
    hashes = {
        hash_of(fleet_with(o=organization.replace("{DELIVERY}", each)))
        for each in ("{flux: {mode: Pull}}", "{flux: {mode: Hub}}")
    }
    assert len(hashes | {hash_of(fleet_with())}) == 3


@pytest.mark.rule("B3")
def test_the_hash_of_many_is_the_hash_of_each() -> None:
    """What is encoded once for many plugins comes to the same as all of it at once."""
    fleet = fleet_with(
        preset=preset("[{name: host, value: $(cluster.labels.region)}, {name: labels, value: {a: 1.5}}]")
    )
    for plugin in fleet.decisions.plugins.values():
        values = values_tree(plugin.options)
        assert fleet.inputs.values(plugin) == values
        assert fleet.inputs.hash(plugin) == input_hash({**fleet.inputs.parts(plugin), "values": values})


# ---- Parts, defaults, observations, namespaces


@pytest.mark.rule("R3-26")
@pytest.mark.parametrize("item", ["{path: labels.x, value: ok}", "{path: labels.x, strategy: Remove}"])
def test_an_override_mends_a_part_that_mentions_what_is_not_bound(item: str) -> None:
    web = preset("[{name: labels.x, value: $(NOPE)}]")
    blocked = plugin_on(fleet_with(preset=web), "eu-1")
    assert [each.gate for each in blocked.gates] == ["config-missing"]
    mended = plugin_on(fleet_with(preset=web, o=override("o", f"[{item}]")), "eu-1")
    assert mended.gates == ()


@pytest.mark.rule("R3-24")
def test_a_default_is_converted_as_the_value_would_be() -> None:
    missing = "objectFieldRef: {kind: ConfigMap, name: none, fieldPath: /data/k}"
    fleet = bound_fleet("[{name: host, value: $(X)}]", f"[{{name: X, {missing}, default: {{a: 1}}, as: json}}]")
    assert plugin_on(fleet, "eu-1").options["host"].value == '{"a":1}'


@pytest.mark.rule("S37")
def test_a_default_stands_in_for_an_optional_name_that_stands_for_nothing() -> None:
    bindings = "[{name: O, value: $(cluster.labels.none), optional: true}, {name: X, value: 'x-$(O)', default: d}]"
    fleet = bound_fleet("[{name: host, value: $(X)}]", bindings)
    assert plugin_on(fleet, "eu-1").options["host"].value == "d"


@pytest.mark.rule("B15")
def test_a_module_does_not_read_what_is_another_organizations() -> None:
    module = """\
apiVersion: fleet.squaremo.dev/v1alpha1
kind: Module
metadata: {name: it, namespace: NAMESPACE}
spec:
  selector: {}
  controlPlaneBindings: [{name: A, objectFieldRef: {kind: ConfigMap, name: c, fieldPath: /data/k}}]
  sync:
    source: {git: {url: https://git.example.com/it, version: {tag: v1.0.0}}}
    package: {kustomize: {path: ., substitute: {A: $(A)}}}
"""
    clusters = CLUSTERS.replace("namespace: acme", "namespace: default")
    other = CLUSTERS.partition("---")[0].replace("namespace: acme", "namespace: globex")
    files = {"clusters.yaml": clusters, "other.yaml": other}

    def read(namespace: str) -> list[Any]:
        held = config_map("c", namespace, k="theirs")
        fleet = fleet_of({**files, "m.yaml": module.replace("NAMESPACE", namespace), "c.yaml": held})
        plugin = fleet.decisions.plugins["default", "eu-1", "it-eu-1"]
        return [each.value if each.unresolved is None else each.unresolved.gate for each in fleet.inputs.bound(plugin)]

    assert read("infra") == ["theirs"]
    assert read("globex") == ["config-missing"]


@pytest.mark.rule("R3-18")
@pytest.mark.parametrize("path", ["/spec/overrides/0/value", "/spec/overrides", "/spec"])
def test_what_people_write_as_values_is_secret_to_those_who_read_it(path: str) -> None:
    ref = f"objectFieldRef: {{kind: PluginOverride, name: o, fieldPath: {path}}}"
    reads = preset("[{name: host, value: $(X)}]", f"[{{name: X, {ref}, as: json}}]")
    fleet = fleet_with(preset=reads, o=override("o", "[{path: token, value: hunter2}]"))
    assert isinstance(plugin_on(fleet, "eu-1").options["host"].value, Secret)


# ---- What a change is


def test_two_changes_of_what_bindings_read_are_two_changes() -> None:
    def cluster(host: str, note: str = "") -> str:
        metadata = f"metadata: {{name: one, annotations: {{note: '{note}'}}}}"
        return f"apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\n{metadata}\nspec: {{host: {host}}}\n"

    base = fleet_of({"c.yaml": cluster("a")})
    sides = [cluster("a"), cluster("b"), cluster("c"), cluster("a", "x"), cluster("a", "y")]
    ids = [diff(base, fleet_of({"c.yaml": each}), Scope(None))["changeId"] for each in sides]
    assert len(set(ids)) == len(ids)
