"""Reads a state export (`--state FILE`): creation stamps, and what runs where."""

from __future__ import annotations

import json
from typing import Any

from fleetform.app.errors import StateError
from fleetform.ports import KnownState

_WANTED = "give a file that holds a State of version 1"


def load_state(name: str | None) -> KnownState:
    if name is None:
        return KnownState()
    if name.startswith("sqlite:"):
        raise StateError("this release reads state exports only, no databases", _WANTED)
    try:
        with open(name, encoding="utf-8") as file:
            tree = json.load(file)
    except OSError as error:
        raise StateError(f"cannot read {name}: {(error.strerror or str(error)).lower()}", "check --state") from error
    except (ValueError, RecursionError) as error:
        raise StateError(f"{name} is not a state export: {error}", _WANTED) from error
    return _read(name, tree)


def _read(name: str, tree: Any) -> KnownState:
    if not isinstance(tree, dict) or tree.get("kind") != "State" or tree.get("version") != 1:
        raise StateError(f"{name} is not a state export of version 1", _WANTED)
    try:
        stamps = {(each["kind"], each["organization"], each["name"]): each["created"] for each in tree["stamps"]}
        admitted = {
            (each["organization"], each["cluster"], each["plugin"]): each["admitted"]
            for each in tree.get("plugins", [])
            if each.get("admitted") is not None
        }
    except (KeyError, TypeError, AttributeError) as error:
        raise StateError(f"{name} is damaged: {error}", "export it anew") from error
    return KnownState(stamps, admitted)
