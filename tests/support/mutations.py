"""Manifests spoilt by chance, as trees and as text: what a slip, a broken tool or somebody hostile may write."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

from fleetform.syntax.yaml_in import YamlDocument, read_stream
from fleetform.syntax.yaml_out import write_documents

JUNK: tuple[Any, ...] = (
    None, True, False, 0, -1, 10**30, 1.5, 1e308, "", " ", "x" * 5000, "a[", "a[99999].b", "[1]", "a..b", "/", "/a//b",
    "${", "$(", "$(X", "$(CLUSTER_NAME)", "${x:-", "{{ .Values.x }}", "\x1b[31mred", "\u202eabc", "\x00", "\ud7ff",
    "1.0.0", "^1.x", ">=", "||", "2026-13-45", "P1D", "24h", "0s", "-5m", "100%", "-1%", "1000%", "Etc/Nowhere",
    "* * * * *", "99 99 * * *", "env in (a", "!", "=", ",", "../../../etc/passwd", "/dev/zero", "git:HEAD", "https://",
    "https://u:p@[", "oci://", "cluster.", "cluster.labels['", "value + 1", "'" , '"', "(" * 500, [], {}, [None], [[]],
    [{}], {"": ""}, {"a": None}, {"name": None}, {"name": {}}, {"a": {"a": {"a": {}}}}, ["a", "a"], [1, "a", {}],
)  # fmt: skip
_LINES = (
    "",
    "---",
    "...",
    "\t- x",
    "x: [",
    "  y: &a",
    "*a",
    "<<: *a",
    "? {a: b}",
    "%YAML 1.2",
    "!!binary x",
    "- - -",
    "}",
)


def documents_of(folder: Path) -> list[dict[str, Any]]:
    """Every manifest below a folder."""
    found = []
    for file in sorted(folder.rglob("*.yaml")):
        for document in read_stream(file.read_text(encoding="utf-8")):
            if isinstance(document, YamlDocument) and isinstance(document.tree, dict):
                found.append(document.tree)
    return found


def spoilt(documents: list[dict[str, Any]], dice: Random) -> str:
    """The documents with one to four slips in them, and sometimes one in the text."""
    trees: list[Any] = [_copy(each) for each in documents]
    for _ in range(dice.randint(1, 4)):
        _slip(trees, dice)
    text = write_documents(trees)
    return _slip_in_text(text, dice) if dice.random() < 0.25 else text


def _copy(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _copy(each) for key, each in tree.items()}
    return [_copy(each) for each in tree] if isinstance(tree, list) else tree


def _slip(trees: list[Any], dice: Random) -> None:
    """One node of one document is replaced, removed, doubled, or swapped with one of another document."""
    places = [place for tree in [dice.choice(trees)] for place in _places(tree)]
    if not places:
        return
    holder, key = dice.choice(places)
    others = _places(dice.choice(trees))
    how = dice.randint(0, 5)
    if how == 0:
        del holder[key]
    elif how == 1 and others:
        other, at = dice.choice(others)
        holder[key] = _copy(other[at])
    elif how == 2 and isinstance(holder, list):
        holder.append(_copy(holder[key]))
    elif how == 3 and isinstance(holder, dict):
        junk = dice.choice(JUNK)
        holder[junk if isinstance(junk, str) else "x"] = holder.pop(key)
    else:
        holder[key] = _copy(dice.choice(JUNK))


def _places(tree: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    todo = [tree]
    while todo:
        node = todo.pop()
        inside = list(node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ())
        found += [(node, key) for key, _ in inside]
        todo += [each for _, each in inside]
    return found


def _slip_in_text(text: str, dice: Random) -> str:
    lines = text.split("\n")
    at = dice.randrange(len(lines))
    how = dice.randint(0, 3)
    if how == 0:
        lines[at] = dice.choice(_LINES)
    elif how == 1:
        del lines[at : at + dice.randint(1, 5)]
    elif how == 2:
        lines[at] = lines[at][: dice.randrange(len(lines[at]) + 1)]
    else:
        lines.insert(at, dice.choice(_LINES))
    return "\n".join(lines)
