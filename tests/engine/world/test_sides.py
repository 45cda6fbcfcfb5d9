"""Sides: a fleet in which some objects are those of another time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetform.engine.world.contents import ContentHashes, identity_text
from fleetform.engine.world.sides import NOTHING_KEPT, snapshot_of_side
from fleetform.model.kinds.definition import Option, PluginDefinitionSpec
from fleetform.model.objects import AnyObject, Ref
from fleetform.model.snapshot import Snapshot
from fleetform.syntax.versions import parse_version
from properties.edits import KINDS_OF_EDITS
from properties.strategies import NOW, an_object, examples, fleets
from properties.test_bindings import a_config_map


def as_read(snapshot: Snapshot, data: st.DataObject) -> Snapshot:
    """With the keys that reading gives, and objects of other systems."""
    definitions = {(ref, str(parse_version(each))): object_ for (ref, each), object_ in snapshot.definitions.items()}
    maps = data.draw(st.dictionaries(st.sampled_from("ab"), st.sampled_from("12")))
    others = {}
    for name, value in maps.items():
        found = a_config_map(name, {"k": value})
        others[found.ref._replace(kind="ConfigMap.v1")] = found
    return replace(snapshot, definitions=definitions, others=others)


def counted(snapshot: Snapshot) -> list[AnyObject]:
    """All objects but clusters, which are no part of what an owner is made of."""
    return [each for each in snapshot.objects if each.ref.kind != "Cluster"]


def some(data: st.DataObject, objects: Iterable[AnyObject]) -> list[AnyObject]:
    return [each for each in objects if data.draw(st.booleans())]


@pytest.mark.rule("B21")
@examples(100)
@given(fleets(), st.data())
def test_a_side_has_what_is_asked_for_as_it_was_and_all_else_as_it_is(snapshot: Snapshot, data: st.DataObject) -> None:
    edited = snapshot
    for kind in data.draw(st.lists(st.sampled_from(sorted(KINDS_OF_EDITS)), max_size=4)):
        edited = data.draw(KINDS_OF_EDITS[kind](edited)).after
    before, after = as_read(snapshot, data), as_read(edited, data)
    was, is_now = ContentHashes(before), ContentHashes(after)
    then, now = was.contents(some(data, counted(before))), is_now.contents(some(data, counted(after)))
    kept = {(identity_text(each), was.of(each)): each for each in counted(before)}
    side = snapshot_of_side(is_now, now, then, kept)
    assert side is not None
    found = ContentHashes(side)
    for identity in {identity_text(each) for each in (*counted(before), *counted(after), *counted(side))}:
        expected = then.get(identity) if identity in {*now, *then} else is_now.now(identity)
        assert found.now(identity) == expected, identity
    assert side.clusters is after.clusters
    is_known = all(is_now.now(identity) == hash_ for identity, hash_ in then.items())
    assert (snapshot_of_side(is_now, now, then, NOTHING_KEPT) is not None) == is_known


@pytest.mark.rule("B21")
def test_a_definition_that_is_no_longer_offered_is_known_if_whoever_runs_it_has_that_very_one() -> None:
    ref = Ref("PluginDefinition", "acme", "web")
    offered, other = (
        an_object("PluginDefinition", "web", PluginDefinitionSpec("1.0.0", options=options))
        for options in ([], [Option("host", "string")])
    )
    then = ContentHashes(Snapshot(NOW)).contents([offered])
    for retired, is_known in (({(ref, "1.0.0"): offered}, True), ({(ref, "1.0.0"): other}, False), ({}, False)):
        side = snapshot_of_side(ContentHashes(Snapshot(NOW, retired=retired)), {}, then, NOTHING_KEPT)
        assert (side is not None) == is_known
        assert side is None or (side.retired, dict(side.definitions)) == (retired, {})
