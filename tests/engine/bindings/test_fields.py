"""Fields of objects: the spellings of a path, what is missing, and Secrets."""

from __future__ import annotations

from typing import Any

import pytest

from fleetform.engine.bindings.fields import FieldError, Fields, Reference, decode_base64, find_in, read_field, tree_of
from fleetform.model.kinds.base import Metadata
from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.objects import Object, Origin, Ref
from fleetform.model.snapshot import Snapshot
from properties.strategies import NOW
from support.bound import in_plain

TREE: dict[str, Any] = {
    "data": {"plain": "p", "a.b.conf": "dotted", "a": {"b": "nested"}, "sl/ash": "s", "til~de": "t", "0": "zero"},
    "list": [{"ip": "1.1.1.1"}, {"ip": "2.2.2.2"}, ["x", "y"]],
    "false": False,
    "zero": 0,
    "empty": "",
    "nothing": None,
    "none": {},
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/data/plain", "p"),
        ("data.plain", "p"),
        (".data.plain", "p"),
        ("data.a.b.conf", "dotted"),
        ("/data/a.b.conf", "dotted"),
        ("data.a.b", "nested"),
        ("/data/a/b", "nested"),
        ("/data/sl~1ash", "s"),
        ("data.sl/ash", "s"),
        ("/data/til~0de", "t"),
        ("/data/0", "zero"),
        ("data.0", "zero"),
        ("/list/1/ip", "2.2.2.2"),
        ("list[1].ip", "2.2.2.2"),
        ("list.1.ip", "2.2.2.2"),
        ("list[2][0]", "x"),
        ("/false", False),
        ("/zero", 0),
        ("/empty", ""),
        ("/none", {}),
        (".", TREE),
        ("", TREE),
    ],
)
def test_a_path_leads_to_a_field_in_any_spelling(path: str, expected: Any) -> None:
    assert find_in(TREE, path) == expected


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("/", "it has /data, /empty, /false, /list, /none, /nothing, …"),
        ("/dta/plain", "it has /data, /empty, /false, /list, /none, /nothing, …"),
        ("/data/plan", "it has /data/0, /data/a, /data/a.b.conf, /data/plain, /data/sl~1ash, /data/til~0de"),
        ("data.a.c", "it has /data/a/b"),
        ("/data/plain/x", "it has /data/0, /data/a, /data/a.b.conf, /data/plain, /data/sl~1ash, /data/til~0de"),
        ("/list/7", "/list has 3 items"),
        ("list[7]", "/list has 3 items"),
        ("/list/x", "/list has 3 items"),
        ("/nothing", "give it a value"),
        ("/none/x", "it is empty"),
    ],
)
def test_a_path_that_leads_nowhere_says_what_is_there(path: str, hint: str) -> None:
    with pytest.raises(FieldError) as error:
        find_in(TREE, path)
    assert error.value.hint == hint


def an_object(kind: str, name: str, version: str = "v1", organization: str = "acme", **content: Any) -> Object[Any]:
    tree = {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **content}
    ref = Ref(kind, organization, name)
    return Object(ref, Metadata(name=name), None, Origin("o.yaml", 1, 9), f"foreign:{version}", content=tree)


def fields_of(*objects: Object[Any]) -> Fields:
    return Fields(
        Snapshot(
            NOW, others={Ref(f"{each.ref.kind}{number}", *each.ref[1:]): each for number, each in enumerate(objects)}
        )
    )


def a_reference(kind: str, name: str, path: str = "/data/k", **more: Any) -> Reference:
    given: dict[str, Any] = {"api_version": None, "namespace": None, **more}
    return Reference(("acme",), given["api_version"], kind, given["namespace"], name, path)


def test_a_native_object_is_read_in_the_shape_it_is_written_in() -> None:
    cluster = Object(
        Ref("Cluster", "acme", "c"),
        Metadata(name="c", namespace="acme", labels={"region": "eu"}),
        ClusterSpec(time_zone="UTC", facts={"zone": "a"}),
        Origin("c.yaml", 1, 9),
    )
    assert read_field(cluster, "/metadata/labels/region") == "eu"
    assert (read_field(cluster, "/spec/timeZone"), read_field(cluster, "spec.facts.zone")) == ("UTC", "a")
    assert tree_of(cluster)["kind"] == "Cluster"


@pytest.mark.parametrize(
    ("version", "expected"), [("v1", "core"), ("x.io/v1", "x"), ("x.io/v2beta1", "x"), ("y.io/v1", "y")]
)
def test_groups_tell_objects_of_one_kind_and_name_apart(version: str, expected: str) -> None:
    fields = fields_of(
        an_object("Map", "m", data={"k": "core"}),
        an_object("Map", "m", "x.io/v1", data={"k": "x"}),
        an_object("Map", "m", "y.io/v1", data={"k": "y"}),
    )
    assert fields.read(a_reference("Map", "m", api_version=version)).value == expected
    with pytest.raises(FieldError, match=r"there are 3 objects Map m: v1, x\.io/v1, y\.io/v1"):
        fields.read(a_reference("Map", "m"))


def test_of_several_objects_the_only_one_with_the_field_is_meant() -> None:
    fields = fields_of(an_object("Map", "m", data={"k": "here"}), an_object("Map", "m", "x.io/v1", spec={}))
    assert fields.read(a_reference("Map", "m")).value == "here"


@pytest.mark.rule("B15")
def test_nothing_is_read_across_organizations() -> None:
    fields = fields_of(an_object("Map", "m", organization="globex", data={"k": "theirs"}))
    with pytest.raises(FieldError, match="there is no Map m in acme"):
        fields.read(a_reference("Map", "m"))
    with pytest.raises(FieldError, match="Map m of globex is out of reach"):
        fields.read(a_reference("Map", "m", namespace="globex"))
    with pytest.raises(FieldError, match="Map m of nowhere is out of reach"):
        fields.read(a_reference("Map", "m", namespace="nowhere"))


def test_a_field_is_read_once_and_so_is_its_absence() -> None:
    fields = fields_of(an_object("Map", "m", data={"k": "v"}))
    assert fields.read(a_reference("Map", "m")) is fields.read(a_reference("Map", "m"))
    errors = []
    for _ in range(2):
        with pytest.raises(FieldError) as error:
            fields.read(a_reference("Map", "m", "/data/x"))
        errors.append(error.value)
    # Two, so that none keeps the places that the other passed.
    assert errors[0] is not errors[1]
    assert (errors[0].message, errors[0].hint) == (errors[1].message, errors[1].hint)


@pytest.mark.rule("R3-18")
def test_entries_of_a_secret_are_decoded_and_those_in_plain_win() -> None:
    held = an_object("Secret", "s", data={"a": "YQ==", "b": "Yg=="}, stringData={"b": "plain", "n": 1, "t": True})
    assert in_plain(read_field(held, "/data")) == {"a": "a", "b": "plain", "n": "1", "t": "True"}
    assert in_plain(read_field(held, "/stringData/b")) == "plain"


@pytest.mark.parametrize("text", ["YQ==", "YQ==\n", "  YQ\n=="])
def test_base64_may_be_broken_into_lines(text: str) -> None:
    assert decode_base64(text) == "a"


@pytest.mark.parametrize("text", ["YQ", "YQ=", "Y!Q=", "=YQ=", "YR=====", "é", 1, None, True, ["YQ=="], {}])
def test_what_is_no_base64_is_refused_and_never_quoted(text: Any) -> None:
    with pytest.raises(FieldError) as error:
        decode_base64(text)
    assert error.value.message == "it is not base64 text"


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(FieldError, match="its bytes are not text"):
        decode_base64("/w==")
    assert decode_base64("") == ""
