"""Objects know where they were read, also those of other systems."""

from __future__ import annotations

from fleetform.model.kinds.base import Metadata
from fleetform.model.objects import At, Object, Origin, Ref

REF = Ref("Plugin", "acme", "web")
MOVED = ((("spec", "source", "helm"), ("spec", "helmChart")), (("spec", "source"), ("spec", "chart")))


def test_a_reference_reads_as_kind_organization_and_name() -> None:
    assert str(REF) == "Plugin/acme/web"


def test_a_place_in_a_list_item_begins_with_the_items_own_path() -> None:
    origin = Origin("f.yaml", 1, 9, ("items", 2))
    assert Object(REF, Metadata(), None, origin).at("spec", "x") == At(origin, ("items", 2, "spec", "x"))


def test_a_place_in_a_foreign_object_is_where_it_stands_there() -> None:
    origin = Origin("f.yaml", 1, 9)
    foreign = Object(REF, Metadata(), None, origin, "greenhouse", MOVED)
    assert foreign.at("spec", "source", "helm", "version") == At(origin, ("spec", "helmChart", "version"))
    assert foreign.at("spec", "source") == At(origin, ("spec", "chart"))
    assert foreign.at("spec", "options") == At(origin, ("spec", "options"))


def test_an_object_without_labels_has_none() -> None:
    assert Object(REF, Metadata(), None, Origin("f.yaml", 1, 1)).labels == {}


def test_equal_objects_read_twice_are_two_objects() -> None:
    origin = Origin("f.yaml", 1, 1)
    assert Object(REF, Metadata(), None, origin) != Object(REF, Metadata(), None, origin)
