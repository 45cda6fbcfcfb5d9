"""From manifests to objects: organizations, places, foreign kinds, sources."""

from __future__ import annotations

import pytest
from msgspec import UNSET

from fleetform.app.fleet import Fleet
from fleetform.app.scope import scope_of
from fleetform.app.validate import validate
from fleetform.model.objects import Ref
from fleetform.model.results.diagnostics import Diagnostic
from support.fleets import BASE, codes, fleet_of, fleet_with, override


def only_error(fleet: Fleet) -> tuple[Diagnostic, int, int]:
    (found,) = fleet.findings.errors
    assert found.at is not None
    place = fleet.input.locator.place(found.at)
    return found, place.line, place.column


@pytest.mark.rule("S7")
def test_an_object_without_a_namespace_belongs_to_default_and_that_is_the_only_organization() -> None:
    fleet = fleet_of({name: text.replace(", namespace: acme", "") for name, text in BASE.items()})
    assert fleet.organizations == ["default"]
    assert scope_of(fleet, None, False).organization == "default"


@pytest.mark.rule("S7")
def test_the_only_organization_is_taken_without_a_flag_and_default_where_there_are_several() -> None:
    assert scope_of(fleet_with(), None, False).organization == "acme"
    other = "apiVersion: fleetform.dev/v1alpha1\nkind: Cluster\nmetadata: {name: x, namespace: globex}\n"
    assert scope_of(fleet_with(other=other), None, False).organization == "default"
    assert scope_of(fleet_with(other=other), None, True).organization is None


NEIGHBOURS = {
    "values.yaml": "replicaCount: 2\nkind: DaemonSet\non: push\nimage: {tag: v1}\n",
    "kustomization.yaml": "resources: [clusters.yaml]\npatches: []\n",
    "renovate.json": '{"extends": ["config:recommended"]}',
    "tsconfig.json": '{\n  // strict\n  "compilerOptions": {"strict": true,},\n}',
    "mkdocs.yml": "site_name: x\nmarkdown_extensions:\n- emoji: !!python/name:material.emoji\n",
    "Chart.lock.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    "patch.yaml": "- {op: replace, path: /spec/replicas, value: 2}\n",
    "note.yaml": "just a text\n",
    "crane-index.yml": "apiServer: crane.example/v1\nkind: Plugin\nversions: [{name: A, version: v1.0.0}]\n",
    "drone.yml": "kind: pipeline\ntype: docker\nname: default\n",
    "twice.yaml": "a: 1\na: 2\n",
    "deployments.yaml": (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 1}\n---\n"
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {paused: true}\n"
    ),
    "one.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n",
    "two.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: web, labels: {a: b}}\n",
    "platform.yaml": "apiVersion: platform.dev/v1\nkind: Stack\nmetadata: {name: web}\n",
}


@pytest.mark.rule("S10")
def test_files_of_other_tools_change_nothing_and_are_counted() -> None:
    fleet, alone = fleet_of({**BASE, **NEIGHBOURS}), fleet_of(BASE)
    assert codes(fleet) == codes(alone) == []
    assert fleet.decisions.plugins.keys() == alone.decisions.plugins.keys()
    skipped = [each.file for each in fleet.skipped]
    assert sorted(skipped) == sorted(NEIGHBOURS.keys() - {"deployments.yaml", "one.yaml", "two.yaml", "platform.yaml"})


@pytest.mark.rule("S10")
def test_what_is_passed_over_is_told_with_the_line_that_it_begins_in() -> None:
    beside = {**NEIGHBOURS, "many.yaml": "a: 1\n---\n# Keys that stand twice.\nb: 1\nb: 2\n---\nc: 1\n"}
    told = validate(fleet_of({**BASE, **beside})).skipped
    assert told is not UNSET
    places = [(each.file, each.line) for each in told]
    assert [line for file, line in places if file == "many.yaml"] == [1, 2, 6]
    assert {line for file, line in places if file != "many.yaml"} == {1}


@pytest.mark.rule("S10")
@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("metadata: {name: a}\nspec: {}\n", "add apiVersion and kind"),
        ("Kind: PluginPreset\nspec: {}\n", "is Kind meant to be kind?"),
        ("kind: PluginPrest\n", "add apiVersion: fleetform.dev/v1alpha1"),
        ("kind: PluginPreset\nmetdata: {name: a}\n", "add apiVersion: fleetform.dev/v1alpha1"),
        ("apiVersion: v1\nmetadata: {name: a}\n", "add apiVersion and kind"),
        ("apiVersion: fleetfrom.dev/v1alpha1\nkind: Cluster\n", "did you mean fleetform.dev/v1alpha1?"),
        ("- {apiVersion: v1, kind: ConfigMap}\n", "write them one by one"),
    ],
)
def test_a_manifest_with_a_mistake_in_it_is_an_error_and_not_passed_over(text: str, hint: str) -> None:
    found, line, _ = only_error(fleet_of({**BASE, "odd.yaml": text}))
    assert found.hint.startswith(hint)
    assert line == 1


@pytest.mark.rule("S10")
@pytest.mark.parametrize(
    "text",
    [
        "kind: Dashboard\nmetadata: {name: a}\nspec: {}\n",
        "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [], ports: []}\n",
        "apiVersion: v1\nkind: Service\nmetadata: {name: {{ name }}}\n",
    ],
)
def test_a_broken_object_of_another_kind_is_a_warning_and_stops_nothing(text: str) -> None:
    fleet = fleet_of({**BASE, "other.yaml": text})
    assert [(each.severity, each.code in ("missing-field", "bad-yaml")) for each in fleet.findings.all] == [
        ("warning", True)
    ]


@pytest.mark.rule("S10")
@pytest.mark.parametrize("version", ["fleetform.dev/v1alpha1", "greenhouse.sap/v1alpha1"])
def test_a_template_is_called_one(version: str) -> None:
    text = f"apiVersion: {version}\nkind: Cluster\nmetadata: {{name: {{{{ .Values.name }}}}}}\n"
    found, _, _ = only_error(fleet_of({**BASE, "other.yaml": text}))
    assert found.hint == "this looks like a Helm template: render it first, or leave it out by .fleetformignore"


CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: acme}\ndata: {a: x}\n"
READING = """
  controlPlaneBindings:
  - {name: A, objectFieldRef: {kind: ConfigMap, name: NAME, fieldPath: /data/a}}
"""


@pytest.mark.rule("S10")
@pytest.mark.parametrize(("name", "found"), [("settings", 1), ('"$(CLUSTER_NAME)"', 1), ("others", 0)])
def test_an_object_of_another_kind_that_stands_twice_matters_if_something_may_refer_to_it(
    name: str, found: int
) -> None:
    twice = {"one.yaml": CONFIG, "two.yaml": CONFIG.replace("a: x", "a: y")}
    preset = BASE["preset.yaml"] + READING.lstrip("\n").replace("NAME", name)
    fleet = fleet_of({**BASE, **twice, "preset.yaml": preset})
    assert codes(fleet).count("duplicate-object") == found


@pytest.mark.rule("S12")
@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        ("overrides: [{path: replicas, value: 1}]\n  resaon: x", "unknown-field", 6, 3),
        ("overrides:\n  - path: replicas\n    value: many", "wrong-type", 7, 5),
        ("overrides:\n  - {path: replicas, value: 1}\n  - {value: 1}", "missing-field", 7, 5),
        ("reason: x", "missing-field", 4, 1),
    ],
)
def test_a_place_is_the_offending_key_or_the_parent_of_a_missing_one(
    text: str, code: str, line: int, column: int
) -> None:
    manifest = (
        "apiVersion: fleetform.dev/v1alpha1\nkind: PluginOverride\nmetadata: {name: o, namespace: acme}\n"
        f"spec:\n  {text}\n"
    )
    found, *place = only_error(fleet_of({**BASE, "override.yaml": manifest}))
    assert (found.code, place) == (code, [line, column])


@pytest.mark.parametrize(
    ("text", "code", "hint"),
    [
        ("kind: PluginPrest", "unknown-kind", "did you mean PluginPreset?"),
        ("kind: Cluster\nspce: {}", "unknown-field", "did you mean spec?"),
        ("kind: Cluster\nspec: {timezone: x}", "unknown-field", "did you mean timeZone?"),
        ("kind: Cluster\nspec: {timeZone: Europe/Berln}", "bad-value", "write a name such as Europe/Berlin"),
        (
            "kind: UpdateWindow\nspec: {type: Alow, schedule: '0 22 * * *'}",
            "bad-value",
            "did you mean Allow?",
        ),
        ("kind: LifecyclePolicy\nspec: {notice: 2 days}", "bad-value", "write a duration such as 90s, 30m, 24h or 14d"),
    ],
)
def test_typos_get_the_nearest_word(text: str, code: str, hint: str) -> None:
    manifest = f"apiVersion: fleetform.dev/v1alpha1\nmetadata: {{name: default, namespace: acme}}\n{text}\n"
    found, _, _ = only_error(fleet_of(manifest))
    assert (found.code, found.hint) == (code, hint)


def test_a_misspelt_api_group_is_not_taken_for_a_foreign_kind() -> None:
    found, line, _ = only_error(fleet_of("apiVersion: fleetfrom.dev/v1alpha1\nkind: Cluster\nmetadata: {name: a}\n"))
    assert (found.code, found.hint, line) == ("unsupported-version", "did you mean fleetform.dev/v1alpha1?", 1)


def test_all_errors_of_all_files_come_at_once_in_file_order() -> None:
    fleet = fleet_of(
        {
            "b.yaml": "apiVersion: fleetform.dev/v1alpha1\nkind: Cluster\nmetadata: {name: a}\nspec: {x: 1, hold: 5}\n",
            "a.yaml": "a: [1\n",
            "c.yaml": "apiVersion: fleetform.dev/v1alpha1\nkind: Nothing\nmetadata: {name: a}\n",
        }
    )
    assert codes(fleet) == ["bad-yaml", "unknown-field", "bad-value", "unknown-kind"]


def test_foreign_kinds_are_kept_as_plain_objects() -> None:
    fleet = fleet_with(
        foreign="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: zone, namespace: acme}\ndata: {a: b}\n"
    )
    assert codes(fleet) == []
    assert fleet.snapshot.others[Ref("ConfigMap.v1", "acme", "zone")].content["data"] == {"a": "b"}


def test_one_object_written_twice_is_an_error_and_the_same_one_twice_a_warning() -> None:
    first = override("o", "[{path: replicas, value: 3}]")
    assert codes(fleet_with(one=first, two=override("o", "[{path: replicas, value: 4}]"))) == ["duplicate-object"]
    assert [each.severity for each in fleet_with(one=first, two=first).findings.all] == ["warning"]


@pytest.mark.rule("S35")
def test_a_folder_that_a_definition_renders_is_no_input() -> None:
    definition = BASE["definition.yaml"].replace("./manifests", "./rendered")
    files = {
        **BASE,
        "catalog/definition.yaml": definition.replace("name: web", "name: more"),
        "catalog/rendered/broken.yaml": "a: [1\n",
        "catalog/rendered/deployment.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n",
    }
    fleet = fleet_of(files)
    assert codes(fleet) == []
    assert not fleet.snapshot.others


@pytest.mark.rule("S35")
def test_any_kubernetes_object_in_the_input_can_be_referred_to_within_its_namespace() -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: acme}\nstringData: {k: hunter2}\n"
    fleet = fleet_with(secret=secret)
    assert list(fleet.snapshot.others) == [Ref("Secret.v1", "acme", "s")]


@pytest.mark.rule("S35")
def test_a_definition_that_renders_its_own_folder_is_still_read() -> None:
    definition = BASE["definition.yaml"].replace("./manifests", ".")
    others = {name: text for name, text in BASE.items() if name != "definition.yaml"}
    fleet = fleet_of({**others, "catalog/definition.yaml": definition, "catalog/x.yaml": "a: [1\n"})
    assert codes(fleet) == []
    assert len(fleet.snapshot.definitions) == 1


ODD: dict[str, tuple[str, str]] = {
    "cron": ("UpdateWindow", "{type: Allow, schedule: banana, duration: 4h}"),
    "reversed": ("UpdateWindow", "{type: HardFreeze, from: 2026-12-31, to: 2026-12-01}"),
    "days alone": ("UpdateWindow", "{type: Allow, days: [Mon], duration: 4h}"),
    "two forms": ("UpdateWindow", "{type: Allow, days: [Mon], start: '22:00', schedule: '0 22 * * *', duration: 4h}"),
    "floor": ("LifecyclePolicy", "{support: [{definition: web, floor: banana}]}"),
    "end": ("LifecyclePolicy", "{support: [{definition: web, ends: [{version: 1.x, at: 2026-99-99}]}]}"),
    "remainders": ("RolloutPolicy", "{stages: [{name: a, remainder: true}, {name: b, remainder: true}]}"),
    "selector": (
        "Placement",
        "{predicates: [{requiredClusterSelector: {labelSelector: {matchExpressions: [{key: a, operator: In}]}}}]}",
    ),
    "taint": ("Cluster", "{taints: [{key: a, effect: NoSelect, timeAdded: 2026-99-99}]}"),
    "access": ("Cluster", "{access: {context: a, directory: b}}"),
    "newline": ("LifecyclePolicy", '{notice: "2d\\n"}'),
    "notification": ("Organization", "{notifications: [{events: [Blocked]}]}"),
    "catalog": ("Catalog", "{sources: [{directory: a, helm: {repository: 'https://b'}}]}"),
}


@pytest.mark.parametrize("what", ODD)
def test_what_the_shape_alone_does_not_refuse_is_refused_at_its_place(what: str) -> None:
    kind, spec = ODD[what]
    name = {"LifecyclePolicy": "default", "Organization": "acme"}.get(kind, "odd")
    manifest = (
        f"apiVersion: fleetform.dev/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}, namespace: acme}}\nspec: {spec}\n"
    )
    found, _, _ = only_error(fleet_of(manifest))
    assert found.path.startswith("spec")


@pytest.mark.parametrize(
    "more",
    [
        "  upgrades: {acknowledged: [{version: banana}]}\n",
        "  upgrades: {emergency: {reason: x, expires: 2026-99-99}}\n",
        "  substitute: [{a: 1, b: 2}]\n",
        "  rolloutPolicy: a\n  rollout: External\n",
        "  delivery: {directory: {path: a}, flux: {}}\n",
        "  waitFor: [{}]\n",
        "    pluginDefinitionVersion: 2.0.0\n",
    ],
)
def test_a_preset_is_checked_beyond_its_shape(more: str) -> None:
    preset = BASE["preset.yaml"].replace("{name: web}\n", "{name: web, version: 1.0.0}\n") + more
    policy = "apiVersion: fleetform.dev/v1alpha1\nkind: RolloutPolicy\nmetadata: {name: a, namespace: acme}\nspec: {}\n"
    assert len(fleet_with(preset=preset, policy=policy).findings.errors) == 1


def test_a_definition_that_cannot_be_read_is_not_called_missing() -> None:
    broken = fleet_with(definition=BASE["definition.yaml"].replace("minimum: 0", "mnimum: 0"))
    assert [each.code for each in broken.findings.all] == ["unknown-field"]
    absent = fleet_with(definition="")
    assert "missing-definition" in [each.code for each in absent.findings.all]


BESIDE = """
apiVersion: fleetform.dev/v1alpha1
kind: Plugin
metadata: {name: web-us-1, namespace: acme}
spec: {presetRef: {name: web}, optionValues: [{name: replicas, value: 4}]}
"""


@pytest.mark.rule("S62")
@pytest.mark.parametrize("name", ["web-us-9", "own"])
def test_a_plugin_that_names_a_cluster_that_is_not_there_is_reported(name: str) -> None:
    how = "presetRef: {name: web}" if name != "own" else "pluginDefinition: {name: web}"
    text = BESIDE.replace("web-us-1", name).replace("presetRef: {name: web}", f"{how}, clusterName: us-9")
    fleet = fleet_of({**BASE, "beside.yaml": text})
    assert [(each.code, each.message) for each in fleet.findings.all] == [
        ("unknown-name", "there is no cluster us-9 here")
    ]


def test_presets_leave_a_cluster_alone_that_is_being_deleted() -> None:
    going = BASE["clusters.yaml"].replace("{name: us-1,", "{name: us-1, deletionTimestamp: '2026-01-01T00:00:00Z',")
    by_hand = BESIDE.replace("web-us-1", "own").replace("presetRef", "clusterName: us-1, pluginDefinition")
    fleet = fleet_of({**BASE, "clusters.yaml": going, "own.yaml": by_hand})
    assert [each.name for each in fleet.decisions.plugins.values()] == ["web-eu-1", "web-eu-2", "own"]
    assert [(each.code, each.severity) for each in fleet.findings.all] == [("no-effect", "info")]
