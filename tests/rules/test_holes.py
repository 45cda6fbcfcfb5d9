"""Values of which a part is not known: what is laid over it, beside it and into it, and what that hashes to."""

from __future__ import annotations

import pytest

from fleetform.app.fleet import Fleet
from fleetform.app.scope import Scope
from fleetform.model.results.decisions import ABSENT
from support.answers import diff
from support.bound import bound_fleet, gates_on, hash_on, option_on
from support.fleets import DEFINITION, documents, override, plugin_on, value_on

# A is missing, D waits for the cluster, O is optional and has no value.
SECTIONS = """
  controlPlaneBindings:
  - {name: A, clusterFieldRef: {path: /spec/none}}
  - {name: O, clusterFieldRef: {path: /spec/none}, optional: true}
  - {name: HERE, value: here}
  bindings:
  - {name: D, objectFieldRef: {kind: Service, name: s, fieldPath: /spec/clusterIP}}
""".lstrip("\n")
MISSING, WAITING = "$(A)", "$(D)"
HOLES = [(MISSING, "config-missing"), (WAITING, "downstream")]


def fleet_of_map(value: str, *overrides: str) -> Fleet:
    """A preset that sets labels, and overrides on top, the oldest first."""
    written = [
        override(f"o{number}", each, created=f"2026-01-{number + 1:02}") for number, each in enumerate(overrides)
    ]
    return bound_fleet(f"[{{name: labels, value: {value}}}]", None, SECTIONS, overrides=documents(*written))


def seen(fleet: Fleet) -> tuple[object, list[str]]:
    value = option_on(fleet, "labels")
    return (None if value is ABSENT else value), gates_on(fleet)


@pytest.mark.rule("R3-26", "S18", "S37")
@pytest.mark.parametrize(("hole", "gate"), HOLES)
@pytest.mark.parametrize(
    ("over", "value"),
    [
        # What is laid elsewhere leaves the hole, and its gate.
        ("[{path: labels, value: {b: 2}, strategy: Merge}]", None),
        ("[{path: labels.b, value: 2}]", None),
        ("[{path: labels.b, strategy: Remove}]", None),
        # What is laid into the hole cannot fill it.
        ("[{path: labels.x.y, value: 2}]", None),
        ("[{path: labels, value: {x: {y: 2}}, strategy: Merge}]", None),
        ("[{path: labels.x.y, strategy: Remove}]", None),
        # What replaces or removes it, or something above it, takes it away.
        ("[{path: labels.x, value: 2}]", {"a": 1, "x": 2}),
        ("[{path: labels, value: {x: 2, b: 3}, strategy: Merge}]", {"a": 1, "x": 2, "b": 3}),
        ("[{path: labels.x, strategy: Remove}]", {"a": 1}),
        ("[{path: labels, value: {b: 2}}]", {"b": 2}),
        ("[{path: labels, strategy: Remove}]", {"team": "none"}),
    ],
)
def test_a_hole_goes_with_what_replaces_it_and_stays_beside_everything_else(
    hole: str, gate: str, over: str, value: object
) -> None:
    assert seen(fleet_of_map(f"{{a: 1, x: {hole}}}", over)) == (value, [gate] if value is None else [])


@pytest.mark.rule("R3-26", "S18")
@pytest.mark.parametrize(("hole", "gate"), HOLES)
def test_a_map_that_is_unknown_as_a_whole_is_unknown_with_what_is_merged_into_it(hole: str, gate: str) -> None:
    merge, path = "[{path: labels, value: {b: 2}, strategy: Merge}]", "[{path: labels.b, value: 2}]"
    for over in (merge, path):
        assert seen(fleet_of_map(hole, over)) == (None, [gate])
    assert seen(fleet_of_map("{a: 1}", f"[{{path: labels, value: {hole}, strategy: Merge}}]")) == (None, [gate])
    assert seen(fleet_of_map(hole, merge, "[{path: labels, value: {c: 3}}]")) == ({"c": 3}, [])


@pytest.mark.rule("R3-26", "S18", "S37")
@pytest.mark.parametrize(("hole", "gate"), HOLES)
@pytest.mark.parametrize(
    ("below", "said"),
    [
        ("{a: 1, x: {k: 2}}", "{x: HOLE}"),
        ("{a: 1, x: {k: {l: 2}}}", "{x: {k: HOLE}}"),
        ("{a: 1, x: HOLE}", "{x: {k: 2}}"),
        ("{a: 1, x: {k: HOLE}}", "{x: {k: {l: 2}}}"),
        ("{a: 1, x: HOLE}", "{x: HOLE}"),
    ],
)
def test_a_part_of_a_map_is_unknown_once_something_unknown_is_merged_with_it(
    hole: str, gate: str, below: str, said: str
) -> None:
    below, said = below.replace("HOLE", hole), said.replace("HOLE", hole)
    merge = f"[{{path: labels, value: {said}, strategy: Merge}}]"
    assert seen(fleet_of_map(below, merge)) == (None, [gate])
    assert seen(fleet_of_map(below, merge, "[{path: labels.x, value: 3}]")) == ({"a": 1, "x": 3}, [])


@pytest.mark.rule("R0-9", "S18")
def test_an_expression_that_fails_blocks_until_something_replaces_it() -> None:
    failing = "[{path: labels.x, expression: cluster.labels.nowhere}]"
    fleet = fleet_of_map("{a: 1}", failing, "[{path: labels.b, value: 2}]")
    (gate,) = plugin_on(fleet, "eu-1").gates
    assert (seen(fleet)[0], gate.gate, gate.option) == (None, "value-type", "labels")
    assert gate.ref is not None
    assert gate.ref.name == "o0"
    assert seen(fleet_of_map("{a: 1}", failing, "[{path: labels.x, value: 2}]")) == ({"a": 1, "x": 2}, [])


@pytest.mark.rule("R3-26")
@pytest.mark.parametrize("value", ["'$(D)-$(A)'", "'$(A)-$(D)'", "{x: $(D), y: $(A)}", "[$(D), $(A)]"])
def test_a_missing_name_blocks_also_behind_one_that_waits_for_the_cluster(value: str) -> None:
    assert "config-missing" in seen(fleet_of_map(value))[1]


@pytest.mark.rule("S37")
def test_each_hole_has_its_own_gate() -> None:
    assert seen(fleet_of_map("{x: $(D), y: $(A)}"))[1] == ["config-missing", "downstream"]


@pytest.mark.rule("S37", "S59")
def test_a_path_that_does_not_fit_hides_no_hole_that_a_layer_above_it_made() -> None:
    fits_elsewhere = DEFINITION.replace("1.0.0", "2.0.0-rc.1").replace(
        "{name: labels, type: map, default: {team: none}}", "{name: labels, type: int}"
    )
    overrides = documents(
        override("below", "[{path: labels.x, value: 1}]", created="2026-01-01"),
        override("above", "[{path: labels, value: {x: {y: $(A)}}, strategy: Merge}]", created="2026-01-02"),
    )
    preset = "[{name: labels, value: 6}]"
    fleet = bound_fleet(preset, None, SECTIONS, overrides=overrides, newer=fits_elsewhere)
    assert gates_on(fleet) == ["value-type", "config-missing"]


@pytest.mark.rule("B18")
def test_a_secret_stays_one_where_it_is_merged() -> None:
    secrets = "[{path: labels.x, valueFrom: {secret: {name: s, key: k}}}]"
    fleet = fleet_of_map("{a: 1}", secrets, "[{path: labels, value: {b: 2}, strategy: Merge}]")
    assert repr(value_on(fleet, "eu-1", "labels")) == "{'a': 1, 'x': Secret(…), 'b': 2}"


# ---- Hashes


@pytest.mark.rule("B16", "R0-7")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("[{path: labels.b.c, value: $(D)}]", "[{path: /labels/b/c, value: $(D)}]"),
        ("[{path: labels.b, value: {c: $(D)}}]", "[{path: labels.b.c, value: $(D)}]"),
        ("[{path: labels.b, value: x-$(HERE)-$(D)}]", "[{path: labels.b, value: x-here-$(D)}]"),
        # What is hidden does not count.
        (
            "[{path: labels.b, value: $(D)}, {path: labels.c, value: 1}]",
            "[{path: labels, value: {c: 1, b: $(D)}, strategy: Merge}]",
        ),
    ],
)
def test_what_means_the_same_hashes_alike_also_beside_a_value_of_the_cluster(one: str, other: str) -> None:
    hashes = {hash_on(fleet_of_map("{a: 1}", each)) for each in (one, other)}
    assert len(hashes) == 1
    assert None not in hashes


@pytest.mark.rule("B16")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        # Beside it, in its text, and inside of what is not known yet.
        ("[{path: labels, value: {b: $(D), c: 1}}]", "[{path: labels, value: {b: $(D), c: 2}}]"),
        ("[{path: labels.b, value: x-$(D)}]", "[{path: labels.b, value: y-$(D)}]"),
        ("[{path: labels.b, value: $(D)}]", "[{path: labels.b, value: $$(D)}]"),
        ("[{path: labels.b, value: $(D)}, {path: labels.a, value: 2}]", "[{path: labels.b, value: $(D)}]"),
    ],
)
def test_what_means_something_else_hashes_otherwise(one: str, other: str) -> None:
    assert hash_on(fleet_of_map("{a: 1}", one)) != hash_on(fleet_of_map("{a: 1}", other))


@pytest.mark.rule("B16")
def test_what_is_laid_into_an_unread_map_is_hashed_with_it() -> None:
    fleets = [fleet_of_map("$(D)", f"[{{path: labels.b, value: {each}}}]") for each in (1, 2)]
    assert len({hash_on(each) for each in fleets}) == 2


@pytest.mark.rule("B16")
@pytest.mark.parametrize(
    ("below", "said"),
    [("{x: $(D)}", "{x: {k: N}}"), ("{x: {k: N}}", "{x: $(D)}"), ("{x: {k: {l: N}}}", "{x: {k: $(D)}}")],
)
def test_a_map_that_is_merged_with_an_unread_one_inside_another_is_hashed(below: str, said: str) -> None:
    fleets = [
        fleet_of_map(below.replace("N", each), f"[{{path: labels, value: {said.replace('N', each)}, strategy: Merge}}]")
        for each in "12"
    ]
    assert len({hash_on(each) for each in fleets} - {None}) == 2


@pytest.mark.rule("B16")
def test_a_value_of_the_cluster_that_an_override_replaced_is_not_hashed() -> None:
    over = "[{path: labels.x, value: 2}]"
    assert hash_on(fleet_of_map("{a: 1, x: $(D)}", over)) == hash_on(fleet_of_map("{a: 1, x: 1}", over))


# ---- Diffs


@pytest.mark.rule("B30")
@pytest.mark.parametrize(("hole", "gate"), HOLES)
def test_diff_tells_what_changed_beside_what_is_not_known(hole: str, gate: str) -> None:
    one, same, other = (fleet_of_map(f"{{a: {number}, x: {hole}}}") for number in (1, 1, 2))
    assert diff(one, same, Scope("acme"))["changes"] == []
    (change, *_) = diff(one, other, Scope("acme"))["changes"]
    assert [(each["path"], each["from"], each["to"]) for each in change["options"]] == [
        ("labels", {"a": 1, "x": None}, {"a": 2, "x": None})
    ]


@pytest.mark.rule("B30")
def test_diff_does_not_say_no_change_over_another_text_that_is_not_known() -> None:
    view = diff(fleet_of_map("{x: a-$(A)}"), fleet_of_map("{x: b-$(A)}"), Scope("acme"))
    assert (view["changes"], view["summary"]["unknown"]) == ([], 3)


@pytest.mark.rule("R0-14")
def test_hints_do_not_follow_the_order_of_keys() -> None:
    def do(facts: str) -> list[str]:
        cluster = (
            "apiVersion: fleetform.dev/v1alpha1\nkind: Cluster\nmetadata: {name: eu-1, namespace: acme}\n"
            f"spec: {{facts: {facts}}}\n"
        )
        bindings = "[{name: X, clusterFieldRef: {path: /spec/facts/none}}]"
        return [each.do for each in plugin_on(bound_fleet(bindings=bindings, clusters=cluster), "eu-1").gates]

    assert do("{b: 1, a: 2}") == do("{a: 2, b: 1}") == ["it has /spec/facts/a, /spec/facts/b"]


@pytest.mark.rule("S37", "R3-26")
@pytest.mark.parametrize(("hole", "gate"), HOLES)
def test_an_optional_name_beside_one_that_is_needed_does_not_open_its_gate(hole: str, gate: str) -> None:
    fleet = fleet_of_map(f"{{a: $(O), b: {hole}, c: {{d: [1, $(O)], e: kept}}}}")
    assert seen(fleet) == (None, [gate])
    partial = plugin_on(fleet, "eu-1").options["labels"].partial
    assert (set(partial), partial["c"]) == ({"b", "c"}, {"d": [1], "e": "kept"})
