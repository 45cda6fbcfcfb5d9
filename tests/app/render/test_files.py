"""The names of the files that rendered objects are written to."""

from __future__ import annotations

from typing import Any

import pytest

from app.render.conftest import change
from fleetform.app.rendering.output_files import folders_of, names_of
from fleetform.outside.files import write_file
from support.command import Runner


def tree(name: str, kind: str = "ConfigMap", api: str = "v1", **metadata: str) -> dict[str, Any]:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, **metadata}}


def test_names_are_as_short_as_tells_them_apart() -> None:
    assert names_of([tree("a"), tree("b")]) == ["configmap-a", "configmap-b"]
    assert names_of([tree("a", namespace="x"), tree("a", namespace="y")]) == ["configmap-a-x", "configmap-a-y"]
    assert names_of([tree("system:node", "ClusterRole")]) == ["clusterrole-system-node"]


ALIKE = {
    "cut": [tree("a" * 250 + "x"), tree("a" * 250 + "y")],
    "case": [tree("Web"), tree("web")],
    "signs": [tree("a:b"), tree("a/b"), tree("a-b")],
    "dots": [tree("a"), tree("a.", namespace="a"), tree("a..")],
    "cut and case": [tree("A" * 250), tree("a" * 250)],
    "namespaces": [tree("a", namespace="x:y"), tree("a", namespace="x-y")],
    "twice": [tree("a"), tree("a"), tree("a")],
    "empty": [tree("ä"), tree("ö")],
}


@pytest.mark.parametrize("objects", ALIKE.values(), ids=ALIKE)
def test_no_two_files_are_one(objects: list[dict[str, Any]]) -> None:
    names = names_of(objects)
    assert len({each.lower() for each in names}) == len(objects)
    assert all(len(each) < 220 for each in names)


def test_of_a_name_that_is_too_long_as_much_is_kept_as_there_is_room_for() -> None:
    whole, (fits, cut) = "configmap-" + "a" * 190, names_of([tree("a" * 190), tree("a" * 191)])
    assert fits == whole
    assert (len(cut), cut[:187]) == (200, whole[:187])


def test_a_name_that_looks_like_one_with_a_hash_is_no_collision() -> None:
    marked = names_of([tree("a:b"), tree("a/b"), tree("a-b")])
    taken = [each.removeprefix("configmap-").removesuffix("-none-") for each in marked]
    names = names_of([tree("a:b"), tree("a/b"), tree("a-b"), *map(tree, taken)])
    assert len(set(names)) == len(names) == 6


def test_names_do_not_depend_on_the_order() -> None:
    objects = [tree("a:b"), tree("a/b"), tree("c"), tree("d" * 300)]
    found = dict(zip((each["metadata"]["name"] for each in objects), names_of(objects), strict=True))
    back = objects[::-1]
    assert dict(zip((each["metadata"]["name"] for each in back), names_of(back), strict=True)) == found


def test_folders_are_told_apart_as_well() -> None:
    names = ["eu", "EU", "a:b", "a/b", "a-b", "x" * 300, "x" * 300 + "y", "plain", ".."]
    found = folders_of(names)
    assert found["plain"] == "plain"
    assert found[".."] == "-"
    assert len({each.lower() for each in found.values()}) == len(names)
    assert all(len(each) <= 200 and "/" not in each for each in found.values())
    assert folders_of(reversed(names)) == found


def test_a_long_name_is_written(fleet: Runner) -> None:
    change(fleet, "charts/web/templates/all.yaml", "metadata: {name: token}", f"metadata: {{name: {'a' * 253}}}")
    result = fleet("render", "web", "-c", "eu-1", "--output-dir", "out")
    assert (result.code, result.err.count("error")) == (0, 0)
    (long,) = [line for line in result.out.splitlines() if "secret-" in line]
    assert (fleet.folder / long).exists()
    assert len(long.rpartition("/")[2]) < 210


def test_a_failure_to_write_names_the_file(fleet: Runner) -> None:
    path = f"{fleet.folder}/{'x' * 300}"
    with pytest.raises(OSError, match="too long") as met:
        write_file(path, "text")
    assert (met.value.filename, met.value.filename2) == (path, None)
    assert not list(fleet.folder.glob(".*.part"))
