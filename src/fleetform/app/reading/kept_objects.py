"""Kept objects: those that a rollout may still need as they were, when the files say something else by now (B8, B21).

Kept are the documents of objects that an owner's plugins were last made of, that its rollout brings, or that were there
before its last one, which may still be rolled back; and that are others in the files, or gone. There are few: the next
rollout lets go of what was before the last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import msgspec

from fleetform.app.reading.documents import read_document
from fleetform.engine.world.contents import ContentHashes, content_with_annotations, identity_text
from fleetform.engine.world.stored import Stored
from fleetform.model.objects import AnyObject, Origin
from fleetform.ports.inputs import Document
from fleetform.ports.state import KeptDocument
from fleetform.syntax.times import parse_time, time_text
from fleetform.syntax.trees import as_map

Key = tuple[str, str]


class KeptReader(Mapping[Key, AnyObject]):
    """Kept objects by identity and hash, read when they are asked for."""

    def __init__(self, documents: Mapping[Key, KeptDocument]) -> None:
        self._documents = documents
        self._read: dict[Key, AnyObject] = {}

    def __getitem__(self, key: Key) -> AnyObject:
        found = self._read.get(key)
        if found is None:
            found = self._read[key] = self._object(self._documents[key])
        return found

    def __iter__(self) -> Iterator[Key]:
        return iter(self._documents)

    def __len__(self) -> int:
        return len(self._documents)

    def _object(self, kept: KeptDocument) -> AnyObject:
        """KeyError if a later release reads it as something else."""
        document = Document(msgspec.json.decode(kept.tree), Origin(kept.file, 1, 1))
        for each in _objects(document, kept.organization):
            if (identity_text(each), content_with_annotations(each)) == (kept.identity, kept.hash):
                return replace(each, created=parse_time(kept.created)) if kept.created is not None else each
        raise KeyError(kept.identity)


def needed(stored: Stored, hashes: ContentHashes) -> set[Key]:
    """The objects that owners were last made of, will be or may be again, and that the snapshot does not have so."""
    snapshot = hashes.snapshot
    found: set[Key] = set()
    for owner, admitted in stored.admitted.items():
        home = owner._replace(name=owner.name.partition("/")[0])
        if not any(each in snapshot.presets or each in snapshot.plugins for each in (owner, home)):
            continue
        sides = (admitted.objects, admitted.upcoming or {}, admitted.earlier or {})
        pairs = {each for side in sides for each in side.items()}
        found |= {(identity, hash_) for identity, hash_ in pairs if hashes.now(identity) != hash_}
    return found


def kept_from(hashes: ContentHashes, documents: Iterable[Document], wanted: set[Key]) -> dict[Key, KeptDocument]:
    """Some objects of a snapshot, as far as they stand in its documents: catalogs keep their own."""
    left = {key: each for key in wanted if (each := hashes.object(key[0])) is not None and hashes.of(each) == key[1]}
    if not left:
        return {}
    found: dict[Key, KeptDocument] = {}
    names = {each.own_name for each in left.values()}
    for document in documents:
        if as_map(as_map(document.tree).get("metadata")).get("name") not in names:
            continue
        for organization in {each.ref.organization for each in left.values()}:
            for each in _objects(document, organization):
                key = identity_text(each), content_with_annotations(each)
                # A document that names its organization is the same object for whichever reads it.
                if key in left and left[key].ref.organization == organization:
                    created = left[key].created
                    stamp = time_text(created) if created is not None else None
                    tree = msgspec.Raw(msgspec.json.encode(document.tree))
                    found[key] = KeptDocument(*key, organization, document.origin.file, tree, stamp)
    return found


def _objects(document: Document, organization: str) -> list[AnyObject]:
    reading = read_document(document, organization)
    return [each for each in (reading.object, *reading.also) if each is not None]
