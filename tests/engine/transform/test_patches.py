"""`patches` and `transforms` of presets: targets, selectors, and what counts as input."""

from __future__ import annotations

from typing import Any

import pytest

from fleetform.engine.transform.patches import patch_objects
from fleetform.engine.transform.records import TransformError
from fleetform.engine.transform.select import hashed_transforms, options_as_text, sees
from fleetform.model.kinds.definition import Patch, PatchTarget, Transform, TransformSelector

WEB: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "a"},
    "spec": {"replicas": 1, "template": {"spec": {"containers": [{"name": "web", "image": "web:1"}]}}},
}
DB: dict[str, Any] = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "db", "namespace": "b"}}
REPLICAS: list[dict[str, Any]] = [{"op": "replace", "path": "/spec/replicas", "value": 3}]


@pytest.mark.parametrize(
    "target",
    [
        PatchTarget(kind="Deployment"),
        PatchTarget(name="web"),
        PatchTarget(namespace="a"),
        PatchTarget(group="apps"),
        PatchTarget(group="apps", version="v1", kind="Deployment", name="web", namespace="a"),
    ],
)
def test_a_patch_changes_the_objects_that_its_target_names(target: PatchTarget) -> None:
    found = patch_objects([WEB, DB], [Patch(target, REPLICAS)])
    assert [each.get("spec", {}).get("replicas") for each in found.objects] == [3, None]
    assert [(each.patch, each.object) for each in found.changes] == [(0, 0)]
    assert WEB["spec"]["replicas"] == 1
    assert found.objects[1] is DB


def test_a_map_is_merged_as_the_kind_takes_it() -> None:
    merge = {"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "web:2"}]}}}}
    found = patch_objects([WEB], [Patch(PatchTarget(kind="Deployment"), merge)]).objects[0]
    assert found["spec"]["template"]["spec"]["containers"] == [{"name": "web", "image": "web:2"}]


def test_patches_follow_each_other_and_may_delete_an_object() -> None:
    patches = [
        Patch(PatchTarget(name="web"), REPLICAS),
        Patch(PatchTarget(name="web"), [{"op": "test", "path": "/spec/replicas", "value": 3}]),
        Patch(PatchTarget(kind="Service"), {"$patch": "delete"}),
    ]
    found = patch_objects([WEB, DB], patches)
    assert [each["kind"] for each in found.objects] == ["Deployment"]
    assert found.changes[-1].after is None


@pytest.mark.parametrize(
    ("target", "nearest"),
    [
        (PatchTarget(kind="Deployment", name="wen"), "Deployment/a/web"),
        (PatchTarget(kind="Deploymnt", name="web"), "Deployment/a/web"),
        (PatchTarget(kind="Service", name="db", namespace="c"), "Service/b/db"),
        (PatchTarget(kind="Ingress", name="front"), None),
    ],
)
def test_a_target_that_names_nothing_is_told_with_the_nearest_name(target: PatchTarget, nearest: str | None) -> None:
    assert patch_objects([WEB, DB], [Patch(target, REPLICAS)]).unmatched == ((0, nearest),)


def test_an_object_that_an_earlier_patch_deleted_is_neither_met_nor_named() -> None:
    gone = Patch(PatchTarget(kind="Service"), {"$patch": "delete"})
    found = patch_objects([WEB, DB], [gone, Patch(PatchTarget(kind="Service", name="db"), REPLICAS)])
    assert found.objects == (WEB,)
    assert found.unmatched == ((1, None),)


@pytest.mark.parametrize(
    "patch",
    [
        [{"op": "replace", "path": "/spec/no", "value": 1}],
        [{"op": "add", "path": "/spec/no/such", "value": 1}],
        [{"op": "remove", "path": "/kind"}],
        [{"op": "put", "path": "/a"}],
        {"spec": {"template": {"spec": {"containers": [{"image": "x"}]}}}},
    ],
)
def test_a_patch_that_cannot_be_applied_is_an_error_that_names_the_object(patch: Any) -> None:
    with pytest.raises(TransformError, match="Deployment/a/web"):
        patch_objects([WEB], [Patch(PatchTarget(kind="Deployment"), patch)])


@pytest.mark.rule("R4-18")
def test_a_transform_sees_the_kinds_and_names_of_its_selector() -> None:
    assert sees(None, WEB)
    assert sees(TransformSelector(), WEB)
    assert sees(TransformSelector(kinds=["Deployment", "Job"], names=["web"]), WEB)
    assert not sees(TransformSelector(kinds=["Job"]), WEB)
    assert not sees(TransformSelector(names=["db"]), WEB)


@pytest.mark.rule("R4-18")
def test_all_that_decides_about_a_transform_is_part_of_the_input() -> None:
    transform = Transform("mirror", 0, {"map": "a=b"}, TransformSelector(kinds=["Pod"]))
    first, second = hashed_transforms([transform, Transform("own")], {"mirror": "mirror@1", "own": "sha256:0"})
    assert {"name": "mirror", "digest": "mirror@1", "options": {"map": "a=b"}}.items() <= first.items()
    assert (first["priority"], first["selector"]) == (0, {"kinds": ["Pod"]})
    assert second == {"name": "own", "digest": "sha256:0"}


def test_options_are_texts_to_plugins() -> None:
    found = options_as_text({"a": "b", "n": 1, "yes": True, "map": {"x": 1}})
    assert found == {"a": "b", "n": "1", "yes": "true", "map": '{"x":1}'}
    assert options_as_text(None) == {}
