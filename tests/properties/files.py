"""Fleets as files: the same objects in any order, spread over any files, with their keys in any order."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

import msgspec

from fleetform.app.fleet import Fleet, read_fleet
from fleetform.load.inputs import InputFile
from fleetform.load.locator import FileLocator
from fleetform.load.reader import read_file
from fleetform.model.objects import Object
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.model.snapshot import Snapshot
from fleetform.ports.inputs import Document, Input
from fleetform.syntax.times import time_text
from fleetform.syntax.yaml_out import write_documents

Tree = dict[str, Any]


def manifests(snapshot: Snapshot) -> list[Tree]:
    """Every object as it would be written down."""
    kinds = (snapshot.clusters, snapshot.definitions, snapshot.presets, snapshot.plugins, snapshot.overrides)
    return [_manifest(each) for objects in kinds for each in objects.values()]


def _manifest(object_: Object[Any]) -> Tree:
    metadata = msgspec.to_builtins(object_.metadata)
    if object_.created is not None:
        metadata["annotations"] = {"fleetform.dev/created": time_text(object_.created)}
    spec = msgspec.to_builtins(object_.spec)
    return {"apiVersion": "fleetform.dev/v1alpha1", "kind": object_.ref.kind, "metadata": metadata, "spec": spec}


def shuffled_keys(tree: Any, random: Random) -> Any:
    """Maps with their keys in another order; lists are left as they are."""
    if isinstance(tree, dict):
        keys = random.sample(list(tree), len(tree))
        return {key: shuffled_keys(tree[key], random) for key in keys}
    return [shuffled_keys(each, random) for each in tree] if isinstance(tree, list) else tree


def shuffled_files(trees: Iterable[Tree], random: Random) -> list[InputFile]:
    """The trees in random order over a few files of random kinds."""
    in_order = [shuffled_keys(tree, random) for tree in trees]
    random.shuffle(in_order)
    files: dict[str, list[Tree]] = {}
    for tree in in_order:
        files.setdefault(random.choice(["b/z.yaml", "a.yml", "list.json", "c.yaml"]), []).append(tree)
    sources = [InputFile(name, _text(name, held).encode()) for name, held in files.items()]
    random.shuffle(sources)
    return sources


def _text(name: str, trees: list[Tree]) -> str:
    if name.endswith(".json"):
        return json.dumps({"items": trees, "kind": "List", "apiVersion": "v1"})
    if name.endswith(".yml"):
        # JSON is YAML, too.
        return "\n---\n".join(json.dumps(tree, indent=1) for tree in trees)
    return write_documents(trees)


def fleet_from(sources: Iterable[InputFile], snapshot: Snapshot) -> Fleet:
    documents: list[Document] = []
    diagnostics: list[Diagnostic] = []
    locator = FileLocator()
    for found in _read_all(sources, locator):
        if isinstance(found, Document):
            documents.append(found)
        else:
            diagnostics.append(found)
    return read_fleet(Input(documents, diagnostics, locator), snapshot.at)


def _read_all(sources: Iterable[InputFile], locator: FileLocator) -> Iterator[Document | Diagnostic]:
    for source in sources:
        yield from read_file(source, locator)
