"""What an input that is read again and again came to the last time: the very same objects for the very same documents.

Later stages know unchanged objects by identity, so that reading everything again costs little.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from fleetform.app.reading.documents import read_document
from fleetform.dialects.envelope import Reading
from fleetform.model.objects import Object
from fleetform.ports.inputs import Document
from fleetform.syntax.times import parse_time


class KeptReadings:
    """Readings and stamped objects of the last time. They are held, so that an id is always of the same one."""

    def __init__(self) -> None:
        self._organization = ""
        self._readings: dict[int, tuple[Document, Reading]] = {}
        self._stamped: dict[int, tuple[Object[object], str, Object[object]]] = {}

    def read(self, documents: Iterable[Document], organization: str) -> list[tuple[Document, Reading]]:
        """What each document is; those that are gone are forgotten."""
        before = self._readings if organization == self._organization else {}
        self._organization, self._readings = organization, {}
        found = []
        for document in documents:
            kept = before.get(id(document))
            if kept is None:
                kept = (document, read_document(document, organization))
            self._readings[id(document)] = kept
            found.append(kept)
        return found

    def stamped(self, object_: Object[object], stamp: str) -> Object[object]:
        """The object with its time of creation. ValueError if that is no time."""
        kept = self._stamped.get(id(object_))
        if kept is None or kept[1] != stamp:
            kept = self._stamped[id(object_)] = (object_, stamp, replace(object_, created=parse_time(stamp)))
        return kept[2]

    def finish(self, objects: Iterable[Object[object]]) -> None:
        """The end of a reading: what is not among its objects is forgotten."""
        used = {id(each) for each in objects}
        self._stamped = {key: each for key, each in self._stamped.items() if key in used}
