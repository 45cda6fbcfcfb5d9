"""Transforms and patches after a render: what is kept, what loses, what fails, and what is rendered once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from fleetform.model.kinds.base import Metadata
from fleetform.model.kinds.definition import Patch, PluginDefinitionSpec, Transform
from fleetform.model.objects import Object, Origin, Ref
from fleetform.model.results.rendering import Rendered, RenderFailure, RenderInput
from fleetform.ports.rendering import RenderSource
from fleetform.transform.runner import Answer
from fleetform.transformers.opened import OpenedPlugins
from fleetform.transformers.pipeline import TransformingRenders
from fleetform.transformers.plugins import TransformPlugin

DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"replicas": 1, "template": {"spec": {"containers": [{"name": "web", "image": "a/web:1"}]}}},
}
SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop"}, "spec": {}}
DEFINITION = Object(
    Ref("PluginDefinition", "acme", "web"), Metadata(name="web"), PluginDefinitionSpec("1.0.0"), Origin("d.yaml", 1, 9)
)


class Fixed:
    """Renders the same two objects, and counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def source(self, input_: RenderInput) -> RenderSource | None:
        return None

    def render(self, inputs: Sequence[RenderInput]) -> list[Rendered | RenderFailure]:
        self.asked += len(inputs)
        return [Rendered("r1:fixed", (DEPLOYMENT, SERVICE)) for _ in inputs]


class Answering(TransformPlugin):
    """A plugin that answers the same for every object, and counts how often it is asked."""

    def __init__(self, name: str, reply: Mapping[str, Any] | Exception) -> None:
        super().__init__(name, "v1", name, f"sha256:{name}")
        self._reply, self.asked = reply, 0

    def answer(self, resource: Mapping[str, Any], extras: Mapping[str, str]) -> Answer:
        self.asked += 1
        if isinstance(self._reply, Exception):
            raise self._reply
        return self._reply


def replaced(path: str, value: object, name: str) -> Answering:
    return Answering(name, {"version": "v1", "patches": [{"op": "replace", "path": path, "value": value}]})


def run(
    plugins: Sequence[TransformPlugin],
    transforms: Sequence[dict[str, Any]] = (),
    patches: Sequence[dict[str, Any]] = (),
) -> Rendered | RenderFailure:
    input_ = RenderInput(
        DEFINITION, "manifests", {}, {}, "web", "shop",
        transforms=tuple(msgspec.convert(each, Transform) for each in transforms),
        patches=tuple(msgspec.convert(each, Patch) for each in patches),
    )  # fmt: skip
    (found,) = TransformingRenders(Fixed(), lambda: OpenedPlugins(tuple(plugins))).render([input_])
    return found


def made(found: Rendered | RenderFailure) -> Rendered:
    assert isinstance(found, Rendered), found
    return found


@pytest.mark.rule("R4-18", "B5")
def test_transforms_run_after_render_and_patches_after_them() -> None:
    patch = {"target": {"kind": "Deployment"}, "patch": [{"op": "replace", "path": "/spec/replicas", "value": 9}]}
    transform = {"plugin": "scale", "selector": {"kinds": ["Deployment"]}}
    found = made(run([replaced("/spec/replicas", 5, "scale")], [transform], [patch]))
    assert found.objects[0]["spec"]["replicas"] == 9
    assert [(each.by, each.pointer) for each in found.transformation.kept] == [
        ("scale", "/spec/replicas"),
        ("patches[0]", "/spec/replicas"),
    ]


@pytest.mark.rule("R4-18", "R4-8")
def test_the_lower_priority_wins_and_the_loser_is_kept_with_its_reason() -> None:
    plugins = [replaced("/spec", {"x": 1}, "first"), replaced("/spec", {"x": 2}, "second")]
    only = {"kinds": ["Service"]}
    transforms = [
        {"plugin": "first", "priority": 2, "selector": only},
        {"plugin": "second", "priority": 1, "selector": only},
    ]
    found = made(run(plugins, transforms))
    assert found.objects[1]["spec"] == {"x": 2}
    (ignored,) = found.transformation.ignored
    assert (ignored.plugin, ignored.winner, ignored.reason) == ("first", "second", "path")


def test_a_strategic_merge_keeps_the_containers_that_it_does_not_name() -> None:
    containers = [{"name": "side", "image": "b/side:1"}]
    patch = {
        "target": {"kind": "Deployment", "name": "web"},
        "patch": {"spec": {"template": {"spec": {"containers": containers}}}},
    }
    found = made(run([], [], [patch]))
    names = {each["name"] for each in found.objects[0]["spec"]["template"]["spec"]["containers"]}
    assert names == {"web", "side"}


def test_a_patch_that_meets_no_object_names_the_nearest() -> None:
    found = made(run([], [], [{"target": {"kind": "Deployment", "name": "wbe"}, "patch": []}]))
    assert found.transformation.unmatched == ((0, "Deployment/shop/web"),)


@pytest.mark.rule("R4-5")
def test_a_whiteout_leaves_the_object_out_and_says_who_asked() -> None:
    found = made(
        run([Answering("drop", {"isWhiteOut": True})], [{"plugin": "drop", "selector": {"kinds": ["Service"]}}])
    )
    assert [each["kind"] for each in found.objects] == ["Deployment"]
    assert found.transformation.whiteouts == (("Service/shop/web", ("drop",)),)


@pytest.mark.rule("S43")
def test_a_plugin_that_is_not_there_is_named() -> None:
    found = run([replaced("/spec", {}, "scale")], [{"plugin": "scael"}])
    assert isinstance(found, RenderFailure)
    assert (found.message, found.hint) == ("there is no transform plugin scael", "did you mean scale?")


@pytest.mark.rule("R4-18")
def test_other_bytes_than_the_pinned_ones_do_not_run() -> None:
    plugin = replaced("/spec/replicas", 5, "scale")
    found = run([plugin], [{"plugin": "scale", "digest": f"sha256:{'0' * 64}"}])
    assert isinstance(found, RenderFailure)
    assert "is pinned" in found.message
    assert plugin.asked == 0


def test_a_plugin_that_fails_is_a_failure_of_the_render() -> None:
    found = run([Answering("bad", ValueError("no idea"))], [{"plugin": "bad"}])
    assert isinstance(found, RenderFailure)
    assert found.message == "the transform bad fails on Deployment/shop/web: ValueError: no idea"


def test_a_transform_must_not_rename_an_object_unless_it_says_so() -> None:
    found = run([replaced("/metadata/name", "other", "rename")], [{"plugin": "rename"}])
    assert isinstance(found, RenderFailure)
    assert "changes /metadata/name" in found.message


@pytest.mark.rule("B2")
def test_equal_inputs_are_transformed_once_and_other_options_are_another_key() -> None:
    plugin, fixed = replaced("/spec/replicas", 5, "scale"), Fixed()
    renders = TransformingRenders(fixed, lambda: OpenedPlugins((plugin,)))
    only = {"kinds": ["Deployment"]}
    inputs = [
        RenderInput(
            DEFINITION, "manifests", {}, {}, "web", "shop",
            transforms=(msgspec.convert({"plugin": "scale", "options": options, "selector": only}, Transform),),
        )
        for options in ({"to": "1"}, {"to": "1"}, {"to": "2"})
    ]  # fmt: skip
    first, second, third = (made(each) for each in renders.render(inputs))
    assert (first.key, plugin.asked) == (second.key, 2)
    assert first.key != third.key
