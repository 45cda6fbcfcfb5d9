"""Reads and writes a state export (`--state FILE`)."""

from __future__ import annotations

import msgspec

from fleetform.app.errors import StateChangedError, StateError
from fleetform.app.stored_state.reading import known_state
from fleetform.app.stored_state.writing import state_document
from fleetform.model.answers.base import Json
from fleetform.model.state_document import StateDocument
from fleetform.outside.files import read_file, reason, write_file
from fleetform.ports.state import KnownState

_WANTED = "give a file that holds a State of version 1"


class StateFile:
    """A state export in a file: read whole, and replaced whole."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._read: bytes | None = None

    def read(self) -> KnownState:
        self._read = _bytes(self._name)
        return known_state(_document(self._name, self._read), self._name)

    def write(self, known: KnownState) -> None:
        """Replaces the file, unless it is another than the one that was read."""
        if self._read is not None and _bytes(self._name) != self._read:
            raise StateChangedError(f"{self._name} was changed by somebody else", "try again")
        text = msgspec.json.format(msgspec.json.encode(state_document(known)), indent=2)
        write_file(self._name, text.decode() + "\n")


def load_state(name: str | None) -> KnownState:
    return StateFile(name).read() if name is not None else KnownState()


def _bytes(name: str) -> bytes:
    try:
        return read_file(name)
    except OSError as error:
        raise StateError(f"cannot read {name}: {reason(error)}", "check --state") from error


def _document(name: str, content: bytes) -> StateDocument:
    try:
        tree: Json = msgspec.json.decode(content)
    except (ValueError, RecursionError) as error:
        raise StateError(f"{name} is not a state export: {error}", _WANTED) from error
    is_state = isinstance(tree, dict) and tree.get("kind") == "State"
    if not is_state or tree.get("version") is True or tree.get("version") != 1:
        raise StateError(f"{name} is not a state export of version 1", _WANTED)
    try:
        return msgspec.convert(tree, StateDocument)
    except msgspec.ValidationError as error:
        raise StateError(f"{name} is damaged: {str(error)[:1].lower()}{str(error)[1:]}", "export it again") from error
