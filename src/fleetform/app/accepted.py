"""accepted: the files that a control plane goes by, and what it knows, for those who compare others with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from fleetform.app.stored_state.reading import known_state
from fleetform.app.stored_state.writing import state_document
from fleetform.model.answers.source import AcceptedSource
from fleetform.model.state_document import StateDocument
from fleetform.ports.state import KnownState
from fleetform.syntax.yaml_in import YamlError, read_stream
from fleetform.syntax.yaml_out import write_yaml

_HELD = ("data", "stringData")


def accepted_source(files: Mapping[str, bytes], revision: str, known: KnownState) -> AcceptedSource:
    texts = {name: content.decode("utf-8", "replace") for name, content in files.items()}
    return AcceptedSource(
        revision=revision,
        files={name: _without_secrets(text) if "Secret" in text else text for name, text in texts.items()},
        state=msgspec.to_builtins(state_document(known)),
        diagnostics=[],
    )


def known_of(source: AcceptedSource, name: str) -> KnownState:
    """What the one that accepted it knows; name is how messages call it."""
    return known_state(msgspec.convert(source.state, StateDocument), name)


def _without_secrets(text: str) -> str:
    """The same objects, without what Secrets hold. Only files with one are written anew."""
    trees: list[Any] = []
    for each in read_stream(text):
        if isinstance(each, YamlError):
            # It was accepted, so something of it is no manifest: nobody needs that here.
            return ""
        trees.append(each.tree)
    if not any(_has_secret(tree) for tree in trees):
        return text
    return "---\n".join(write_yaml(_masked(tree)) for tree in trees)


def _has_secret(tree: Any) -> bool:
    if not isinstance(tree, dict):
        return False
    items = tree.get("items")
    return tree.get("kind") == "Secret" or (isinstance(items, list) and any(map(_has_secret, items)))


def _masked(tree: Any) -> Any:
    if not isinstance(tree, dict):
        return tree
    if isinstance(tree.get("items"), list):
        return {**tree, "items": [_masked(each) for each in tree["items"]]}
    if tree.get("kind") != "Secret":
        return tree
    held = {part: dict.fromkeys(tree[part], "") for part in _HELD if isinstance(tree.get(part), dict)}
    return {**tree, **held}
