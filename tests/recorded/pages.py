"""The fleets of the transcripts and examples as trees, and the same fleets with a few edits by chance."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from fleetform.app.fleet import Fleet
from fleetform.model.objects import At
from fleetform.ports.state import KnownState
from fleetform.syntax.yaml_in import YamlDocument, read_stream
from fleetform.syntax.yaml_out import write_documents
from support.fleets import fleet_of
from support.pages import File, steps_of

TESTS = Path(__file__).parents[1]
EXAMPLES = TESTS.parent / "examples"
Tree = dict[str, Any]
Files = dict[str, list[Tree]]
_HOW = ("other", "other", "other", "gone", "moved", "twice", "left out", "new")
_MOST_ERRORS = 60


class Page(NamedTuple):
    """A fleet as it stands on a page: its documents by file, as they are one after the other."""

    name: str
    moments: list[Files]

    @property
    def files(self) -> Files:
        return self.moments[-1]


@cache
def pages() -> dict[str, Page]:
    found = {file.stem: _transcript(file) for file in sorted((TESTS / "transcripts").glob("*.md"))}
    for folder in sorted(each for each in (*EXAMPLES.iterdir(), *EXAMPLES.glob("seed-[13]/*")) if each.is_dir()):
        texts = {str(each.relative_to(folder)): each.read_text(encoding="utf-8") for each in folder.rglob("*.yaml")}
        name = str(folder.relative_to(EXAMPLES)).replace("/", "-")
        found[name] = Page(name, [_trees(dict(sorted(texts.items())))])
    return {name: page for name, page in found.items() if page.moments}


def _transcript(file: Path) -> Page:
    """Each run of files between two commands is a moment."""
    moments: list[Files] = []
    texts: dict[str, str] = {}
    is_new = False
    for step in steps_of(file.read_text(encoding="utf-8")):
        if not isinstance(step, File):
            is_new = True
        elif step.name.endswith(".yaml"):
            if is_new and texts:
                moments.append(_trees(texts))
            texts[step.name], is_new = step.text, False
    return Page(file.stem, [*moments, *([_trees(texts)] if texts else [])])


def _trees(texts: Mapping[str, str]) -> Files:
    return {
        name: [
            each.tree for each in read_stream(text) if isinstance(each, YamlDocument) and isinstance(each.tree, dict)
        ]
        for name, text in texts.items()
    }


def texts_of(files: Files) -> dict[str, str]:
    return {name: write_documents(documents) for name, documents in files.items()}


def opened(files: Files, state: KnownState | None = None) -> Fleet:
    return fleet_of(texts_of(files), state=state)


def without_errors(files: Files) -> Files:
    """The files without the documents that an error is about, one after the other."""
    files = {name: [*documents] for name, documents in files.items()}
    for _ in range(_MOST_ERRORS):
        errors = opened(files).findings.errors
        if not errors:
            break
        blamed = {(each.object.kind, each.object.name) for each in errors if each.object is not None}
        left = {name: [each for each in documents if _named(each) not in blamed] for name, documents in files.items()}
        if left == files:
            spoilt = {
                (each.at.origin if isinstance(each.at, At) else each.at).file for each in errors if each.at is not None
            }
            left = {name: [] if name in spoilt else documents for name, documents in files.items()}
        files = left
    return files


def _named(document: Tree) -> tuple[str, str]:
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return str(document.get("kind")), str(name)


@cache
def _pool() -> dict[str, list[Any]]:
    """What stands under a key anywhere: what somebody might write there."""
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    for page in pages().values():
        for documents in page.files.values():
            for holder, key in places(documents):
                if isinstance(holder, dict):
                    found[key][repr(holder[key])] = holder[key]
    return {key: [every[each] for each in sorted(every)] for key, every in found.items()}


def edited(files: Files, dice: Random) -> Files:
    """The files after one to three edits, mostly such that still mean something."""
    files = copy.deepcopy(files)
    for _ in range(dice.choice((1, 1, 2, 3))):
        documents = [each for each in files.values() if each]
        if documents:
            _edit(dice, dice.choice(documents))
    return files


def _edit(dice: Random, documents: list[Tree]) -> None:
    document = dice.choice(documents)
    found = [(holder, key) for holder, key in places(document) if key not in ("apiVersion", "kind")]
    if not found:
        return
    holder, key = dice.choice(found)
    how = dice.choice(_HOW)
    if how == "other":
        holder[key] = _instead_of(dice, holder[key], key)
    elif how == "gone":
        del holder[key]
    elif how == "moved" and isinstance(holder, list):
        holder.insert(dice.randrange(len(holder)), holder.pop(key))
    elif how == "twice" and isinstance(holder, list):
        holder.append(copy.deepcopy(holder[key]))
    elif how == "left out" and len(documents) > 1:
        documents.remove(document)
    elif how == "new":
        again = copy.deepcopy(document)
        metadata = again.get("metadata")
        if isinstance(metadata, dict) and isinstance(metadata.get("name"), str) and dice.random() < 0.8:
            metadata["name"] += "-2"
        documents.append(again)


def _instead_of(dice: Random, value: Any, key: Any) -> Any:
    others = _pool().get(key, []) if isinstance(key, str) else []
    if others and dice.random() < 0.8:
        return copy.deepcopy(dice.choice(others))
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + dice.choice((-1, 1, 10))
    return dice.choice(("", "x", 0, None, "1.1.0", "eu", [], {}))


def places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a tree: what holds it, and under which key."""
    todo = [tree]
    while todo:
        node = todo.pop()
        inside = list(node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ())
        yield from ((node, key) for key, _ in inside)
        todo += [each for _, each in inside]
