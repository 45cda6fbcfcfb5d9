"""Texts that tools print and people write become objects, each of which says what it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from fleetform.renderers.failures import RenderError
from fleetform.syntax.yaml_in import YamlError, read_stream

Tree = dict[str, Any]


class DocumentError(Exception):
    """What is wrong with a text of documents, and in which line of it."""

    def __init__(self, message: str, line: int, hint: str) -> None:
        super().__init__(message)
        self.message, self.line, self.hint = message, line, hint


def objects_in(text: str) -> Iterator[Tree]:
    """The objects of a text, lists among them unfolded; empty documents are none."""
    for document in read_stream(text):
        if isinstance(document, YamlError):
            raise DocumentError(document.message, document.line, document.hint)
        if document.tree is None:
            continue
        for tree in _unfolded(document.tree):
            problem = problem_of(tree)
            if problem is not None:
                raise DocumentError(problem, _first_content(text, document.first_line), "every object needs these")
            yield tree


def problem_of(tree: Any) -> str | None:
    """What keeps a tree from being an object."""
    if not isinstance(tree, dict):
        return "this is no object, but a text, a number or a list"
    for field in ("apiVersion", "kind"):
        if not isinstance(tree.get(field), str) or not tree[field]:
            return f"this is no object: it has no {field}"
    metadata = tree.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
        return f"this {tree['kind']} has no metadata.name"
    return None


def name_of(tree: Tree) -> str:
    """An object as messages call it."""
    metadata = tree["metadata"]
    namespace = metadata.get("namespace")
    return f"{tree['kind']} {f'{namespace}/' if namespace else ''}{metadata['name']}"


def check_distinct(objects: Iterable[Tree], namespace: str) -> None:
    """Two of the same object would overwrite each other on the cluster; one without a namespace goes into this one."""
    seen: set[tuple[str, ...]] = set()
    for tree in objects:
        where = str(tree["metadata"].get("namespace") or namespace)
        identity = (tree["apiVersion"], tree["kind"], where, tree["metadata"]["name"])
        if identity in seen:
            message = f"{name_of(tree)} ({tree['apiVersion']}) is rendered twice"
            raise RenderError(message, "give one of them another name, or render it once")
        seen.add(identity)


def _unfolded(tree: Any) -> Iterator[Any]:
    kind = tree.get("kind") if isinstance(tree, dict) else None
    items = tree.get("items", ()) if isinstance(kind, str) and kind.endswith("List") else ()
    if not isinstance(kind, str) or not kind.endswith("List") or not (items is None or isinstance(items, list)):
        yield tree
        return
    # Items of a list of one kind need not repeat it.
    said = {} if kind == "List" else {"apiVersion": tree.get("apiVersion"), "kind": kind.removesuffix("List")}
    for item in items or []:
        yield from _unfolded({**said, **item} if isinstance(item, dict) else item)


def _first_content(text: str, line: int) -> int:
    """The first line from one on that says something."""
    lines = text.split("\n")
    for number in range(line, len(lines) + 1):
        said = lines[number - 1].partition("#")[0].strip()
        if said and said != "---":
            return number
    return line
