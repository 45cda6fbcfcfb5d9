"""Text that tools print and people write, parsed into objects with apiVersion, kind and name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fleetform.renderers.failures import RenderError
from fleetform.syntax.trees import YamlMap, YamlValue, as_map
from fleetform.syntax.yaml_in import YamlError, read_stream


class DocumentError(Exception):
    """What is wrong in a text of YAML documents, and in which line."""

    def __init__(self, message: str, line: int, hint: str) -> None:
        super().__init__(message)
        self.message, self.line, self.hint = message, line, hint


def objects_in(text: str) -> Iterator[YamlMap]:
    """The objects of a text, and those in lists; empty documents are skipped."""
    for document in read_stream(text):
        if isinstance(document, YamlError):
            raise DocumentError(document.message, document.line, document.hint)
        if document.tree is None:
            continue
        for tree in _unfolded(document.tree):
            problem = problem_of(tree)
            if problem is not None:
                lines = text.split("\n")
                first = document.first_line
                content = [lines[line - 1].partition("#")[0].strip() for line in range(first, len(lines) + 1)]
                line = next((first + index for index, each in enumerate(content) if each and each != "---"), first)
                raise DocumentError(problem, line, "every object needs these")
            yield tree


def problem_of(tree: YamlValue) -> str | None:
    """Why a tree is not an object; None if it is one."""
    if not isinstance(tree, dict):
        return "this is not an object, but a text, a number or a list"
    for field in ("apiVersion", "kind"):
        if not isinstance(tree.get(field), str) or not tree[field]:
            return f"this is not an object: it has no {field}"
    metadata = tree.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
        return f"this {tree['kind']} has no metadata.name"
    return None


def name_of(tree: YamlMap) -> str:
    """An object's name in messages."""
    metadata = tree["metadata"]
    namespace = metadata.get("namespace")
    return f"{tree['kind']} {f'{namespace}/' if namespace else ''}{metadata['name']}"


def check_distinct(objects: Iterable[YamlMap], namespace: str) -> None:
    """Two of the same object would overwrite each other on the cluster; one without a namespace goes into this one."""
    seen: set[tuple[str, ...]] = set()
    for tree in objects:
        into = str(tree["metadata"].get("namespace") or namespace)
        identity = (tree["apiVersion"], tree["kind"], into, tree["metadata"]["name"])
        if identity in seen:
            message = f"{name_of(tree)} ({tree['apiVersion']}) is rendered twice"
            raise RenderError(message, "give one of them another name, or render it once")
        seen.add(identity)


def _unfolded(tree: YamlValue) -> Iterator[YamlValue]:
    kind, items = as_map(tree).get("kind"), as_map(tree).get("items", [])
    if not isinstance(kind, str) or not kind.endswith("List") or not (items is None or isinstance(items, list)):
        yield tree
        return
    # Items of a list of one kind need not repeat it.
    shared = {} if kind == "List" else {"apiVersion": tree.get("apiVersion"), "kind": kind.removesuffix("List")}
    for item in items or []:
        yield from _unfolded({**shared, **item} if isinstance(item, dict) else item)
