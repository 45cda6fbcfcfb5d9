"""Kustomizations, built by kustomize itself; variables are filled in as Flux does it."""

from __future__ import annotations

from typing import Any

import pytest

from fleetform.artifacts.digests import ArtifactDigests
from fleetform.artifacts.store import ArtifactStore
from support.kit import CONFIG, Place, definition, input_of
from support.repositories import Repository

BASE = {"kustomization.yaml": "resources: [config.yaml]\nnamePrefix: my-\n", "config.yaml": CONFIG}


def test_a_kustomization_becomes_objects(place: Place) -> None:
    found = place.objects(input_of("kustomize", place.kustomization(BASE)))
    assert found == [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "my-web"}}]


def test_a_kustomization_may_build_upon_folders_beside_it(place: Place) -> None:
    place.write(BASE, "base")
    place.write({"kustomization.yaml": "resources: [../base]\nnameSuffix: -mid\n"}, "middle")
    source = place.kustomization({"kustomization.yaml": "resources: [../middle]\nnamespace: apps\n"})
    (found,) = place.objects(input_of("kustomize", source))
    assert found["metadata"] == {"name": "my-web-mid", "namespace": "apps"}
    before = place.renderers().digest(source)
    place.write({"config.yaml": CONFIG + "data: {a: b}\n"}, "base")
    assert place.renderers().digest(source) != before
    (found,) = place.objects(input_of("kustomize", source))
    assert found["data"] == {"a": "b"}
    assert ArtifactDigests(ArtifactStore(str(place.cache))).digests(source).found == place.renderers().digest(source)


def test_a_kustomization_of_a_commit_builds_upon_folders_of_the_commit(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.write(BASE, "base")
    place.write({"kustomization.yaml": "resources: [../../base]\n"}, "overlays/one")
    git = Repository(place.folder)
    git.git("add", "--all")
    git.git("commit", "--quiet", "--message", "one")
    here = place.define("{kustomize: {path: overlays/one}}")
    before = place.renderers().digest(here)
    place.write({"config.yaml": "broken: [\n"}, "base")
    monkeypatch.chdir(place.folder)
    committed = definition("{kustomize: {path: overlays/one}}", "git:HEAD/definition.yaml")
    assert place.renderers().digest(committed) == before
    assert place.objects(input_of("kustomize", committed))[0]["metadata"]["name"] == "my-web"
    below = definition("{kustomize: {path: ../overlays/one}}", "git:main/definitions/web.yaml")
    assert place.renderers().digest(below) == before


@pytest.mark.parametrize("order", ["[../base/sub, ../base]", "[../base, ../base/sub]"])
def test_folders_are_gathered_in_any_order(place: Place, order: str) -> None:
    place.write(BASE, "base")
    sub = {"kustomization.yaml": "resources: [config.yaml]\n", "config.yaml": CONFIG.replace("web", "sub")}
    place.write(sub, "base/sub")
    source = place.kustomization({"kustomization.yaml": f"resources: {order}\n"})
    found = place.objects(input_of("kustomize", source))
    assert {each["metadata"]["name"] for each in found} == {"my-web", "sub"}


def test_a_folder_without_a_kustomization(place: Place) -> None:
    failure = place.failure(input_of("kustomize", place.kustomization({"config.yaml": CONFIG})))
    assert failure.message.startswith("there is no kustomization.yaml in the folder kustomize beside ")
    assert failure.hint == "add one, or use source.manifests for plain manifests"


REFUSED = {
    "a file elsewhere": "../config.yaml",
    "a missing file": "none.yaml",
    "a repository": "github.com/example/repository?ref=v1",
    "an absolute path": "/etc",
}


@pytest.mark.parametrize("reference", REFUSED.values(), ids=REFUSED)
def test_nothing_else_is_loaded(place: Place, reference: str) -> None:
    place.write({"config.yaml": CONFIG})
    source = place.kustomization({"kustomization.yaml": f"resources: ['{reference}']\n"})
    failure = place.failure(input_of("kustomize", source))
    assert failure.message == f"kustomization.yaml names {reference}, which does not exist"
    assert "rendering fetches nothing" in failure.hint


def test_what_kustomize_says_is_told_without_our_folders(place: Place) -> None:
    failure = place.failure(input_of("kustomize", place.kustomization({"kustomization.yaml": "resource: [a.yaml]\n"})))
    assert failure.message.startswith("kubectl kustomize v")
    assert 'unknown field "resource"' in failure.message
    patched = place.kustomization({**BASE, "kustomization.yaml": "resources: [config.yaml]\npatches: [{path: p}]\n"})
    failure = place.failure(input_of("kustomize", patched))
    assert "fleetform-" not in failure.message


def test_remarks_of_kustomize_are_no_failure(place: Place) -> None:
    files = {**BASE, "kustomization.yaml": "resources: [config.yaml]\ncommonLabels: {a: b}\n"}
    (found,) = place.objects(input_of("kustomize", place.kustomization(files)))
    assert found["metadata"]["labels"] == {"a": "b"}


# ---- Variables


def config(data: str, labels: str = "{}", annotations: str = "{}") -> dict[str, str]:
    head = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: web, labels: {labels}, annotations: {annotations}}}\n"
    return {"kustomization.yaml": "resources: [config.yaml]\n", "config.yaml": head + f"data: {data}\n"}


def data_of(place: Place, data: str, variables: dict[str, Any], **more: Any) -> Any:
    source = place.kustomization(config(data))
    return place.objects(input_of("kustomize", source, variables=variables, **more))[0]["data"]


@pytest.mark.rule("R3-27", "S39")
def test_variables_are_filled_in(place: Place) -> None:
    data = "{a: 'x-${host}-y', b: '${replicas}', c: '${on}', d: '${none:-default}', e: '$${host}', '${host}': key}"
    variables = {"host": "h", "replicas": 3, "on": True, "none": None}
    found = {"a": "x-h-y", "b": 3, "c": True, "d": "default", "e": "${host}", "h": "key"}
    assert data_of(place, data, variables) == found


@pytest.mark.rule("R3-27", "S39")
def test_names_that_nobody_declares_are_left_unless_all_are_meant(place: Place) -> None:
    data = "{a: '${host} ${HOME}', b: '$(date) $1 $$'}"
    assert data_of(place, data, {"host": "h"}) == {"a": "h ${HOME}", "b": "$(date) $1 $$"}
    source = place.kustomization(config(data))
    input_ = input_of("kustomize", source, variables={"host": "h"}, declared_only=False)
    failure = place.failure(input_)
    assert failure.message == "ConfigMap web: the variable HOME is not set"
    assert data_of(place, data, {"host": "h"}, declared_only=False, strict=False) == {"a": "h", "b": "$(date) $1 $"}


@pytest.mark.rule("R3-27")
@pytest.mark.parametrize("where", ["labels", "annotations"])
def test_an_object_can_opt_out(place: Place, where: str) -> None:
    note = "{kustomize.toolkit.fluxcd.io/substitute: disabled}"
    source = place.kustomization(config("{a: '${host}'}", **{where: note}))
    (found,) = place.objects(input_of("kustomize", source, variables={"host": "h"}))
    assert found["data"] == {"a": "${host}"}


@pytest.mark.rule("R3-27")
def test_long_lines_are_not_folded_before_they_are_read_again(place: Place) -> None:
    script = "echo " + "word " * 200 + "${host}"
    assert data_of(place, f"{{a: '{script}'}}", {"host": "h # no comment"}) == {
        "a": script.replace("${host}", "h # no comment").partition(" #")[0]
    }


@pytest.mark.rule("R3-27")
def test_a_value_that_breaks_the_object_is_told(place: Place) -> None:
    source = place.kustomization(config("{a: '${host}'}"))
    failure = place.failure(input_of("kustomize", source, variables={"host": "a: b: c"}))
    assert failure.message.startswith("ConfigMap web: with its variables filled in it is not valid YAML: ")
    failure = place.failure(input_of("kustomize", source, variables={"no-name": "a"}))
    assert "'no-name' cannot be the name of a variable" in failure.message
