"""Plain manifests: all objects of a folder."""

from __future__ import annotations

import pytest

from fleetform.model.results.rendering import Rendered
from support.kit import CONFIG, Place, definition, input_of
from support.repositories import Repository


def named(name: str) -> str:
    return CONFIG.replace("name: web", f"name: {name}")


def test_every_object_of_every_file_in_order(place: Place) -> None:
    source = place.manifests(
        {
            "b.yaml": f"{named('b1')}---\n# nothing\n---\n{named('b2')}",
            "a/z.yml": named("az"),
            "a.json": '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "aj"}}',
            "notes.txt": "not a manifest",
            ".hidden.yaml": "broken: [",
            "c/list.yaml": "{apiVersion: v1, kind: ConfigMapList, items: [{metadata: {name: c1}}]}",
        }
    )
    found = place.objects(input_of("manifests", source))
    assert [each["metadata"]["name"] for each in found] == ["az", "aj", "b1", "b2", "c1"]
    assert {(each["apiVersion"], each["kind"]) for each in found} == {("v1", "ConfigMap")}


def test_variables_are_filled_in(place: Place) -> None:
    source = place.manifests({"a.yaml": CONFIG + "data: {a: '${host}'}\n"})
    assert place.objects(input_of("manifests", source, variables={"host": "h"}))[0]["data"] == {"a": "h"}


FAILURES = {
    "a text": ("hello\n", "a.yaml:1: this is not an object, but a text, a number or a list"),
    "a list": ("- a\n", "a.yaml:1: this is not an object, but a text, a number or a list"),
    "no kind": (f"{CONFIG}---\n# comment\n\napiVersion: v1\n", "a.yaml:7: this is not an object: it has no kind"),
    "no name": ("apiVersion: v1\nkind: Pod\n", "a.yaml:1: this Pod has no metadata.name"),
    "yaml": (f"{CONFIG}---\na: [\n", "a.yaml:6: did not find expected node content"),
    "in a list": ("apiVersion: v1\nkind: List\nitems: [3]\n", "a.yaml:1: this is not an object, but a text"),
    "twice": (f"{CONFIG}---\n{CONFIG}", "ConfigMap web (v1) is rendered twice"),
}


@pytest.mark.parametrize(("text", "message"), FAILURES.values(), ids=FAILURES)
def test_what_is_no_object_fails_with_its_place(place: Place, text: str, message: str) -> None:
    failure = place.failure(input_of("manifests", place.manifests({"a.yaml": text})))
    where = f"{place.folder}/manifests/" if message.startswith("a.yaml") else ""
    assert failure.message.startswith(f"{where}{message}")


def test_a_failing_file_is_named_as_people_know_it(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.write({"fleet.yaml": "", "m/sub/cm.yaml": "# one\n\nkind: Pod\n"})
    monkeypatch.chdir(place.folder)
    failure = place.failure(input_of("manifests", definition("{manifests: {path: ./m}}", "fleet.yaml")))
    assert failure.message == "m/sub/cm.yaml:3: this is not an object: it has no apiVersion"
    git = Repository(place.folder)
    git.git("add", "--all")
    git.git("commit", "--quiet", "--message", "one")
    failure = place.failure(input_of("manifests", definition("{manifests: {path: ../m}}", "git:HEAD/x/fleet.yaml")))
    assert failure.message.startswith("git:HEAD/m/sub/cm.yaml:3: ")


def test_text_that_is_no_utf8(place: Place) -> None:
    source = place.manifests({"a.yaml": CONFIG})
    (place.folder / "manifests/a.yaml").write_bytes(b"a: \xff\n")
    assert place.failure(input_of("manifests", source)).message == f"{place.folder}/manifests/a.yaml is not UTF-8"


def test_a_kustomization_is_no_manifest(place: Place) -> None:
    source = place.manifests({"kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": CONFIG})
    assert place.failure(input_of("manifests", source)).hint == "use source.kustomize for it"


def test_a_folder_that_is_not_there(place: Place) -> None:
    failure = place.failure(input_of("manifests", place.define("{manifests: {path: ./none}}")))
    assert failure.message == f"there is nothing in the folder none beside {place.folder}/definition.yaml"
    assert not failure.unavailable


def test_a_key_that_is_not_read_as_it_looks_is_reported(place: Place) -> None:
    source = place.manifests({"a.yaml": CONFIG + "data:\n  y: a\n  'n': b\n", "b.yaml": named("b") + "data: {on: 1}\n"})
    rendered = place.renderers().render([input_of("manifests", source)])[0]
    assert isinstance(rendered, Rendered)
    assert [each.partition(": ")[2] for each in rendered.odd_keys] == [
        'the key y is read as "true"',
        'the key on is read as "true"',
    ]
    assert rendered.odd_keys[0].partition(": ")[0].endswith("a.yaml:5")
