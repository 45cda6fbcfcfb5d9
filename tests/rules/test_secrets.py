"""Secrets are never printed, in any answer or message."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from fleetform.app.fleet import Fleet
from fleetform.app.get import kinds
from fleetform.app.scope import Scope
from fleetform.model.objects import Ref
from fleetform.model.state import Deployed, PluginState
from support.answers import diff, explain, get, validate
from support.fleets import BASE, DEFINITION, NOW, PRESET, documents, fleet_with, override, plugin_on

CANARY = "hunter2-canary"
PLAIN = documents(
    override("plain", f"[{{path: token, value: {CANARY}}}]"),
    override("named", f"[{{path: token, value: {CANARY}-2}}]", "pluginDefinitionNames: [web]"),
)
ACME = Scope("acme")


def with_secrets() -> Fleet:
    definition = BASE["definition.yaml"].replace(
        "{name: token, type: secret}", f"{{name: token, type: secret, default: {CANARY}-0}}"
    )
    preset = BASE["preset.yaml"] + (
        f"    - {{name: token, value: {CANARY}-1}}\n"
        f"  clusterOptionOverrides: [{{clusterName: eu-1, overrides: [{{name: token, value: {CANARY}-3}}]}}]\n"
    )
    secret = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: s, namespace: acme}}\nstringData: {{k: {CANARY}}}\n"
    return fleet_with(definition=definition, preset=preset, overrides=PLAIN, secret=secret)


@pytest.mark.rule("S5", "B18")
def test_no_answer_holds_a_plain_secret() -> None:
    fleet = with_secrets()
    answers = [get(fleet, ACME, kind) for kind in kinds()]
    answers += [explain(fleet, plugin_on(fleet, "eu-1")), validate(fleet), diff(fleet_with(), fleet, ACME)]
    assert CANARY not in json.dumps(answers)
    assert "plain-secret" in json.dumps(answers)


@pytest.mark.rule("S5")
def test_explain_masks_secrets_in_values_winners_and_what_they_hid() -> None:
    fleet = with_secrets()
    view = explain(fleet, plugin_on(fleet, "eu-1"), "token")
    mask = {"secret": True, "digest": "unknown"}
    assert view["values"]["token"] == mask
    (option,) = view["options"]
    assert option["value"] == mask
    assert [hidden["value"] for hidden in option["hidden"]] == [mask] * 4


@pytest.mark.rule("B18")
def test_a_plugin_with_a_secret_of_unknown_content_has_no_input_hash() -> None:
    fleet = fleet_with(
        override=override(
            "o", "[{path: token, valueFrom: {secret: {name: s, key: k}}}]", "clusterSelector: {clusterNames: [eu-1]}"
        )
    )
    hashes = [explain(fleet, plugin_on(fleet, cluster))["target"]["inputHash"] for cluster in ("eu-1", "eu-2")]
    assert hashes[0] is None
    assert hashes[1].startswith("h1:")


def test_a_misfit_of_a_secret_option_does_not_show_its_value() -> None:
    fleet = fleet_with(override=override("o", f"[{{path: token, value: [{CANARY}]}}]", "pluginDefinitionNames: [web]"))
    assert [each.code for each in fleet.findings.errors] == ["wrong-type"]
    assert CANARY not in json.dumps(validate(fleet))


def secret_fleet(content: str | None) -> Fleet:
    reference = override(
        "o", "[{path: token, valueFrom: {secret: {name: s, key: k}}}]", "clusterSelector: {clusterNames: [eu-1]}"
    )
    files = {"override": reference}
    if content is not None:
        files["secret"] = (
            f"apiVersion: v1\nkind: Secret\nmetadata: {{name: s, namespace: acme}}\nstringData: {{k: {content}}}\n"
        )
    return fleet_with(**files)


@pytest.mark.rule("B30")
def test_a_preview_counts_what_it_cannot_compare_and_never_calls_it_no_change() -> None:
    unknown = diff(secret_fleet(None), secret_fleet(None), ACME)
    assert (unknown["changes"], unknown["summary"]["unknown"]) == ([], 1)
    half = diff(secret_fleet("a"), secret_fleet(None), ACME)
    assert half["summary"]["unknown"] == 1


@pytest.mark.rule("B30")
def test_secrets_that_are_in_both_inputs_are_compared_and_masked() -> None:
    same = diff(secret_fleet("a"), secret_fleet("a"), ACME)
    assert (same["changes"], same["summary"]["unknown"]) == ([], 0)
    (change,) = diff(secret_fleet("a"), secret_fleet(CANARY), ACME)["changes"]
    assert [option["path"] for option in change["options"]] == ["token"]
    assert CANARY not in json.dumps(change)


@pytest.mark.rule("B30")
def test_a_state_brings_what_runs(tmp_path: object) -> None:
    from fleetform.ports.state import KnownState

    admitted = {"version": "1.0.0", "inputHash": "h1:abc"}
    fleet = fleet_with()
    states = {Ref("Cluster", "acme", "eu-1"): {"web-eu-1": PluginState(Deployed("1.0.0", input_hash="h1:abc"))}}
    known = replace(fleet, state=KnownState(plugins=states))
    assert explain(known, plugin_on(known, "eu-1"))["admitted"] == admitted
    assert explain(known, plugin_on(known, "eu-2"))["admitted"] is None
    assert known.snapshot.at == NOW


@pytest.mark.rule("S5")
def test_an_expression_on_a_secret_option_is_not_shown() -> None:
    fleet = fleet_with(override=override("o", f"[{{path: token, expression: \"'{CANARY}'\"}}]"))
    answers = [get(fleet, ACME, "overrides"), explain(fleet, plugin_on(fleet, "eu-1")), validate(fleet)]
    assert CANARY not in json.dumps(answers)
    assert "plain-secret" in [each.code for each in fleet.findings.all]


@pytest.mark.rule("S5")
def test_what_any_version_calls_a_secret_is_one_in_all() -> None:
    newer = (
        BASE["definition.yaml"]
        .replace("1.0.0", "2.0.0")
        .replace("{name: host, type: string}", "{name: host, type: secret}")
    )
    pinned = BASE["preset.yaml"].replace("{name: web}\n", "{name: web, version: 1.0.0}\n")
    fleet = fleet_with(newer=newer, preset=pinned, override=override("o", f"[{{path: host, value: {CANARY}}}]"))
    assert plugin_on(fleet, "eu-1").version == "1.0.0"
    assert CANARY not in json.dumps(
        [explain(fleet, plugin_on(fleet, "eu-1")), get(fleet, ACME, "overrides"), validate(fleet)]
    )


@pytest.mark.rule("S5")
def test_values_written_as_a_map_are_masked_too() -> None:
    preset = BASE["preset.yaml"].split("    optionValues:")[0] + f"    optionValues: {{token: {CANARY}}}\n"
    fleet = fleet_with(preset=preset)
    assert CANARY not in json.dumps([get(fleet, ACME, "presets"), explain(fleet, plugin_on(fleet, "eu-1"))])


@pytest.mark.rule("S5")
def test_what_some_version_declares_secret_inside_an_option_is_masked_in_its_parts_and_in_what_they_hide() -> None:
    """1.0.0 declares auth.password, 1.1.0 the whole of auth: what is said of the password is a secret in both."""
    password = DEFINITION.replace("  options:\n", "  options:\n  - {name: auth.password, type: secret}\n")
    whole = DEFINITION.replace("1.0.0", "1.1.0").replace("  options:\n", "  options:\n  - {name: auth, type: map}\n")
    preset = PRESET + f"    - {{name: auth, value: {{user: me, password: {CANARY}-1}}}}\n"
    items = (
        f"[{{path: auth, value: {{user: you, password: {CANARY}-2}}, strategy: Merge}}]",
        f"[{{path: auth.password, value: {CANARY}-3}}]",
        f"[{{path: auth.password, expression: \"'{CANARY}-4'\"}}]",
    )
    overrides = [override(f"o{n}", each, created=f"2026-01-0{n + 1}") for n, each in enumerate(items)]
    for number in range(len(overrides) + 1):
        fleet = fleet_with(definition=password, newer=whole, preset=preset, o=documents(*overrides[:number]))
        view = explain(fleet, plugin_on(fleet, "eu-1"))
        assert CANARY not in json.dumps(view)
        (auth,) = [each for each in view["options"] if each["path"] == "auth"]
        assert auth["value"]["user"] == ("you" if number else "me")


RENAMED = (
    DEFINITION.replace("1.0.0", "2.0.0").replace("{name: token, type: secret}", "{name: key, type: string}")
    + "  changes: {breaking: false, migrations: [{rename: {from: token, to: key}}]}\n"
)


@pytest.mark.rule("S5")
@pytest.mark.parametrize("version", ["1.0.0", "2.0.0"])
def test_a_secret_is_one_under_the_name_that_a_later_version_gives_it(version: str) -> None:
    """Somebody writes the new name before 2.0.0 runs, when it is still free for something else."""
    older = DEFINITION + "  - {name: key, type: string}\n"
    preset = PRESET.replace("{name: web}\n", f"{{name: web, version: {version}}}\n") + (
        f"    - {{name: key, value: {CANARY}}}\n"
    )
    fleet = fleet_with(definition=older, newer=RENAMED, preset=preset)
    answers = [get(fleet, ACME, "presets"), explain(fleet, plugin_on(fleet, "eu-1"))]
    assert plugin_on(fleet, "eu-1").version == version
    assert CANARY not in json.dumps(answers)


@pytest.mark.rule("S5")
def test_a_list_of_objects_masks_a_map_in_which_an_option_is_secret() -> None:
    definition = DEFINITION.replace("{name: token, type: secret}", "{name: auth.password, type: secret}")
    above = override("o", f"[{{path: auth, value: {{password: {CANARY}}}}}]", "allowUndeclared: true")
    fleet = fleet_with(definition=definition, override=above)
    assert CANARY not in json.dumps([get(fleet, ACME, "overrides"), explain(fleet, plugin_on(fleet, "eu-1"))])


@pytest.mark.rule("S58", "B18")
@pytest.mark.parametrize(
    ("value", "expression"),
    [("$(S)", "[value]"), ("{a: $(S), b: x}", "value.map(k, {'name': k, 'of': value[k]})")],
)
def test_what_a_migration_makes_of_a_secret_is_a_secret_as_a_whole(value: str, expression: str) -> None:
    older = DEFINITION + "  - {name: users, type: map}\n"
    newer = DEFINITION.replace("1.0.0", "2.0.0") + (
        "  - {name: users, type: list}\n"
        f'  changes: {{breaking: false, migrations: [{{retype: {{name: users, expression: "{expression}"}}}}]}}\n'
    )
    preset = (
        PRESET
        + f"    - {{name: users, value: {value}}}\n"
        + ("  controlPlaneBindings:\n  - {name: S, objectFieldRef: {kind: Secret, name: s, fieldPath: /data/k}}\n")
    )
    secret = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: s, namespace: acme}}\nstringData: {{k: {CANARY}}}\n"
    fleet = fleet_with(definition=older, newer=newer, preset=preset, secret=secret)
    plugin = plugin_on(fleet, "eu-1")
    assert not plugin.gates
    assert explain(fleet, plugin)["values"]["users"] == {"secret": True, "digest": "unknown"}
    assert isinstance(plugin.options["users"].value.plain, list)
