"""YAML that kubectl, Helm and this project's own reader read back as the same values.

A scalar is written without quotes only if the reader takes it for that very value: PyYAML's own resolver would leave
`0o17`, `y` or `1_000` unquoted, which kubectl reads as numbers and booleans.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import yaml

from fleetform.syntax.hashing import number_text
from fleetform.syntax.printable import is_plain
from fleetform.syntax.trees import YamlValue
from fleetform.syntax.yaml_scalars import resolve_plain

_TAG = "tag:yaml.org,2002:"
_UNBOUNDED = -1
# Quoted although Go's reader takes them for text: dates, times and words that other YAML readers type.
_TYPED_BY_OTHERS = re.compile(r"[0-9]{4}-[0-9]|[-+]?[0-9]+:[0-9]|=\Z|<<\Z")


def write_yaml(tree: YamlValue) -> str:
    return write_documents([tree])


def write_documents(trees: Iterable[YamlValue]) -> str:
    return _write(trees, 120)


def write_unfolded(tree: YamlValue) -> str:
    """A tree whose texts stay on their lines however long they are, as Go writes it."""
    return _write([tree], _UNBOUNDED)


def _write(trees: Iterable[YamlValue], width: int) -> str:
    return yaml.dump_all(
        trees, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=width, default_flow_style=False
    )


def _tag_as_read(text: str) -> str:
    if _TYPED_BY_OTHERS.match(text):
        return _TAG + "quoted"
    try:
        value = resolve_plain(text)
    except ValueError:
        return _TAG + "quoted"
    names: dict[type, str] = {bool: "bool", int: "int", float: "float", type(None): "null", str: "str"}
    return _TAG + names[type(value)]


class _Dumper(yaml.CSafeDumper):
    def ignore_aliases(self, data: YamlValue) -> bool:
        return True

    def resolve(self, kind: YamlValue, value: YamlValue, implicit: YamlValue) -> str:
        if kind is yaml.ScalarNode:
            return _tag_as_read(value) if implicit[0] else _TAG + "str"
        return _TAG + ("seq" if kind is yaml.SequenceNode else "map")


def _number(dumper: _Dumper, number: float) -> yaml.Node:
    fits = isinstance(number, int) and -(2**63) <= number < 2**64
    text = str(number) if fits else number_text(float(number))
    return dumper.represent_scalar(_tag_as_read(text), text)


def _text(dumper: _Dumper, text: str) -> yaml.Node:
    if is_plain(text):
        return dumper.represent_scalar(_TAG + "str", text, style="|" if "\n" in text else None)
    # YAML cannot write half a character: names of files may hold one.
    text = text.encode(errors="backslashreplace").decode()
    # Only between double quotes can characters that steer a terminal be written as escapes.
    return dumper.represent_scalar(_TAG + "str", text, style='"')


_Dumper.add_representer(str, _text)
_Dumper.add_representer(int, _number)
_Dumper.add_representer(float, _number)
