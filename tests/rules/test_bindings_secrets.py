"""What a Secret holds is decoded when it is bound, and secret from there on."""

from __future__ import annotations

import json
from base64 import b64encode

import pytest

from fleetform.app.fleet import Fleet
from fleetform.app.get import kinds
from fleetform.app.scope import Scope
from fleetform.engine.secrets import has_secret, with_placeholders
from fleetform.model.results.decisions import Secret
from fleetform.ports.state import KnownState
from support.answers import MASKED, diff, explain, get, validate
from support.bound import (
    HOST,
    bound_fleet,
    bound_on,
    config_map,
    definition_of,
    field_of,
    gates_on,
    hash_on,
    in_plain,
    option_on,
    preset,
    secret,
    thing,
)
from support.fleets import documents, plugin_on
from support.states import states

CANARY = "hunter2-canary"
CODED = b64encode(CANARY.encode()).decode()
ACME = Scope("acme")
FROM_SECRET = field_of("Secret", "s", "/data/k")


def answers(fleet: Fleet, cluster: str = "eu-1") -> str:
    """Everything that is told of a fleet."""
    views = [get(fleet, ACME, kind) for kind in kinds()]
    plugins = [explain(fleet, each) for each in fleet.decisions.plugins.values()]
    nothing = bound_fleet("[]", "[]")
    return json.dumps([*views, *plugins, validate(fleet), diff(nothing, fleet, ACME), diff(fleet, nothing, ACME)])


def is_hidden(fleet: Fleet) -> bool:
    told = answers(fleet)
    return CANARY not in told and CODED not in told and CODED.rstrip("=") not in told


@pytest.mark.rule("R3-18")
@pytest.mark.parametrize(
    ("body", "path"),
    [
        (f"data: {{k: {CODED}}}", "/data/k"),
        (f"data: {{k: {CODED}}}", "data.k"),
        (f"data: {{k: '{CODED[:8]}\n      {CODED[8:]}'}}", "/data/k"),
        (f"stringData: {{k: {CANARY}}}", "/data/k"),
        (f"stringData: {{k: {CANARY}}}", "/stringData/k"),
        (f"data: {{k: b3RoZXI=}}\nstringData: {{k: {CANARY}}}", "/data/k"),
    ],
)
def test_an_entry_of_a_secret_is_decoded_and_secret(body: str, path: str) -> None:
    fleet = bound_fleet(HOST, field_of("Secret", "s", path), s=thing("Secret", "s", body))
    value = plugin_on(fleet, "eu-1").options["host"].value
    assert isinstance(value, Secret)
    assert value.plain == CANARY
    assert with_placeholders(value) == "<secret s/k>"
    assert is_hidden(fleet)


@pytest.mark.rule("R3-18")
@pytest.mark.parametrize(("path", "inside"), [("/data", ["k"]), (".", ["data", "k"]), ("", ["data", "k"])])
def test_all_of_a_secret_is_secret_where_its_entries_are(path: str, inside: list[str]) -> None:
    values = "[{name: labels, value: {x: $(X)}}]"
    held = thing("Secret", "s", f"data: {{k: {CODED}}}\nstringData: {{p: {CANARY}}}")
    fleet = bound_fleet(values, field_of("Secret", "s", path), s=held)
    found = option_on(fleet, "labels")["x"]
    for step in inside:
        found = found[step]
    assert found == CANARY
    assert is_hidden(fleet)
    assert hash_on(fleet) is None


@pytest.mark.rule("R3-18")
def test_the_copy_that_kubectl_keeps_in_annotations_is_secret() -> None:
    note = "kubectl.kubernetes.io/last-applied-configuration"
    held = thing("Secret", "s", f"data: {{k: {CODED}}}").replace(
        "namespace: acme}", f"namespace: acme, annotations: {{{note}: '{CODED}'}}}}"
    )
    for path in ("/metadata", "/metadata/annotations", f"/metadata/annotations/{note.replace('/', '~1')}"):
        fleet = bound_fleet("[{name: labels, value: {x: $(X)}}]", field_of("Secret", "s", path), s=held)
        assert has_secret(option_on_raw(fleet))
        assert is_hidden(fleet)
    named = bound_fleet(HOST, field_of("Secret", "s", "/metadata/name"), s=held)
    assert (option_on(named), has_secret(option_on_raw(named, "host"))) == ("s", False)


def option_on_raw(fleet: Fleet, option: str = "labels") -> object:
    return plugin_on(fleet, "eu-1").options[option].value


@pytest.mark.rule("R3-18", "B18")
@pytest.mark.parametrize(
    ("bindings", "expected"),
    [
        ("{name: A, value: $(X)}", CANARY),
        ("{name: A, value: $(B)}, {name: B, value: 'u:$(X)@h'}", f"u:{CANARY}@h"),
        ("{name: A, value: $(B), as: json}, {name: B, value: {p: [$(X)]}}", f'{{"p":["{CANARY}"]}}'),
        ("{name: A, value: {p: $(X)}, as: yaml}", f"p: {CANARY}"),
        ("{name: A, value: $(X), as: string}", CANARY),
        ("{name: A, objectFieldRef: {kind: Secret, name: s, fieldPath: /data/coded}, as: base64decode}", CANARY),
        ("{name: A, objectFieldRef: {kind: ConfigMap, name: none, fieldPath: /a}, default: d-$(X)}", f"d-{CANARY}"),
    ],
)
def test_what_is_made_of_a_secret_is_secret(bindings: str, expected: str) -> None:
    values = "[{name: host, value: $(A)}, {name: labels, value: {a: {b: [$(A)]}}}, {name: args, value: ['x $(A)']}]"
    more = "  substitute: {URL: 'https://$(A)'}\n"
    s = secret("s", k=CANARY, coded=CODED)
    fleet = bound_fleet(values, f"[{FROM_SECRET[1:-1]}, {bindings}]", more, s=s)
    assert option_on(fleet) == expected
    assert option_on(fleet, "labels") == {"a": {"b": [expected]}}
    assert option_on(fleet, "args") == [f"x {expected}"]
    plugin = plugin_on(fleet, "eu-1")
    assert in_plain(fleet.inputs.substituted(plugin)) == {"URL": f"https://{expected}"}
    assert sorted(fleet.inputs.holds_secrets(plugin)) == ["URL", "args", "host", "labels"]
    assert is_hidden(fleet)
    assert hash_on(fleet) is None


@pytest.mark.rule("R3-18", "B18")
def test_secrecy_passes_through_an_output() -> None:
    producer = documents(
        preset("[]", f"[{FROM_SECRET[1:-1]}, {{name: W, value: <$(X)>}}]", name="ca"),
        definition_of("ca", "[{name: out, value: {inner: $(W)}}]"),
    )
    bindings = "[{name: X, pluginOutputRef: {definition: ca, output: out}, as: json}]"
    fleet = bound_fleet(HOST, bindings, ca=producer, s=secret("s", k=CANARY))
    assert option_on(fleet) == f'{{"inner":"<{CANARY}>"}}'
    assert is_hidden(fleet)
    assert (hash_on(fleet), hash_on(fleet, owner="ca") is None) == (None, False)


@pytest.mark.rule("R3-18", "B16")
def test_a_secret_of_the_cluster_is_secret() -> None:
    more = "  bindings: [{name: X, objectFieldRef: {kind: Secret, name: s, fieldPath: /data/k}}]\n"
    state = KnownState(plugins=states(observed={("acme", "eu-1", "web-eu-1"): {"X": CANARY}}))
    fleet = bound_fleet("[{name: host, value: a$(X)}]", None, more, state=state)
    assert option_on(fleet) == f"a{CANARY}"
    assert is_hidden(fleet)


@pytest.mark.rule("B16", "B18", "B30")
def test_without_a_key_nobody_knows_whether_a_secret_of_the_cluster_is_the_same() -> None:
    more = "  bindings: [{name: X, objectFieldRef: {kind: Secret, name: s, fieldPath: /data/k}}]\n"
    state = KnownState(plugins=states(observed={("acme", "eu-1", "web-eu-1"): {"X": CANARY}}))
    fleet = bound_fleet("[{name: host, value: a$(X)}]", None, more, state)
    plugin = plugin_on(fleet, "eu-1")
    assert fleet.inputs.hash(plugin) is not None
    assert fleet.inputs.state_hash(plugin) is None


@pytest.mark.rule("B18")
def test_explain_masks_a_bound_secret_everywhere() -> None:
    view = explain(bound := bound_fleet(HOST, FROM_SECRET, s=secret("s", k=CANARY)), plugin_on(bound, "eu-1"))
    assert view["values"]["host"] == MASKED
    assert view["bindings"][0]["value"] == MASKED
    assert [each["value"] for each in view["options"] if each["path"] == "host"] == [MASKED]
    assert view["target"]["inputHash"] is None


@pytest.mark.rule("B18", "B30")
def test_a_changed_secret_is_a_change_whose_values_are_masked() -> None:
    before, after = (bound_fleet(HOST, FROM_SECRET, s=secret("s", k=each)) for each in ("old-one", CANARY))
    view = diff(before, after, ACME)
    assert [each["cluster"] for each in view["changes"]] == ["eu-1", "eu-2", "us-1"]
    assert [[each["path"] for each in change["options"]] for change in view["changes"]] == [["host"]] * 3
    assert "old-one" not in json.dumps(view)
    assert CANARY not in json.dumps(view)
    assert diff(before, before, ACME)["changes"] == []


@pytest.mark.rule("R3-18")
@pytest.mark.parametrize(
    "reference",
    [
        "objectFieldRef: {kind: ConfigMap, name: c-$(X), fieldPath: /data/k}",
        "objectFieldRef: {kind: ConfigMap, name: c, fieldPath: /data/$(X)}",
        "objectFieldRef: {kind: $(X), name: c, fieldPath: /data/k}",
        "objectFieldRef: {kind: ConfigMap, namespace: $(X), name: c, fieldPath: /data/k}",
        "clusterFieldRef: {path: /spec/$(X)}",
        "pluginOutputRef: {definition: web, output: $(X)}",
    ],
)
def test_a_secret_in_a_reference_is_refused_and_not_told(reference: str) -> None:
    bindings = f"[{FROM_SECRET[1:-1]}, {{name: R, {reference}}}]"
    values = HOST[:-1] + ", {name: args, value: [$(R)]}]"
    fleet = bound_fleet(values, bindings, s=secret("s", k=CANARY), c=config_map("c", k="v"))
    missing = bound_on(fleet)["R"].unresolved
    assert missing is not None
    assert missing.message == "R cannot be resolved: its reference contains a secret"
    assert gates_on(fleet) == ["value-type"]
    assert is_hidden(fleet)


@pytest.mark.rule("R3-18")
@pytest.mark.parametrize(
    ("body", "message"),
    [
        (f"data: {{k: '!{CANARY}'}}", "it is not base64 text"),
        (f"data: {{k: {CANARY}}}", "it is not base64 text"),
        ("data: {k: 12}", "it is not base64 text"),
        ("data: {k: [a]}", "it is not base64 text"),
        ("data: {k: /w==}", "its bytes are not text"),
    ],
)
def test_an_entry_that_is_no_text_is_told_without_its_content(body: str, message: str) -> None:
    fleet = bound_fleet(HOST, FROM_SECRET, s=thing("Secret", "s", body))
    (gate,) = plugin_on(fleet, "eu-1").gates
    assert gate.message == f"X cannot be resolved: Secret s, key k: {message}"
    assert is_hidden(fleet)


@pytest.mark.rule("R3-18")
def test_an_entry_that_nobody_binds_may_be_binary() -> None:
    fleet = bound_fleet(HOST, FROM_SECRET, s=thing("Secret", "s", f"data: {{k: {CODED}, other: /w==}}"))
    assert (option_on(fleet), gates_on(fleet)) == (CANARY, [])


@pytest.mark.rule("R3-18")
def test_a_secret_of_another_group_is_an_object_like_any_other() -> None:
    theirs = thing("Secret", "s", "data: {k: plain}", version="example.com/v1")
    fleet = bound_fleet(HOST, FROM_SECRET, s=theirs)
    assert plugin_on(fleet, "eu-1").options["host"].value == "plain"


@pytest.mark.rule("B18")
def test_a_value_of_the_wrong_type_that_holds_a_secret_is_not_told() -> None:
    values = "[{name: replicas, value: {a: $(X)}}, {name: host, value: [$(X)]}]"
    fleet = bound_fleet(values, FROM_SECRET, s=secret("s", k=CANARY))
    assert gates_on(fleet) == ["value-type", "value-type"]
    assert is_hidden(fleet)
