"""Versions: which one a plugin wants, what stands in the way, and what becomes of values on the way."""

from __future__ import annotations

from typing import Any

import pytest

from fleetform.app.fleet import Fleet
from fleetform.app.scope import Scope
from fleetform.engine.desired import values_tree
from fleetform.model.results.decisions import PluginDecision
from fleetform.ports.state import KnownState
from support.answers import explain, get
from support.fleets import BASE, DEFINITION, PRESET, codes, documents, fleet_of, fleet_with, override, plugin_on
from support.states import states

ACME = Scope("acme")


def version(number: str, options: str = "", changes: str = "") -> str:
    """The definition web in another version: with more options, and with changes."""
    text = DEFINITION.replace("1.0.0", number) + options
    return text + (f"  changes: {changes}\n" if changes else "")


def wanting(text: str, more: str = "") -> str:
    """The preset web, asking for a version or range."""
    return PRESET.replace("{name: web}\n", f"{{name: web, version: '{text}'}}\n") + more


def running(number: str) -> KnownState:
    """A state in which a version runs everywhere."""
    running = {("acme", cluster, f"web-{cluster}"): number for cluster in ("eu-1", "eu-2", "us-1")}
    return KnownState(plugins=states(running))


def fleet_running(number: str, **files: str) -> Fleet:
    return fleet_of({**BASE, **{f"{name}.yaml": text for name, text in files.items()}}, state=running(number))


def gates(plugin: PluginDecision) -> list[str]:
    return [gate.gate for gate in plugin.blocked_by]


VERSIONS = documents(*(version(number) for number in ("1.1.0", "1.1.4", "1.2.0", "2.0.0", "2.1.0-rc.1")))


@pytest.mark.rule("R2-2", "R2-40", "R2-41", "R2-43")
@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [
        ("1.1.0", "1.1.0"),
        ("v1.1.0", "1.1.0"),
        ("^1.1", "1.2.0"),
        ("^v1.1.x", "1.1.4"),
        ("~1.1.0", "1.1.4"),
        (">=1 <2", "1.2.0"),
        ("1.1.x || 2.x", "2.0.0"),
        ("2.1.0-rc.1", "2.1.0-rc.1"),
        (">=2.1.0-0", "2.1.0-rc.1"),
    ],
)
def test_the_highest_version_that_a_pin_or_range_admits_is_wanted(wanted: str, chosen: str) -> None:
    assert plugin_on(fleet_with(more=VERSIONS, preset=wanting(wanted)), "eu-1").version == chosen


@pytest.mark.rule("R2-40", "R2-43")
def test_without_a_version_the_newest_stable_one_is_wanted() -> None:
    assert plugin_on(fleet_with(more=VERSIONS), "eu-1").version == "2.0.0"


@pytest.mark.rule("S23")
def test_a_range_that_nothing_satisfies_blocks_and_never_falls_back() -> None:
    plugin = plugin_on(fleet_with(more=VERSIONS, preset=wanting("^3")), "eu-1")
    assert (plugin.version, gates(plugin)) == (None, ["version"])
    assert "1.1.0, 1.1.4, 1.2.0" in plugin.gates[0].do


def test_a_range_that_cannot_be_read_is_an_error_that_points_at_its_column() -> None:
    (found,) = fleet_with(preset=wanting("^1.2 ,,")).findings.errors
    assert (found.code, "column" in found.message, found.path) == (
        "bad-version", True, "spec.plugin.pluginDefinition.version",
    )  # fmt: skip


@pytest.mark.rule("R2-3", "R2-21", "R2-31")
def test_two_presets_run_two_versions_side_by_side_and_the_spread_shows() -> None:
    qa = (
        wanting("1.1.0")
        .replace("name: web, namespace", "name: qa, namespace")
        .replace("clusterSelector: {}", "clusterSelector: {matchLabels: {tier: dev}}")
    )
    prod = wanting("1.2.0").replace("clusterSelector: {}", "clusterSelector: {matchLabels: {tier: gold}}")
    fleet = fleet_with(more=VERSIONS, preset=prod, qa=qa)
    found = {plugin.cluster.ref.name: plugin.version for plugin in fleet.decisions.plugins.values()}
    assert found == {"eu-1": "1.2.0", "eu-2": "1.1.0", "us-1": "1.2.0"}
    presets = {item["metadata"]["name"]: item["status"]["versions"] for item in get(fleet, ACME, "presets")["items"]}
    assert presets == {"qa": {"1.1.0": 1}, "web": {"1.2.0": 2}}


@pytest.mark.rule("R2-4")
def test_an_organizations_own_definition_hides_the_platforms() -> None:
    platform = version("9.0.0").replace("namespace: acme", "namespace: fleetform-system")
    assert plugin_on(fleet_with(platform=platform), "eu-1").version == "1.0.0"
    only = {name: text for name, text in BASE.items() if name != "definition.yaml"}
    fleet = fleet_of({**only, "platform.yaml": platform})
    assert fleet.decisions.plugins["acme", "eu-1", "web-eu-1"].version == "9.0.0"


@pytest.mark.rule("R2-42")
def test_a_range_on_a_hand_made_plugin_is_refused() -> None:
    plugin = """
    apiVersion: fleetform.dev/v1alpha1
    kind: Plugin
    metadata: {name: mine, namespace: acme}
    spec: {pluginDefinition: {name: web, version: ^1.0}, clusterName: eu-1, releaseName: mine}
    """
    assert [(each.code, each.path) for each in fleet_with(plugin=plugin).findings.errors] == [
        ("bad-version", "spec.pluginDefinition.version")
    ]


@pytest.mark.rule("S15", "R2-41")
def test_a_caret_with_an_x_gets_a_note() -> None:
    assert [(each.code, each.severity) for each in fleet_with(preset=wanting("^1.0.x")).findings.all] == [
        ("range-note", "info")
    ]


@pytest.mark.rule("S15", "R2-23")
@pytest.mark.parametrize(("changes", "expected"), [("", ["unsaid-breaking"]), ("{breaking: false}", [])])
def test_a_major_version_that_does_not_say_whether_it_breaks_warns(changes: str, expected: list[str]) -> None:
    assert codes(fleet_with(newer=version("2.0.0", changes=changes))) == expected


def test_versions_that_differ_in_build_metadata_only_are_refused() -> None:
    fleet = fleet_with(a=version("1.1.0+a"), b=version("1.1.0+b"))
    assert [each.code for each in fleet.findings.errors] == ["bad-version"]


# ---- Gates


@pytest.mark.rule("R2-17", "S26")
def test_a_newly_required_option_blocks_by_name_and_keeps_the_revision_until_a_value_appears() -> None:
    newer = version("1.1.0", "  - {name: admin, type: string, required: true}\n")
    blocked = plugin_on(fleet_running("1.0.0", newer=newer), "eu-1")
    assert (blocked.version, blocked.wanted_version, gates(blocked)) == ("1.0.0", "1.1.0", ["required-option"])
    assert "admin" in blocked.blocked_by[0].message
    value = override("o", "[{path: admin, value: me}]", "clusterSelector: {clusterNames: [eu-1]}")
    fleet = fleet_running("1.0.0", newer=newer, value=value)
    assert (plugin_on(fleet, "eu-1").version, gates(plugin_on(fleet, "eu-1"))) == ("1.1.0", [])
    assert plugin_on(fleet, "eu-2").version == "1.0.0"


@pytest.mark.rule("B9", "S3")
def test_a_value_that_no_running_revision_knows_moves_nobody() -> None:
    newer = version("1.1.0", "  - {name: admin, type: string, required: true}\n")
    value = override("o", "[{path: admin, value: me}]")
    pinned = fleet_with(newer=newer, preset=wanting("1.0.0"), value=value)
    plugin = plugin_on(pinned, "eu-1")
    assert "admin" not in values_tree(plugin.options)
    assert [(each.item.text, each.reason) for each in plugin.skipped] == [("admin", "not-yet-known")]
    assert pinned.findings.errors == ()


@pytest.mark.rule("S3")
def test_a_set_option_that_is_gone_without_a_migration_blocks_the_upgrade() -> None:
    newer = version("1.1.0").replace("  - {name: host, type: string}\n", "")
    fleet = fleet_running("1.0.0", newer=newer, value=override("o", "[{path: host, value: x}]"))
    plugin = plugin_on(fleet, "eu-1")
    assert (plugin.version, gates(plugin)) == ("1.0.0", ["removed-option"])
    assert values_tree(plugin.options)["host"] == "x"
    without = fleet_running("1.0.0", newer=newer)
    assert plugin_on(without, "eu-1").version == "1.1.0"


@pytest.mark.rule("R2-23", "R2-24", "S26")
def test_a_breaking_version_on_the_way_blocks_until_it_is_acknowledged_there() -> None:
    versions = documents(version("2.0.0", changes="{breaking: true, acknowledge: open a port}"), version("2.1.0"))
    blocked = plugin_on(fleet_running("1.0.0", versions=versions), "eu-1")
    assert (blocked.version, gates(blocked)) == ("1.0.0", ["breaking"])
    assert "2.0.0" in blocked.blocked_by[0].message
    assert "open a port" in blocked.blocked_by[0].message
    said = "  upgrades: {acknowledged: [{version: 2.0.0, clusterSelector: {clusterNames: [eu-1]}}]}\n"
    fleet = fleet_running("1.0.0", versions=versions, preset=PRESET + said)
    assert [plugin_on(fleet, cluster).version for cluster in ("eu-1", "eu-2")] == ["2.1.0", "1.0.0"]


def test_a_breaking_version_does_not_block_a_first_install() -> None:
    versions = version("2.0.0", changes="{breaking: true}")
    assert plugin_on(fleet_with(versions=versions), "eu-1").version == "2.0.0"


@pytest.mark.rule("B29")
def test_a_narrowed_range_never_downgrades_by_itself() -> None:
    fleet = fleet_running("1.2.0", more=VERSIONS, preset=wanting("~1.1.0"))
    plugin = plugin_on(fleet, "eu-1")
    assert (plugin.version, plugin.wanted_version, gates(plugin)) == ("1.2.0", "1.1.4", ["would-downgrade"])
    pinned = fleet_running("1.2.0", more=VERSIONS, preset=wanting("1.1.4"))
    assert plugin_on(pinned, "eu-1").version == "1.1.4"
    said = "  upgrades: {acknowledged: [{version: 1.1.4}]}\n"
    acknowledged = fleet_running("1.2.0", more=VERSIONS, preset=wanting("~1.1.0", said))
    assert plugin_on(acknowledged, "eu-1").version == "1.1.4"


def policy(support: str, namespace: str = "fleetform-system") -> str:
    return (
        "apiVersion: fleetform.dev/v1alpha1\nkind: LifecyclePolicy\n"
        f"metadata: {{name: default, namespace: {namespace}}}\nspec: {{support: [{support}]}}\n"
    )


@pytest.mark.rule("R2-9")
@pytest.mark.parametrize(
    ("support", "wanted", "chosen"),
    [
        ("{definition: web, yanked: [1.2.0]}", "^1.1", "1.1.4"),
        ("{definition: web, floor: 1.1.4}", "<1.2", "1.1.4"),
        ("{definition: web, floor: 1.2.0}", "~1.1.0", None),
        ("{definition: other, floor: 9.0.0}", "^1.1", "1.2.0"),
        ("{definition: web, ends: [{version: 1.2.x, at: 2026-01-01}]}", "^1.1", "1.1.4"),
        ("{definition: web, ends: [{version: 1.2.x, at: 2027-01-01}]}", "^1.1", "1.2.0"),
    ],
)
def test_yanked_versions_and_those_below_a_floor_or_past_their_end_are_not_wanted(
    support: str, wanted: str, chosen: str | None
) -> None:
    fleet = fleet_with(more=VERSIONS, preset=wanting(wanted), policy=policy(support))
    assert plugin_on(fleet, "eu-1").version == chosen


@pytest.mark.rule("B11")
def test_a_pin_holds_against_everything_but_an_end_date() -> None:
    yanked = fleet_with(
        more=VERSIONS, preset=wanting("1.1.0"), policy=policy("{definition: web, yanked: [1.1.0], floor: 1.2.0}")
    )
    assert plugin_on(yanked, "eu-1").version == "1.1.0"
    ended = fleet_with(
        more=VERSIONS,
        preset=wanting("1.1.0"),
        policy=policy("{definition: web, ends: [{version: 1.1.x, at: 2026-01-01}]}"),
    )
    plugin = plugin_on(ended, "eu-1")
    assert (plugin.version, plugin.target.forced) == ("1.2.0", True)


# ---- Migrations

MIGRATED = """
apiVersion: fleetform.dev/v1alpha1
kind: PluginDefinition
metadata: {name: web, namespace: acme}
spec:
  version: %s
  source: {manifests: {path: ./manifests}}
  options:
  - {name: replicas, type: int, default: 1}
  - {name: %s, type: string}
  - {name: githubs, type: %s}
  changes:
    migrations: [%s]
"""
TO_LIST = "{retype: {name: githubs, expression: \"value.map(k, {'name': k, 'url': value[k]})\"}}"
FIRST = MIGRATED % ("1.1.0", "hostname", "map", "{rename: {from: host, to: hostname}}, {remove: {name: labels}}")
SECOND = MIGRATED % ("1.2.0", "server.hostname", "list", "{rename: {from: hostname, to: server.hostname}}, " + TO_LIST)
OLD = DEFINITION.replace("{name: args, type: list, default: [a, b]}", "{name: githubs, type: map}")


def migrated(*layers: str, preset: str = PRESET) -> Fleet:
    files = {"clusters.yaml": BASE["clusters.yaml"], "old.yaml": OLD, "one.yaml": FIRST, "two.yaml": SECOND}
    return fleet_of({**files, "preset.yaml": preset, "layers.yaml": documents(*layers)}, state=running("1.0.0"))


@pytest.mark.rule("R2-6", "S26")
def test_renames_and_retypes_apply_in_memory_across_versions_and_removals_do_not_block() -> None:
    preset = PRESET + "    - {name: host, value: a.example}\n    - {name: githubs, value: {x: u1, b: u2}}\n"
    plugin = plugin_on(migrated(preset=preset + "    - {name: labels, value: {a: b}}\n"), "eu-1")
    assert (plugin.version, gates(plugin)) == ("1.2.0", [])
    assert values_tree(plugin.options) == {
        "replicas": 2,
        "server": {"hostname": "a.example"},
        "githubs": [{"name": "b", "url": "u2"}, {"name": "x", "url": "u1"}],
    }


@pytest.mark.rule("R2-6")
@pytest.mark.parametrize(
    "layer",
    [
        override("o", "[{path: host, value: b.example}]"),
        override("o", "[{path: hostname, value: b.example}]"),
        override("o", "[{path: /server/hostname, value: b.example}]"),
    ],
)
def test_migrations_apply_to_overrides_written_for_any_version(layer: str) -> None:
    assert values_tree(plugin_on(migrated(layer), "eu-1").options)["server"] == {"hostname": "b.example"}


@pytest.mark.rule("R2-6", "B9")
def test_explain_says_what_a_value_was_migrated_from() -> None:
    fleet = migrated(override("o", "[{path: host, value: b.example}]"))
    view = explain(fleet, plugin_on(fleet, "eu-1"), "server.hostname")
    (option,) = view["options"]
    assert (option["value"], option["migratedFrom"]) == ("b.example", "host")


@pytest.mark.rule("B9")
def test_values_are_checked_against_the_revision_of_their_own_cluster() -> None:
    newer = version("1.1.0").replace("{name: host, type: string}", "{name: host, type: int}")
    qa = wanting("1.0.0").replace("clusterSelector: {}", "clusterSelector: {clusterNames: [eu-1]}")
    prod = (
        wanting("1.1.0")
        .replace("name: web, namespace", "name: prod, namespace")
        .replace("clusterSelector: {}", "clusterSelector: {clusterNames: [us-1]}")
    )
    fleet = fleet_with(newer=newer, preset=qa, prod=prod, value=override("o", "[{path: host, value: x}]"))
    found = {plugin.cluster.ref.name: gates(plugin) for plugin in fleet.decisions.plugins.values()}
    assert found == {"eu-1": [], "us-1": ["value-type"]}


@pytest.mark.rule("R2-16")
def test_a_defaults_change_reaches_an_untouched_plugin_only_through_its_revision() -> None:
    newer = version("1.1.0").replace("default: {team: none}", "default: {team: all}")
    before, after = fleet_with(newer=newer, preset=wanting("1.0.0")), fleet_with(newer=newer)
    values: list[Any] = [values_tree(plugin_on(fleet, "eu-1").options)["labels"] for fleet in (before, after)]
    assert values == [{"team": "none"}, {"team": "all"}]


@pytest.mark.rule("R2-44")
def test_a_deprecated_option_that_is_set_warns_with_its_replacement() -> None:
    definition = DEFINITION.replace(
        "{name: host, type: string}", "{name: host, type: string, deprecated: {replacedBy: token}}"
    )
    found = fleet_with(
        definition=definition, value=override("o", "[{path: host, value: x}]", "pluginDefinitionNames: [web]")
    ).findings.all
    assert [(each.code, each.hint) for each in found] == [("deprecated-option", "use token")]


@pytest.mark.parametrize(
    ("migration", "code"),
    [
        ("{rename: {from: a, to: nowhere}}", "undeclared-option"),
        ("{retype: {name: host, expression: 'value.'}}", "bad-expression"),
        ("{rename: {from: a, to: host}, remove: {name: b}}", "exactly-one"),
    ],
)
def test_a_migration_that_leads_nowhere_is_an_error(migration: str, code: str) -> None:
    assert code in [
        each.code
        for each in fleet_with(newer=version("1.1.0", changes=f"{{migrations: [{migration}]}}")).findings.errors
    ]


@pytest.mark.rule("R2-50")
@pytest.mark.parametrize(
    "written",
    [
        "pluginDefinition: {name: web, version: 1.1.0}\n    optionValues: {replicas: 3}",
        "pluginDefinition: web\n    pluginDefinitionVersion: 1.1.0\n    optionValues: [{name: replicas, value: 3}]",
    ],
)
def test_all_shapes_of_the_lifecycle_design_load(written: str) -> None:
    preset = PRESET.split("    pluginDefinition:")[0] + f"    {written}\n"
    fleet = fleet_with(more=VERSIONS, preset=preset)
    plugin = plugin_on(fleet, "eu-1")
    assert (plugin.version, plugin.options["replicas"].value, fleet.findings.errors) == ("1.1.0", 3, ())


@pytest.mark.rule("S28")
def test_revisions_are_numbered_hashed_snapshots() -> None:
    items = get(fleet_with(more=VERSIONS), ACME, "revisions")["items"]
    assert [(item["spec"]["number"], item["spec"]["version"]) for item in items][:3] == [
        (1, "1.0.0"),
        (2, "1.1.0"),
        (3, "1.1.4"),
    ]
    assert all(set(item["spec"]) == {"number", "version", "contentHash", "options", "source"} for item in items)
    again = get(fleet_with(more=VERSIONS.replace("team: none", "team: other")), ACME, "revisions")["items"]
    assert items[0]["spec"]["contentHash"] == again[0]["spec"]["contentHash"]
    assert items[1]["spec"]["contentHash"] != again[1]["spec"]["contentHash"]


# ---- Time


def policies(platform: str, own: str) -> dict[str, str]:
    head = "apiVersion: fleetform.dev/v1alpha1\nkind: LifecyclePolicy\n"
    text = head + "metadata: {name: default, namespace: %s}\nspec: {%s}\n"
    return {"platform": text % ("fleetform-system", platform), "own": text % ("acme", own)}


ANNOUNCED = "annotations: {fleetform.dev/announced: 2026-10-01}"


def announced(number: str, changes: str) -> str:
    return version(number, changes=changes).replace("namespace: acme}", f"namespace: acme, {ANNOUNCED}}}")


@pytest.mark.rule("R2-9", "R2-12")
def test_an_organization_chooses_below_the_platforms_ceilings_and_is_refused_above_them() -> None:
    fleet = fleet_with(**policies("maxSoak: 14d, grace: 30d", "maxSoak: 20d, grace: 10d"))
    assert [(each.code, each.path) for each in fleet.findings.errors] == [("above-ceiling", "spec.maxSoak")]


@pytest.mark.rule("R2-11", "R2-28")
def test_notice_grace_and_force_are_times_of_the_upgrade() -> None:
    newer = announced("2.0.0", "{breaking: true}")
    files = {"newer": newer, **policies("notice: 2d, grace: 30d, forceAfter: 90d", "")}
    fleet = fleet_running("1.0.0", **files)
    upgrade = explain(fleet, plugin_on(fleet, "eu-1"))["upgrade"]
    assert {key: upgrade[key] for key in ("from", "to", "announcedAt", "notBefore", "graceUntil", "forcedAt")} == {
        "from": "1.0.0",
        "to": "2.0.0",
        "announcedAt": "2026-10-01T00:00:00Z",
        "notBefore": "2026-10-03T00:00:00Z",
        "graceUntil": "2026-10-31T00:00:00Z",
        "forcedAt": "2026-12-30T00:00:00Z",
    }


@pytest.mark.rule("R2-11")
@pytest.mark.parametrize(
    ("platform", "changes", "grace", "forced"),
    [
        ("grace: 30d", "{breaking: true}", "2026-10-31T00:00:00Z", None),
        ("grace: 30d", "{breaking: true, grace: 60d}", "2026-11-30T00:00:00Z", None),
        ("grace: 30d, forceAfter: 40d", "{breaking: true, grace: 60d}", "2026-11-30T00:00:00Z", "2026-11-30T00:00:00Z"),
        ("grace: 30d, forceAfter: 40d", "{breaking: false}", None, None),
    ],
)
def test_a_version_may_lengthen_the_grace_and_only_a_policy_forces(
    platform: str, changes: str, grace: str | None, forced: str | None
) -> None:
    fleet = fleet_running("1.0.0", newer=announced("2.0.0", changes), **policies(platform, ""))
    upgrade = explain(fleet, plugin_on(fleet, "eu-1"))["upgrade"]
    assert (upgrade["graceUntil"], upgrade["forcedAt"]) == (grace, forced)


def test_a_plugin_that_runs_what_it_wants_has_no_upgrade_before_it() -> None:
    fleet = fleet_running("1.0.0")
    assert explain(fleet, plugin_on(fleet, "eu-1"))["upgrade"] is None


def test_an_announcement_that_is_no_time_is_an_error_at_its_place() -> None:
    odd = announced("2.0.0", "{breaking: false}").replace("2026-10-01", "soon")
    (found,) = fleet_with(newer=odd).findings.errors
    assert (found.code, found.path) == ("bad-stamp", "metadata.annotations.fleetform.dev/announced")


@pytest.mark.rule("R2-43")
@pytest.mark.parametrize(
    ("pin", "chosen"), [("1.1.0+a", "1.1.0+a"), ("=v1.1.0+a", "1.1.0+a"), ("1.1.0+b", "1.1.0+b"), ("1.1.0", "1.1.0+b")]
)
def test_of_builds_of_one_version_a_pin_that_names_one_means_that(pin: str, chosen: str) -> None:
    pinned = PRESET.replace("{name: web}", f"{{name: web, version: '{pin}'}}", 1)
    fleet = fleet_with(a=version("1.1.0+a"), b=version("1.1.0+b"), preset=pinned)
    assert plugin_on(fleet, "eu-1").version == chosen
