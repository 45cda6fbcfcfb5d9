"""What holds for every placement, whatever it asks for."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.placement.test_placement import AT, SET, cluster, placement
from fleetform.engine.placement.choice import PlacementChoice
from fleetform.engine.placement.facts import claims_of
from fleetform.engine.placement.place import Placed, place, why_not, why_not_others
from fleetform.engine.placement.pool import ClusterPool, Sets
from fleetform.model.kinds.base import LabelSelector
from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.kinds.placement import ClusterSetSpec, PlacementSpec, SpreadConstraint
from fleetform.model.objects import Object
from fleetform.syntax.selectors import compile_labels, matches_all

NAMES = [f"c{number}" for number in range(8)]
KEYS, VALUES = st.sampled_from(["env", "region"]), st.sampled_from(["x", "y", "z"])
EFFECTS = st.sampled_from(["NoSelect", "NoSelectIfNew", "PreferNoSelect"])
TIMES = st.sampled_from([None, "2026-11-01T11:59:00Z", "2026-11-01T00:00:00Z"])
NUMBERS = st.none() | st.integers(0, 9)


def records(required: dict[str, Any], **optional: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(required, optional=optional)


TAINTS = records({"key": st.sampled_from(["t", "u"]), "effect": EFFECTS, "timeAdded": TIMES})
TOLERATIONS = records(
    {"operator": st.sampled_from(["Equal", "Exists"])},
    key=st.sampled_from(["t", "u"]),
    effect=EFFECTS,
    tolerationSeconds=st.sampled_from([30, 90, 10**6]),
)
REQUIREMENTS = st.one_of(
    records({"key": KEYS, "operator": st.sampled_from(["In", "NotIn"]), "values": st.lists(VALUES, min_size=1)}),
    records({"key": KEYS, "operator": st.sampled_from(["Exists", "DoesNotExist"])}),
)
SELECTORS = records(
    {},
    labelSelector=records({}, matchExpressions=st.lists(REQUIREMENTS, max_size=2)),
    claimSelector=records({}, matchExpressions=st.lists(REQUIREMENTS, max_size=1)),
    celSelector=records({}, celExpressions=st.just(['managedCluster.metadata.labels["env"] == "x"'])),
)
BUILT_IN = st.sampled_from(["Balance", "Steady", "ResourceAllocatableCPU"])
COORDINATES = st.one_of(
    records({"type": st.just("BuiltIn"), "builtIn": BUILT_IN}),
    st.just({"type": "AddOn", "addOn": {"resourceName": "r", "scoreName": "s"}}),
)
PRIORITIZERS = records(
    {"mode": st.sampled_from(["Additive", "Exact"])},
    configurations=st.lists(records({"scoreCoordinate": COORDINATES, "weight": st.integers(-10, 10)}), max_size=3),
)
CONSTRAINTS = records(
    {"topologyKey": KEYS, "topologyKeyType": st.sampled_from(["Label", "Claim"]), "maxSkew": st.integers(1, 2)},
    whenUnsatisfiable=st.sampled_from(["DoNotSelect", "ScheduleAnyway"]),
)
GROUPS = records(
    {},
    clustersPerDecisionGroup=st.sampled_from([0, 1, 3, "30%"]),
    decisionGroups=st.lists(
        records({"groupName": st.just("g")}, groupClusterSelector=records({}, matchLabels=st.just({"env": "x"}))),
        max_size=2,
    ),
)
PLACEMENTS = records(
    {"numberOfClusters": NUMBERS},
    clusterSets=st.lists(st.sampled_from(["x", "default", "global"]), max_size=2),
    predicates=st.lists(records({"requiredClusterSelector": SELECTORS}), max_size=2),
    tolerations=st.lists(TOLERATIONS, max_size=2),
    prioritizers=PRIORITIZERS,
    spread=records({"spreadConstraints": st.lists(CONSTRAINTS, max_size=2)}),
    decisionGroups=GROUPS,
).map(lambda tree: placement(**tree))
LABELS = st.dictionaries(st.sampled_from(["env", "region", SET]), VALUES)
FACTS = records(
    {},
    claims=st.dictionaries(KEYS, VALUES),
    allocatable=records({"cpu": st.sampled_from([1, "500m", "7"])}),
)


@st.composite
def fleets(draw: st.DrawFn) -> list[Object[ClusterSpec]]:
    return [
        cluster(name, draw(LABELS), facts=draw(FACTS), taints=draw(st.lists(TAINTS, max_size=2)))
        for name in draw(st.lists(st.sampled_from(NAMES), unique=True))
    ]


SITUATIONS = st.fixed_dictionaries(
    {
        "earlier": st.frozensets(st.sampled_from(NAMES)),
        "load": st.dictionaries(st.sampled_from(NAMES), st.integers(1, 5)),
        "sets": st.sampled_from([None, Sets({}), Sets({"x": ClusterSetSpec()}, ["x", "default"])]),
    }
)
SCORES = st.dictionaries(st.sampled_from([(name, "r", "s") for name in NAMES]), st.integers(-100, 100))


def names(answer: Placed) -> list[tuple[str, list[str]]]:
    return [(group.name, [each.ref.name for each in group.clusters]) for group in answer.groups]


def value_of(constraint: SpreadConstraint, which: Object[ClusterSpec]) -> str | None:
    values = which.labels if constraint.topology_key_type == "Label" else claims_of(which)
    return values.get(constraint.topology_key)


@given(PLACEMENTS, fleets(), SITUATIONS, SCORES, st.randoms(use_true_random=False))
def test_the_order_of_clusters_changes_nothing(
    spec: PlacementSpec, fleet: list[Object[ClusterSpec]], situation: Any, scores: Any, random: Any
) -> None:
    answer = place(PlacementChoice(spec, ClusterPool(fleet, scores), at=AT, **situation))
    shuffled = list(fleet)
    random.shuffle(shuffled)
    assert place(PlacementChoice(spec, ClusterPool(shuffled, scores), at=AT, **situation)) == answer


@given(PLACEMENTS, PLACEMENTS, fleets(), SITUATIONS, SCORES)
def test_a_pool_that_another_placement_used_answers_the_same(
    before: PlacementSpec, spec: PlacementSpec, fleet: list[Object[ClusterSpec]], situation: Any, scores: Any
) -> None:
    shared = ClusterPool(fleet, scores)
    place(PlacementChoice(before, shared, at=AT))
    assert place(PlacementChoice(spec, shared, at=AT, **situation)) == place(
        PlacementChoice(spec, ClusterPool(fleet, scores), at=AT, **situation)
    )


@given(PLACEMENTS, fleets(), SITUATIONS, SCORES)
def test_the_chosen_qualify_and_are_not_too_many(
    spec: PlacementSpec, fleet: list[Object[ClusterSpec]], situation: Any, scores: Any
) -> None:
    pool = ClusterPool(fleet, scores)
    answer = place(PlacementChoice(spec, pool, at=AT, **situation))
    unlimited = msgspec.structs.replace(spec, number_of_clusters=None, spread=None)
    assert set(answer.names) <= set(place(PlacementChoice(unlimited, pool, at=AT, **situation)).names)
    assert spec.number_of_clusters is None or len(answer.chosen) <= spec.number_of_clusters


@given(PLACEMENTS, fleets(), SITUATIONS, SCORES)
def test_as_many_are_chosen_as_are_wanted_and_qualify_unless_spread_forbids(
    spec: PlacementSpec, fleet: list[Object[ClusterSpec]], situation: Any, scores: Any
) -> None:
    pool = ClusterPool(fleet, scores)
    without = msgspec.structs.replace(spec, spread=None)
    qualifying = place(
        PlacementChoice(msgspec.structs.replace(without, number_of_clusters=None), pool, at=AT, **situation)
    ).chosen
    wanted = len(qualifying) if spec.number_of_clusters is None else min(spec.number_of_clusters, len(qualifying))
    assert len(place(PlacementChoice(without, pool, at=AT, **situation)).chosen) == wanted


@given(PLACEMENTS, fleets(), SITUATIONS, SCORES)
def test_where_nothing_was_chosen_earlier_no_constraint_that_must_hold_is_broken(
    spec: PlacementSpec, fleet: list[Object[ClusterSpec]], situation: Any, scores: Any
) -> None:
    pool = ClusterPool(fleet, scores)
    fresh = {**situation, "earlier": ()}
    answer = place(PlacementChoice(spec, pool, at=AT, **fresh))
    unlimited = msgspec.structs.replace(spec, number_of_clusters=None, spread=None)
    for constraint in (spec.spread and spec.spread.spread_constraints) or []:
        if constraint.when_unsatisfiable != "DoNotSelect":
            continue
        counts = Counter(
            {value_of(constraint, each): 0 for each in place(PlacementChoice(unlimited, pool, at=AT, **fresh)).chosen}
        )
        del counts[None]
        counts.update(value_of(constraint, each) for each in answer.chosen)
        assert None not in counts
        assert not counts or max(counts.values()) - min(counts.values()) <= constraint.max_skew


@pytest.mark.rule("B32")
@given(PLACEMENTS, fleets(), SITUATIONS, SCORES)
def test_what_was_chosen_stays_chosen(
    spec: PlacementSpec, fleet: list[Object[ClusterSpec]], situation: Any, scores: Any
) -> None:
    pool = ClusterPool(fleet, scores)
    answer = place(PlacementChoice(spec, pool, at=AT, **situation))
    again = place(PlacementChoice(spec, pool, at=AT, **{**situation, "earlier": answer.names}))
    assert names(again) == names(answer)


@pytest.mark.rule("B32")
@given(PLACEMENTS, fleets(), SITUATIONS, SCORES, SCORES)
def test_no_score_drives_out_what_was_chosen(
    spec: PlacementSpec, fleet: list[Object[ClusterSpec]], situation: Any, scores: Any, others: Any
) -> None:
    first = place(PlacementChoice(spec, ClusterPool(fleet, scores), at=AT, **situation))
    again = place(
        PlacementChoice(spec, ClusterPool(fleet, others), at=AT, **{**situation, "earlier": first.names, "load": {}})
    )
    assert again.chosen == first.chosen


@settings(max_examples=200)
@given(PLACEMENTS, fleets(), SITUATIONS, SCORES)
def test_there_are_words_for_exactly_those_that_are_not_chosen(
    spec: PlacementSpec, fleet: list[Object[ClusterSpec]], situation: Any, scores: Any
) -> None:
    pool = ClusterPool(fleet, scores)
    answer = place(PlacementChoice(spec, pool, at=AT, **situation))
    reasons = {each.ref.name: why_not(PlacementChoice(spec, pool, at=AT, **situation), each.ref.name) for each in fleet}
    assert {name for name, reason in reasons.items() if reason is None} == set(answer.names)
    assert "" not in reasons.values()
    assert why_not_others(PlacementChoice(spec, pool, at=AT, **situation)) == {
        name: each for name, each in reasons.items() if each
    }


@given(PLACEMENTS, fleets(), SITUATIONS, SCORES)
def test_groups_hold_every_chosen_cluster_once(
    spec: PlacementSpec, fleet: list[Object[ClusterSpec]], situation: Any, scores: Any
) -> None:
    answer = place(PlacementChoice(spec, ClusterPool(fleet, scores), at=AT, **situation))
    grouped = Counter(each.ref.name for group in answer.groups for each in group.clusters)
    assert grouped == Counter(answer.names)
    assert all(group.clusters for group in answer.groups)


@given(PLACEMENTS, fleets(), SITUATIONS, SCORES)
def test_until_it_is_to_be_looked_at_again_the_answer_stays(
    spec: PlacementSpec, fleet: list[Object[ClusterSpec]], situation: Any, scores: Any
) -> None:
    pool = ClusterPool(fleet, scores)
    answer = place(PlacementChoice(spec, pool, at=AT, **situation))
    later = AT.replace(year=2100) if answer.look_again_at is None else answer.look_again_at
    assert later > AT
    just_before = later - later.resolution
    assert names(place(PlacementChoice(spec, pool, at=just_before, **situation))) == names(answer)


@given(st.lists(REQUIREMENTS, max_size=3), fleets())
def test_labels_are_matched_as_selectors_match_them(requirements: Any, fleet: list[Object[ClusterSpec]]) -> None:
    wanted = {"matchExpressions": requirements}
    spec = placement(
        predicates=[{"requiredClusterSelector": {"labelSelector": wanted}}], tolerations=[{"operator": "Exists"}]
    )
    compiled = compile_labels(msgspec.convert(wanted, LabelSelector))
    expected = sorted(each.ref.name for each in fleet if matches_all(compiled, each.labels))
    assert list(place(PlacementChoice(spec, ClusterPool(fleet), at=AT)).names) == expected
