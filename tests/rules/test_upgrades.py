"""Upgrades: what is said of the whole way, what keeps a plugin where it is, what became of versions before."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec import structs

from fleetform.app.comparing.earlier_side import with_earlier_side
from fleetform.app.fleet import Fleet
from fleetform.app.questions import find_plugin
from fleetform.app.scope import Scope
from fleetform.engine.decide import decide
from fleetform.engine.versions.retention import judge_history
from fleetform.engine.world.contents import content_of
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import PluginDecision
from fleetform.ports.state import KnownState, KnownVersion, Rejection
from fleetform.syntax.times import parse_time
from support.answers import diff, explain, get
from support.fleets import BASE, DEFINITION, PRESET, documents, fleet_of, fleet_with, override, plugin_on
from support.states import states

ACME = Scope("acme")
DEFINED = Ref("PluginDefinition", "acme", "web")
PLUGINS = {("acme", cluster, f"web-{cluster}") for cluster in ("eu-1", "eu-2", "us-1")}


def version(number: str, changes: str = "", more: str = "", **replaced: str) -> str:
    """The definition web in another version; replaced maps an option's name to what stands there instead."""
    text = DEFINITION.replace("1.0.0", number) + more
    for name, option in replaced.items():
        line = next(each for each in text.splitlines() if each.startswith(f"  - {{name: {name},"))
        text = text.replace(f"{line}\n", f"  - {option}\n" if option else "")
    return text + (f"  changes: {changes}\n" if changes else "")


def wanting(text: str) -> str:
    return PRESET.replace("{name: web}\n", f"{{name: web, version: '{text}'}}\n")


def running(number: str, **more: Any) -> KnownState:
    return KnownState(plugins=states(dict.fromkeys(PLUGINS, number)), **more)


def fleet_running(state: KnownState, **files: str) -> Fleet:
    return fleet_of({**BASE, **{f"{name}.yaml": text for name, text in files.items()}}, state=state)


def gates(plugin: PluginDecision) -> list[str]:
    return [gate.gate for gate in plugin.blocked_by]


# ---- The whole span


SPAN = documents(
    version("1.1.0", "{changelog: Faster, breaking: false}", more="  - {name: extra, type: bool}\n"),
    version(
        "1.2.0",
        "{changelog: 'Hosts move', breaking: true, acknowledge: 'Tell DNS',"
        " migrations: [{rename: {from: host, to: server.host}}, {remove: {name: args, reason: unused}}]}",
        more="  - {name: extra, type: bool}\n  - {name: must, type: string, required: true}\n",
        host="{name: server.host, type: string}",
        args="",
        labels="{name: labels, type: list, default: []}",
        replicas="{name: replicas, type: int, default: 3}",
    ),
)
VALUES = override("values", "[{path: host, value: x.example}, {path: args, value: [c]}, {path: labels, value: [d]}]")


@pytest.mark.rule("R2-5")
def test_diff_and_explain_tell_every_version_that_is_passed() -> None:
    before, after = fleet_with(), fleet_with(newer=SPAN)
    told = diff(before, after, ACME)["changelog"]
    assert [(each["version"], each["text"], each["breaking"]) for each in told] == [
        ("1.1.0", "Faster", False),
        ("1.2.0", "Hosts move", True),
    ]
    fleet = fleet_running(running("1.0.0"), newer=SPAN)
    upgrade = explain(fleet, plugin_on(fleet, "eu-1"))["upgrade"]
    assert [each["version"] for each in upgrade["changelog"]] == ["1.1.0", "1.2.0"]
    assert upgrade["changelog"][1]["acknowledge"] == "Tell DNS"


@pytest.mark.rule("R2-5")
def test_options_added_removed_renamed_retyped_and_redefaulted_are_listed_over_the_whole_span() -> None:
    (upgrade,) = diff(fleet_with(), fleet_with(newer=SPAN), ACME)["upgrades"]
    options = upgrade["options"]
    assert (upgrade["from"], upgrade["to"], upgrade["plugins"], upgrade["breaking"]) == ("1.0.0", "1.2.0", 3, True)
    assert [each["path"] for each in options["added"]] == ["extra", "must"]
    assert options["renamed"] == [{"from": "host", "to": "server.host"}]
    assert options["removed"] == [{"path": "args"}]
    assert options["retyped"] == [{"path": "labels", "from": "map", "to": "list"}]
    assert {"path": "replicas", "from": 1, "to": 3} in options["redefaulted"]


@pytest.mark.rule("R2-5")
def test_upgrades_are_told_by_the_versions_that_they_begin_and_end_at_in_their_order() -> None:
    """Of 9 and 10 the text of the second comes first."""
    low, middle, high = (version(each) for each in ("9.0.0", "10.0.0", "11.0.0"))

    def pinned(**versions: str) -> str:
        return documents(
            *(
                PRESET.replace("name: web, n", f"name: {name}, n").replace(
                    "{name: web}", f"{{name: web, version: {each}}}\n    releaseName: {name}"
                )
                for name, each in versions.items()
            )
        )

    both = documents(low, middle, high)
    before = fleet_with(preset=pinned(a="10.0.0", b="9.0.0", c="9.0.0"), newer=both)
    after = fleet_with(preset=pinned(a="11.0.0", b="11.0.0", c="10.0.0"), newer=both)
    told = diff(before, after, ACME)["upgrades"]
    assert [(each["from"], each["to"]) for each in told] == [
        ("9.0.0", "10.0.0"),
        ("9.0.0", "11.0.0"),
        ("10.0.0", "11.0.0"),
    ]


@pytest.mark.rule("R2-5")
def test_whose_values_an_upgrade_meets_is_told_with_their_places() -> None:
    preset = PRESET.replace("    optionValues:\n    - {name: replicas, value: 2}\n", "")
    before = fleet_with(values=VALUES, preset=preset)
    (upgrade,) = diff(before, fleet_with(values=VALUES, preset=preset, newer=SPAN), ACME)["upgrades"]
    met = {(each["path"], each["effect"], each["object"]["name"]) for each in upgrade["affected"]}
    assert met == {
        ("host", "migrated", "values"),
        ("args", "removed", "values"),
        ("labels", "retyped", "values"),
        ("replicas", "default", "web"),
    }
    places = {each["object"]["place"]["file"] for each in upgrade["affected"] if each["object"]["name"] == "values"}
    assert places == {"values.yaml"}


def test_a_default_of_an_option_that_is_secret_in_any_version_is_masked_in_the_span() -> None:
    newer = version("1.1.0", token="{name: token, type: string, default: hunter2}")
    (upgrade,) = diff(fleet_with(), fleet_with(newer=newer), ACME)["upgrades"]
    assert "hunter2" not in str(upgrade)


def test_a_version_in_the_middle_that_breaks_makes_the_change_breaking() -> None:
    newer = documents(version("1.1.0", "{breaking: true}"), version("1.2.0", "{breaking: false}"))
    assert {change["breaking"] for change in diff(fleet_with(), fleet_with(newer=newer), ACME)["changes"]} == {True}


def test_gates_hold_when_a_definition_is_bumped_in_place() -> None:
    """What runs is the version of FROM, although TO no longer offers it."""
    bumped = version("2.0.0", "{breaking: true}")
    changes = diff(fleet_with(), fleet_with(definition=bumped), ACME)["changes"]
    assert {gate["gate"] for change in changes for gate in change["blocked"]} == {"breaking"}


def test_a_definition_that_is_gone_leaves_its_plugins_as_they_run() -> None:
    before = fleet_with()
    without = fleet_of({name: text for name, text in BASE.items() if name != "definition.yaml"})
    after = with_earlier_side(without, before)
    plugin = plugin_on(after, "eu-1")
    assert (plugin.version, plugin.options["replicas"].value, gates(plugin)) == ("1.0.0", 2, ["version"])


# ---- What stands in the way


@pytest.mark.rule("R2-39")
@pytest.mark.parametrize("wanted", ["1.0.0", "~1.0.0"])
def test_there_is_no_way_back_over_an_irreversible_version_even_for_a_pin(wanted: str) -> None:
    newer = documents(version("1.1.0", "{irreversible: true}"), version("1.2.0"))
    plugin = plugin_on(fleet_running(running("1.2.0"), newer=newer, preset=wanting(wanted)), "eu-1")
    assert plugin.version == "1.2.0"
    assert {"would-downgrade"} == set(gates(plugin))
    assert any("1.1.0 is irreversible" in gate.message for gate in plugin.blocked_by)


@pytest.mark.rule("R2-39")
def test_a_way_back_above_an_irreversible_version_is_open() -> None:
    newer = documents(version("1.1.0", "{irreversible: true}"), version("1.2.0"))
    plugin = plugin_on(fleet_running(running("1.2.0"), newer=newer, preset=wanting("1.1.0")), "eu-1")
    assert (plugin.version, gates(plugin)) == ("1.1.0", [])


WEB = Ref("PluginPreset", "acme", "web")
NEWER = documents(version("1.1.0"), version("1.2.0"))


@pytest.mark.rule("B10")
def test_a_version_that_failed_is_not_wanted_again() -> None:
    state = running("1.1.0", rejected=[Rejection(WEB, "1.2.0")])
    plugin = plugin_on(fleet_running(state, newer=NEWER), "eu-1")
    assert (plugin.version, gates(plugin)) == ("1.1.0", [])


@pytest.mark.rule("B10")
def test_a_pin_of_a_version_that_failed_blocks_and_says_what_ends_it() -> None:
    state = running("1.1.0", rejected=[Rejection(WEB, "1.2.0")])
    plugin = plugin_on(fleet_running(state, newer=NEWER, preset=wanting("1.2.0")), "eu-1")
    assert (plugin.version, gates(plugin)) == ("1.1.0", ["rejected"])
    assert "higher version" in plugin.blocked_by[0].do


@pytest.mark.rule("B10")
def test_a_higher_version_goes_on_after_a_failure() -> None:
    state = running("1.1.0", rejected=[Rejection(WEB, "1.2.0")])
    plugin = plugin_on(fleet_running(state, newer=documents(NEWER, version("1.3.0"))), "eu-1")
    assert (plugin.version, gates(plugin)) == ("1.3.0", [])


@pytest.mark.rule("B10")
def test_an_edit_of_the_preset_gives_a_version_that_failed_another_try() -> None:
    preset = fleet_with().snapshot.presets[Ref(*WEB)]
    state = running("1.1.0", rejected=[Rejection(WEB, "1.2.0", content_of(preset))])
    edited = PRESET.replace("value: 2", "value: 4")
    assert plugin_on(fleet_running(state, newer=NEWER), "eu-1").version == "1.1.0"
    assert plugin_on(fleet_running(state, newer=NEWER, preset=edited), "eu-1").version == "1.2.0"


def mutated(digest: str) -> KnownState:
    return running("1.0.0", versions={(DEFINED, "1.1.0"): KnownVersion(digest=digest)})


class Bytes:
    """Definitions render what this says."""

    def __init__(self, digest: str | None) -> None:
        self._digest = digest

    def catalog(self, catalog: Any, secret_of: Any) -> list[Any]:
        raise AssertionError("there is no catalog")

    looks = False

    def look(self, definitions: Any) -> None:
        raise AssertionError("nobody asked")

    def digests(self, definition: Any) -> Any:
        from fleetform.ports.catalogs import Digests

        return Digests(None, self._digest)


@pytest.mark.rule("R2-35")
@pytest.mark.parametrize(
    ("recorded", "found", "blocked"),
    [("sha256:a", "sha256:a", []), ("sha256:a", "sha256:b", ["artifact-mutated"]), ("sha256:a", None, [])],
)
def test_other_bytes_under_one_version_block(recorded: str, found: str | None, blocked: list[str]) -> None:
    fleet = fleet_of({**BASE, "newer.yaml": version("1.1.0")}, state=mutated(recorded), elsewhere=Bytes(found))
    plugin = plugin_on(fleet, "eu-1")
    assert (gates(plugin), plugin.version) == (blocked, "1.0.0" if blocked else "1.1.0")


@pytest.mark.rule("R2-22", "B23", "S29")
def test_the_younger_of_two_presets_over_one_release_gets_a_conflict_that_names_the_older() -> None:
    other = PRESET.replace("name: web, namespace", "name: young, namespace").replace(
        "  plugin:\n", "  plugin:\n    releaseName: web\n    releaseNamespace: web\n"
    )
    stamped = PRESET.replace("namespace: acme}", "namespace: acme, annotations: {fleetform.dev/created: 2026-01-01}}")
    fleet = fleet_with(preset=stamped, young=other)
    plugin = find_plugin(fleet, Scope("acme", "eu-1"), "young", None)
    view = explain(fleet, plugin)
    assert [(gate["gate"], gate["object"]["name"]) for gate in view["blocked"]] == [("conflict", "web")]
    listed = {item["metadata"]["name"]: item for item in get(fleet, ACME, "plugins")["items"]}
    assert [gate["gate"] for gate in listed["young-eu-1"]["status"]["blocked"]] == ["conflict"]
    assert listed["web-eu-1"]["status"]["blocked"] == []
    presets = {item["metadata"]["name"]: item["status"]["plugins"] for item in get(fleet, ACME, "presets")["items"]}
    none = {"updated": 0, "ready": 0, "failed": 0, "unreachable": 0}
    assert presets == {
        "web": {"total": 3, "waiting": 3, "blocked": 0, **none},
        "young": {"total": 3, "waiting": 0, "blocked": 3, **none},
    }


@pytest.mark.rule("B23")
def test_a_relabel_that_moves_a_claim_hands_the_release_over_without_uninstall() -> None:
    eu = PRESET.replace("clusterSelector: {}", "clusterSelector: {matchLabels: {region: eu}}")
    us = (
        PRESET.replace("name: web, namespace", "name: other, namespace")
        .replace("clusterSelector: {}", "clusterSelector: {matchLabels: {region: us}}")
        .replace("  plugin:\n", "  plugin:\n    releaseName: web\n    releaseNamespace: web\n")
    )
    moved = BASE["clusters.yaml"].replace(
        "eu-2, namespace: acme, labels: {region: eu", "eu-2, namespace: acme, labels: {region: us"
    )
    view = diff(fleet_with(preset=eu, us=us), fleet_with(preset=eu, us=us, clusters=moved), ACME)
    assert [(each["cluster"], each["action"]) for each in view["changes"]] == [("eu-2", "handover")]
    assert view["summary"]["deletes"] == 0


@pytest.mark.rule("R2-20")
@pytest.mark.parametrize("field", ["releaseName: x", "pluginDefinition: {name: web}", "suspend: true"])
def test_a_plugin_beside_its_preset_may_change_nothing_but_values_and_configs(field: str) -> None:
    plugin = f"""
    apiVersion: fleetform.dev/v1alpha1
    kind: Plugin
    metadata: {{name: web-eu-1, namespace: acme}}
    spec: {{clusterName: eu-1, presetRef: {{name: web}}, {field}}}
    """
    assert [each.code for each in fleet_with(plugin=plugin).findings.errors] == ["two-owners"]


@pytest.mark.rule("R2-20")
def test_a_plugin_that_takes_a_presets_release_without_saying_so_is_refused() -> None:
    plugin = """
    apiVersion: fleetform.dev/v1alpha1
    kind: Plugin
    metadata: {name: web-eu-1, namespace: acme}
    spec: {clusterName: eu-1, pluginDefinition: {name: web}}
    """
    assert "two-owners" in [each.code for each in fleet_with(plugin=plugin).findings.errors]


# ---- History


@pytest.mark.rule("R2-48")
def test_the_limit_counts_unused_revisions_and_spares_those_in_use() -> None:
    versions = [f"1.{minor}.0" for minor in range(6)]
    assert judge_history(versions, {"1.0.0"}, 2).prunable == {"1.1.0", "1.2.0", "1.3.0"}
    assert judge_history(versions, set(versions), 2).prunable == frozenset()
    assert judge_history(versions, set(), 10).prunable == frozenset()


@pytest.mark.rule("R2-48")
def test_the_oldest_of_too_many_in_use_gets_an_end_and_is_never_pruned() -> None:
    versions = ["1.9.0", "1.10.0", "1.2.0"]
    found = judge_history(versions, set(versions), 2)
    assert (found.should_end, found.prunable) == ("1.2.0", frozenset())
    assert judge_history(versions, set(versions), 3).should_end is None


def policy(spec: str) -> str:
    head = "apiVersion: fleetform.dev/v1alpha1\nkind: LifecyclePolicy\nmetadata: {name: default, namespace: acme}\n"
    return f"{head}spec: {{{spec}}}\n"


def statuses(fleet: Fleet) -> dict[str, dict[str, Any]]:
    return {item["spec"]["version"]: item["status"] for item in get(fleet, ACME, "revisions")["items"]}


@pytest.mark.rule("R2-48")
def test_pinned_and_last_healthy_revisions_are_kept() -> None:
    state = KnownState(plugins=states(healthy={("acme", "eu-1", "web-eu-1"): "1.1.0"}))
    fleet = fleet_running(
        state, newer=NEWER, more=version("1.3.0"), limit=policy("revisionHistory: 0"), preset=wanting("1.0.0")
    )
    found = statuses(fleet)
    assert {number: each["prunable"] for number, each in found.items()} == {
        "1.0.0": False, "1.1.0": False, "1.2.0": True, "1.3.0": True,
    }  # fmt: skip
    assert (found["1.0.0"]["pinned"], found["1.0.0"]["plugins"]) == (True, 3)


@pytest.mark.rule("R2-48", "R2-9")
def test_an_end_that_was_stamped_forces_a_pin_upwards() -> None:
    ended = KnownVersion(ends=datetime(2026, 10, 1, tzinfo=UTC))
    state = running("1.0.0", versions={(DEFINED, "1.0.0"): ended})
    fleet = fleet_running(state, newer=NEWER, preset=wanting("1.0.0"))
    plugin = plugin_on(fleet, "eu-1")
    assert (plugin.version, plugin.target.forced) == ("1.1.0", True)
    assert statuses(fleet)["1.0.0"]["endsAt"] == "2026-10-01T00:00:00Z"


@pytest.mark.rule("R2-48")
def test_too_many_in_use_show_when_the_oldest_ends() -> None:
    presets = {
        f"p{number}": wanting(f"1.{number}.0")
        .replace("name: web, namespace", f"name: p{number}, namespace")
        .replace("  plugin:\n", f"  plugin:\n    releaseName: p{number}\n")
        for number in range(3)
    }
    limits = policy("revisionHistory: 2, grace: 10d")
    fleet = fleet_running(KnownState(), newer=NEWER, limit=limits, preset=presets.pop("p0"), **presets)
    assert {number: each["endsAt"] for number, each in statuses(fleet).items()} == {
        "1.0.0": "2026-11-11T12:00:00Z", "1.1.0": None, "1.2.0": None,
    }  # fmt: skip


@pytest.mark.rule("R2-28")
def test_an_announcement_that_was_stamped_counts_from_then() -> None:
    stamp = KnownVersion(announced=datetime(2026, 10, 20, tzinfo=UTC))
    state = running("1.1.0", versions={(DEFINED, "1.2.0"): stamp})
    fleet = fleet_running(state, newer=NEWER, limits=policy("notice: 3d"))
    upgrade = explain(fleet, plugin_on(fleet, "eu-1"))["upgrade"]
    assert (upgrade["announcedAt"], upgrade["notBefore"]) == ("2026-10-20T00:00:00Z", "2026-10-23T00:00:00Z")


# ---- What runs is of another definition, or no longer offered


def test_a_preset_that_takes_another_definition_is_no_upgrade() -> None:
    other = DEFINITION.replace("name: web", "name: web2").replace("1.0.0", "2.0.0") + "  changes: {breaking: true}\n"
    older = DEFINITION.replace("name: web", "name: web2")
    after = PRESET.replace("{name: web}\n", "{name: web2}\n") + "    releaseName: web\n    releaseNamespace: web\n"
    view = diff(fleet_with(), fleet_with(other=other, older=older, preset=after), ACME)
    assert {(each["action"], len(each["blocked"])) for each in view["changes"]} == {("reconfigure", 0)}
    assert view["upgrades"] == []


def test_an_organizations_own_definition_over_the_platforms_is_an_upgrade() -> None:
    platform = DEFINITION.replace("namespace: acme", "namespace: fleetform-system")
    others = {name: text for name, text in BASE.items() if name != "definition.yaml"}
    before = fleet_of({**others, "platform.yaml": platform})
    after = fleet_of({**others, "platform.yaml": platform, "own.yaml": version("2.0.0", "{breaking: true}")})
    (upgrade,) = diff(before, after, ACME)["upgrades"]
    assert (upgrade["from"], upgrade["to"], upgrade["breaking"]) == ("1.0.0", "2.0.0", True)


@pytest.mark.rule("S26")
def test_a_version_that_is_no_longer_offered_still_says_what_is_secret_and_what_was_renamed() -> None:
    newer = version("1.2.0", token="{name: token, type: string}", host="{name: server, type: string}")
    middle = version("1.1.0", "{migrations: [{rename: {from: host, to: server}}]}", host="{name: server, type: string}")
    values = override("values", "[{path: host, value: x}, {path: token, value: hunter2}]")
    before = fleet_with(middle=middle, values=values)
    after = with_earlier_side(fleet_with(definition=newer, values=values), before)
    plugin = plugin_on(after, "eu-1")
    assert (plugin.version, gates(plugin)) == ("1.2.0", [])
    assert plugin.options["server"].value == "x"
    assert "hunter2" not in str(explain(after, plugin))


@pytest.mark.rule("R2-4", "S26")
@pytest.mark.parametrize(
    ("of_platform", "own_definition", "expected"),
    [(False, False, ["1.0.0", "1.1.0", "1.2.0"]), (True, False, ["1.0.0", "1.2.0"]), (False, True, ["1.1.0"])],
)
def test_versions_that_are_no_longer_offered_are_known_to_who_was_offered_them(
    of_platform: bool, own_definition: bool, expected: list[str]
) -> None:
    """A preset may ask for the platform's definition, for its organization's own, or for whichever there is."""

    def of_the_platform(number: str) -> str:
        return version(number).replace("namespace: acme", "namespace: fleetform-system")

    before = fleet_with(definition=of_the_platform("1.0.0"), own=version("1.1.0"))
    after = with_earlier_side(fleet_with(definition=of_the_platform("1.2.0")), before)
    preset = after.index.owners[after.snapshot.presets[Ref("PluginPreset", "acme", "web")]]
    owner = structs.replace(preset, of_platform=of_platform, own_definition=own_definition)
    assert sorted(after.index.definitions.known(owner)) == expected


@pytest.mark.rule("R2-48")
def test_a_pin_that_selects_no_cluster_now_is_a_pin_all_the_same() -> None:
    nowhere = wanting("1.0.0").replace("clusterSelector: {}", "clusterSelector: {clusterNames: [gone]}")
    spare = nowhere.replace("name: web, namespace", "name: spare, namespace")
    fleet = fleet_with(newer=NEWER, spare=spare, limit=policy("revisionHistory: 0"))
    found = statuses(fleet)["1.0.0"]
    assert (found["pinned"], found["prunable"]) == (True, False)


def test_whose_parts_an_upgrade_meets_is_told_too() -> None:
    renamed = version("1.1.0", "{migrations: [{rename: {from: labels, to: tags}}]}", labels="{name: tags, type: map}")
    values = override("values", "[{path: labels.team, value: a}]")
    (upgrade,) = diff(fleet_with(values=values), fleet_with(values=values, newer=renamed), ACME)["upgrades"]
    assert ("labels.team", "migrated") in {(each["path"], each["effect"]) for each in upgrade["affected"]}


@pytest.mark.rule("B29")
def test_a_version_that_is_known_by_its_number_alone_is_not_downgraded() -> None:
    plugin = plugin_on(fleet_running(running("9.9.9"), newer=NEWER), "eu-1")
    assert (gates(plugin), plugin.running) == (["would-downgrade"], "9.9.9")
    pinned = plugin_on(fleet_running(running("9.9.9"), newer=NEWER, preset=wanting("1.1.0")), "eu-1")
    assert (gates(pinned), pinned.version) == ([], "1.1.0")


@pytest.mark.rule("B29", "B11")
def test_a_forced_version_downgrades_nobody_by_itself() -> None:
    ended = policy("support: [{definition: web, ends: [{version: 1.0.x, at: 2026-01-01}]}]")
    more = documents(NEWER, version("3.0.0", "{breaking: false}"))
    plugin = plugin_on(fleet_running(running("3.0.0"), newer=more, preset=wanting("1.0.0"), limit=ended), "eu-1")
    assert (plugin.version, gates(plugin)) == ("3.0.0", ["would-downgrade"])


def test_a_secret_stays_one_under_another_name() -> None:
    newer = version("1.1.0", "{migrations: [{rename: {from: token, to: note}}]}", token="{name: note, type: string}")
    fleet = fleet_with(newer=newer, values=override("values", "[{path: token, value: hunter2}]"))
    assert plugin_on(fleet, "eu-1").options["note"].winner is not None
    assert "hunter2" not in str(explain(fleet, plugin_on(fleet, "eu-1")))


@pytest.mark.parametrize(("grace", "stamp"), [("36600d", "9950-01-01T00:00:00Z"), ("30d", "9999-12-31T23:59:59Z")])
def test_times_beyond_all_time_are_the_last_there_is(grace: str, stamp: str) -> None:
    newer = version("2.0.0", "{breaking: true}").replace(
        "namespace: acme}", f"namespace: acme, annotations: {{fleetform.dev/announced: '{stamp}'}}}}"
    )
    fleet = fleet_running(running("1.0.0"), newer=newer, limits=policy(f"notice: 2d, grace: {grace}"))
    upgrade = explain(fleet, plugin_on(fleet, "eu-1"))["upgrade"]
    assert upgrade["graceUntil"] == "9999-12-31T23:59:59Z"


@pytest.mark.rule("R2-9")
def test_a_floor_above_all_versions_and_a_misspelt_definition_are_told() -> None:
    above = fleet_with(limit=policy("support: [{definition: web, floor: 9.0.0}]"))
    assert [each.code for each in above.findings.all] == ["missing-version"]
    misspelt = fleet_with(limit=policy("support: [{definition: wbe, yanked: [1.0.0]}]"))
    assert [(each.code, each.hint) for each in misspelt.findings.all] == [("unknown-name", "did you mean web?")]


# ---- Forced


def policy_for(organization: str, text: str) -> str:
    return (
        "apiVersion: fleetform.dev/v1alpha1\nkind: LifecyclePolicy\n"
        f"metadata: {{name: default, namespace: {organization}}}\nspec: {{{text}}}\n"
    )


@pytest.mark.rule("S56", "B11")
@pytest.mark.parametrize(
    ("wanted", "support", "version", "forced"),
    [
        ("~1.0", "ends: [{version: 1.0.x, at: 2026-01-01}]", "1.1.0", True),
        ("~1.0", "ends: [{version: 1.0.x, at: 2027-01-01}]", "1.0.0", False),
        ("1.0.x || 1.2.x", "ends: [{version: 1.0.x, at: 2026-01-01}]", "1.2.0", False),
        ("~1.0", "floor: 1.1.0", None, False),
        ("~1.2", "ends: [{version: 1.2.x, at: 2026-01-01}]", None, False),
    ],
)
def test_an_end_date_forces_a_range_that_has_nothing_left(
    wanted: str, support: str, version: str | None, forced: bool
) -> None:
    rules = policy_for("acme", f"support: [{{definition: web, {support}}}]")
    plugin = plugin_on(fleet_with(newer=NEWER, preset=wanting(wanted), policy=rules), "eu-1")
    assert (plugin.version, plugin.target.forced) == (version, forced)
    assert gates(plugin) == ([] if version else ["version"])


@pytest.mark.rule("S56", "R2-11")
def test_a_breaking_version_is_no_longer_blocked_once_it_is_forced() -> None:
    def fleet_announced(on: str) -> Fleet:
        breaking = version("2.0.0", "{breaking: true}").replace(
            "namespace: acme}", f"namespace: acme, annotations: {{fleetform.dev/announced: '{on}'}}}}", 1
        )
        return fleet_running(running("1.0.0"), newer=breaking, policy=policy_for("acme", "grace: 5d, forceAfter: 10d"))

    waiting = plugin_on(fleet_announced("2026-10-25"), "eu-1")
    assert [(each.gate, each.until) for each in waiting.blocked_by] == [("breaking", parse_time("2026-11-04"))]
    forced = plugin_on(fleet_announced("2026-10-01"), "eu-1")
    assert (forced.version, gates(forced)) == ("2.0.0", [])
    early = fleet_announced("2026-10-25")
    assert early.decisions.next_due == parse_time("2026-11-04")
    for at, runs in (("2026-11-03T23:59:59Z", "1.0.0"), ("2026-11-04", "2.0.0"), ("2026-11-05", "2.0.0")):
        later = decide(replace(early.snapshot, at=parse_time(at)), early.decisions)
        assert later.plugins["acme", "eu-1", "web-eu-1"].version == runs, at


@pytest.mark.rule("S3")
def test_an_option_that_is_gone_and_comes_back_later_blocks_by_its_name() -> None:
    gone, again = version("1.1.0", host=""), version("1.2.0-rc.1")
    values = override("o", "[{path: /host, value: x}]")
    plugin = plugin_on(fleet_running(running("1.0.0"), gone=gone, again=again, o=values), "eu-1")
    assert [(each.gate, each.option) for each in plugin.blocked_by] == [("removed-option", "host")]
    assert plugin.version == "1.0.0"
    removing = override("o", "[{path: /host, strategy: Remove}]")
    assert gates(plugin_on(fleet_running(running("1.0.0"), gone=gone, again=again, o=removing), "eu-1")) == []


@pytest.mark.rule("R2-22")
def test_a_conflict_of_owners_hides_neither_other_gates_nor_what_is_wanted() -> None:
    young = PRESET.replace("name: web, namespace", "name: young, namespace").replace(
        "  plugin:\n", "  plugin:\n    releaseName: web\n    releaseNamespace: web\n"
    )
    older = PRESET.replace("namespace: acme}", "namespace: acme, annotations: {fleetform.dev/created: 2026-01-01}}")
    key = ("acme", "eu-1", "young-eu-1")
    state = KnownState(plugins=states({key: "1.0.0"}))
    fleet = fleet_running(state, preset=older, young=young, newer=version("2.0.0", "{breaking: true}"))
    view = explain(fleet, find_plugin(fleet, Scope("acme", "eu-1"), "young", None))
    assert [each["gate"] for each in view["blocked"]] == ["conflict", "breaking"]
    assert (view["target"]["version"], view["wanted"]["version"]) == ("1.0.0", "2.0.0")


@pytest.mark.rule("R2-5")
def test_each_object_whose_value_an_upgrade_meets_is_told_once() -> None:
    values = {
        name: override(name, "[{path: args, value: [x]}]", f"clusterSelector: {{clusterNames: [{clusters}]}}")
        for name, clusters in (("one", "eu-1"), ("two", "'eu-2', us-1"))
    }
    (upgrade,) = diff(fleet_with(**values), fleet_with(**values, newer=SPAN), ACME)["upgrades"]
    met = [(each["object"]["name"], each["effect"]) for each in upgrade["affected"] if each["path"] == "args"]
    assert met == [("one", "removed"), ("two", "removed")]
