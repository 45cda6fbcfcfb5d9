"""From bytes to documents: YAML streams, JSON, lists of objects."""

from __future__ import annotations

import pytest

from fleetform.load.inputs import InputFile
from fleetform.load.locator import FileLocator
from fleetform.load.reader import read_file
from fleetform.model.results.diagnostics import Diagnostic, Place
from fleetform.ports.inputs import Document
from fleetform.syntax.hashing import canonical_json


class Loaded:
    """What came of one file."""

    def __init__(self, name: str, content: str | bytes) -> None:
        self.locator = FileLocator()
        source = InputFile(name, content if isinstance(content, bytes) else content.encode())
        found = list(read_file(source, self.locator))
        self.documents = [each for each in found if isinstance(each, Document)]
        self.diagnostics = [each for each in found if isinstance(each, Diagnostic)]

    @property
    def trees(self) -> list[object]:
        return [document.tree for document in self.documents]

    @property
    def codes(self) -> list[str]:
        return [each.code for each in self.diagnostics]

    @property
    def places(self) -> list[tuple[int, int]]:
        found = [self.locator.place(each.at) for each in self.diagnostics if each.at is not None]
        return [(place.line, place.column) for place in found]


def yaml(content: str | bytes) -> Loaded:
    return Loaded("a.yaml", content)


def json(content: str | bytes) -> Loaded:
    return Loaded("a.json", content)


# ---- YAML


def test_every_document_of_a_stream_is_read_and_empty_ones_are_not() -> None:
    assert yaml("a: 1\n---\n---\n# nothing\n---\nb: 2\n").trees == [{"a": 1}, {"b": 2}]


@pytest.mark.rule("R1-21")
def test_a_missing_separator_has_a_code_of_its_own() -> None:
    loaded = yaml("kind: A\nmetadata: {}\nkind: B\n")
    assert (loaded.codes, loaded.places) == (["missing-separator"], [(3, 1)])


def test_a_broken_document_hides_no_other() -> None:
    loaded = yaml("a: 1\n---\nb: @\n---\nc: 3\n")
    assert (loaded.trees, loaded.codes, loaded.places) == ([{"a": 1}, {"c": 3}], ["bad-yaml"], [(3, 4)])


def test_a_key_that_reads_as_a_boolean_warns() -> None:
    loaded = yaml("spec:\n  on: 1\n")
    (warning,) = loaded.documents[0].remarks
    assert (warning.code, warning.severity, warning.at) == ("odd-key", "warning", Place("a.yaml", 2, 3))
    assert loaded.trees == [{"spec": {"true": 1}}]


@pytest.mark.rule("S10")
@pytest.mark.parametrize(
    "text",
    ["a: 1\na: 2\n", "a: !!int x\n", "? [b]\n: 1\n", f"{'a: {' * 201}{'}' * 201}\n"],
    ids=["key-twice", "no-number", "odd-key", "deep"],
)
def test_what_only_another_tool_can_read_is_a_document_without_content_unless_it_is_a_manifest(text: str) -> None:
    assert yaml(f"a: 1\n---\n{text}---\nb: 2\n").trees == [{"a": 1}, None, {"b": 2}]
    assert yaml(f"kind: A\n{text}---\nb: 2\n").codes == ["bad-yaml"]
    assert yaml(f"metadata: {{}}\nspec: {{}}\n{text}---\nb: 2\n").codes == ["bad-yaml"]


@pytest.mark.rule("S10")
@pytest.mark.parametrize("text", ["a: [1\n", "a: b: c\n", "\ta: 1\n", "apiVersion: v1\nkind: Service\nspec: [\n"])
def test_text_that_is_no_yaml_is_an_error_wherever_it_stands(text: str) -> None:
    loaded = yaml(f"b: 1\n---\n{text}---\nc: 2\n")
    assert (loaded.trees, loaded.codes) == ([{"b": 1}, {"c": 2}], ["bad-yaml"])


@pytest.mark.rule("S10")
@pytest.mark.parametrize(
    ("manifest", "severity"),
    [
        ("a: 1", "warning"),
        ("apiVersion: apps/v1\nkind: Deployment", "warning"),
        ('apiVersion: {{ include "version" . }}\nkind: Ingress', "warning"),
        ("apiVersion: greenhouse.sap/v1alpha1\nkind: PluginPreset", "error"),
        ("apiVersion: fleetform.dev/v1alpha1\nkind: {{ .kind }}", "error"),
        ('{"apiVersion": "addon.open-cluster-management.io/v1alpha1"}', "error"),
        ("kind: PluginOverride", "error"),
        ("apiVersion: cluster.open-cluster-management.io/v1alpha1\nkind: ClusterClaim", "warning"),
        ("apiVersion: greenhouse.sap/v1alpha1\nkind: Team", "warning"),
        ("apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineDeployment", "warning"),
        ("apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster", "error"),
    ],
)
def test_a_template_is_an_error_only_if_it_makes_something_that_has_an_effect(manifest: str, severity: str) -> None:
    loaded = yaml(f"{{{{- if .Values.on }}}}\n{manifest}\n{{{{- end }}}}\n")
    assert {(each.code, each.severity) for each in loaded.diagnostics} == {("bad-yaml", severity)}
    assert all("looks like a Helm template" in each.hint for each in loaded.diagnostics)


# ---- Encodings


def test_a_byte_order_mark_is_ignored() -> None:
    assert yaml(b"\xef\xbb\xbfa: 1\n").trees == [{"a": 1}]
    assert json(b'\xef\xbb\xbf{"a": 1}').trees == [{"a": 1}]


def test_utf_16_with_a_byte_order_mark_is_read() -> None:
    assert yaml("a: größer\n".encode("utf-16")).trees == [{"a": "größer"}]


def test_a_file_that_is_not_utf_8_is_an_error_with_the_line() -> None:
    loaded = yaml(b"a: 1\nb: gr\xf6\xdfer\n")
    assert loaded.diagnostics == [
        Diagnostic(
            "bad-yaml", "a.yaml is not UTF-8: byte 0xf6 at line 2", "save the file as UTF-8", at=Place("a.yaml", 2)
        )
    ]


# ---- JSON


def test_a_json_file_is_one_document() -> None:
    loaded = json('{\n\t"a": {"b": [1, true, null, "x"]}\n}\n')
    assert loaded.trees == [{"a": {"b": [1, True, None, "x"]}}]
    assert (loaded.documents[0].origin.first_line, loaded.documents[0].origin.last_line) == (1, 4)


def test_broken_json_is_an_error_at_its_place() -> None:
    loaded = json('{"a": 1,\n "b" 2}')
    assert (loaded.codes, loaded.places) == (["bad-yaml"], [(2, 6)])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"kind": "A", "a": 1, "b": 2, "a": 3}', "not valid JSON: duplicate key a"),
        ('{"kind": "A", "s": {"a": 1, "a": 1}}', "not valid JSON: duplicate key a"),
        ('{"kind": "A", "a": NaN}', "not valid JSON: NaN is not a JSON number"),
        ('{"kind": "A", "a": -Infinity}', "not valid JSON: -Infinity is not a JSON number"),
        ("[" * 100_000, "not valid JSON: nested too deep"),
    ],
    ids=["duplicate", "duplicate-inside", "nan", "infinity", "deep"],
)
def test_json_that_is_refused(text: str, message: str) -> None:
    assert [each.message for each in json(text).diagnostics] == [message]


@pytest.mark.rule("S10")
@pytest.mark.parametrize(
    "text", ['{"a": 1, // why\n "b": [1, 2,],}', '/* x */ {"a": "// no"}', '{"a": 1, "a": 2}', '{"a": 1e400}']
)
def test_json_of_other_tools_is_a_document_without_content(text: str) -> None:
    assert (json(text).trees, json(text).codes) == ([None], [])
    assert json(text.replace('"a"', '"apiVersion"')).codes == ["bad-yaml"]


def test_an_empty_json_file_holds_nothing() -> None:
    assert (json("").documents, json(" \n").codes) == ([], [])


def test_a_json_number_that_no_float_can_hold_is_refused() -> None:
    assert json('{"kind": "A", "a": 1e400}').codes == ["bad-yaml"]


def test_half_a_surrogate_pair_is_refused() -> None:
    assert json('{"a": "\\ud800"}').codes == ["bad-yaml"]


@pytest.mark.parametrize("number", ["5.0", "1e3", "-0.0", "1000000000000000000000000000000"])
def test_a_number_means_the_same_in_json_and_in_yaml(number: str) -> None:
    from_json, from_yaml = json(f'{{"a": {number}}}').trees, yaml(f'{{"a": {number}}}').trees
    assert canonical_json(from_json) == canonical_json(from_yaml)
    assert repr(from_json) == repr(from_yaml)


@pytest.mark.rule("S12")
def test_a_duplicate_json_key_is_reported_at_its_place() -> None:
    assert json('{\n"kind": "A",\n"a": 1,\n"a": 2}').places == [(4, 1)]


def test_json_is_held_to_the_same_depth_as_yaml() -> None:
    assert json('{"kind": ' * 201 + "1" + "}" * 201).codes == ["bad-yaml"]


# ---- Lists of objects


def test_a_list_kind_is_read_as_its_items() -> None:
    loaded = yaml("kind: List\nitems:\n- kind: A\n- kind: B\n")
    assert loaded.trees == [{"kind": "A"}, {"kind": "B"}]
    assert [document.origin.base for document in loaded.documents] == [("items", 0), ("items", 1)]


def test_lists_inside_lists_are_read_too() -> None:
    loaded = yaml("kind: List\nitems:\n- kind: PluginPresetList\n  items: [{kind: A}]\n")
    assert loaded.trees == [{"kind": "A"}]
    assert loaded.documents[0].origin.base == ("items", 0, "items", 0)


@pytest.mark.rule("S10")
def test_a_list_item_that_is_no_map_is_an_error_at_its_place() -> None:
    loaded = yaml("kind: List\nitems:\n- kind: A\n- oops\n")
    assert (loaded.trees, loaded.codes, loaded.places) == ([{"kind": "A"}], ["bad-value"], [(4, 3)])


@pytest.mark.parametrize("text", ["kind: List\n", "kind: List\nitems: {}\n", "kind: Allowlist\nitems: [1]\n"])
def test_what_only_looks_like_a_list_is_a_document(text: str) -> None:
    assert len(yaml(text).documents) == 1


def test_what_there_is_to_say_of_a_list_is_said_once_with_its_first_item() -> None:
    loaded = yaml("kind: List\nitems:\n- {kind: A, y: 1}\n- {kind: B}\n- {kind: C}\n")
    assert [len(each.remarks) for each in loaded.documents] == [1, 0, 0]


def test_an_empty_list_holds_nothing() -> None:
    loaded = yaml("kind: List\nitems: []\n")
    assert (loaded.documents, loaded.diagnostics) == ([], [])
