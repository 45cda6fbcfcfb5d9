"""From what a source holds now and what is remembered of it, to what is known: a version's first content stays."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

import semver
from msgspec import structs

from fleetform.app.reading.documents import read_document
from fleetform.catalogs.listing import ListedDefinition, SourceListing
from fleetform.catalogs.records import SourceState, Version
from fleetform.engine.versions.compatibility import content_of
from fleetform.load.places import FileLocator
from fleetform.load.reader import read_file
from fleetform.load.sources import SourceFile
from fleetform.model.kinds.definition import PluginDefinitionSpec
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.ports.inputs import Document
from fleetform.syntax.versions import VersionError, parse_version

Key = tuple[str, str]


class Merged(NamedTuple):
    """What is known now, and the texts that new versions stand in, by digest."""

    state: SourceState
    texts: dict[str, str]


def merge(before: SourceState, listing: SourceListing, now: str) -> Merged:
    """What is known of a source once it was read."""
    reading = _Reading(before, listing)
    for holding in listing.found:
        reading.hear(holding)
    kept = reading.versions()
    if all(each.gone for each in kept) and not any(reading.problems.values()):
        reading.problems.setdefault("", []).append("it holds no definition; check path and include")
    if listing.is_line:
        reading.problems.setdefault("", []).extend(_went_down(reading.newest, kept))
    state = SourceState(
        before.title,
        read=now,
        tried=now,
        revision=listing.revision,
        marks=listing.marks,
        versions=kept,
        problems={mark: tuple(dict.fromkeys(texts)) for mark, texts in reading.problems.items() if texts},
        changed=tuple(dict.fromkeys(reading.changed)),
    )
    return Merged(state, reading.texts)


class _Reading:
    """What is known, while a source is read; the parts of it that did not change keep what was said of them."""

    def __init__(self, before: SourceState, listing: SourceListing) -> None:
        self._holdings = listing
        self._known = {(each.name, each.version): each for each in before.versions}
        self._seen: dict[Key, set[str]] = {}
        same = {mark for mark, digest in listing.marks.items() if before.marks.get(mark) == digest}
        self._read_anew = set() if listing.is_line else listing.marks.keys() - same
        self.problems = {mark: list(texts) for mark, texts in before.problems.items() if mark in same and mark}
        if listing.is_line:
            self.problems = {}
        self.problems[""] = list(listing.problems)
        for mark, texts in listing.notes.items():
            self.problems[mark] = list(texts)
        self.changed = list(before.changed)
        self.newest: dict[str, Version] = {}
        self.texts: dict[str, str] = {}

    def hear(self, holding: ListedDefinition) -> None:
        mark = "" if self._holdings.is_line else holding.mark
        for version in _versions(holding, self.problems.setdefault(mark, [])):
            key = (version.name, version.version)
            self._seen.setdefault(key, set()).add(holding.mark)
            if key in self._known:
                self._known[key] = _kept(self._known[key], version, self.changed)
            else:
                self._known[key] = version
                self.texts[version.text] = holding.text
            if not holding.past:
                self.newest[version.name] = version

    def versions(self) -> tuple[Version, ...]:
        """Every version that was ever held; gone is one that no part of the source holds any more."""
        found = []
        for key, version in self._known.items():
            marks = (set(version.marks) - self._read_anew) | self._seen.get(key, set())
            left = marks & self._holdings.marks.keys()
            gone = key not in self._seen and (self._holdings.whole or not left)
            found.append(structs.replace(version, marks=tuple(sorted(marks)), gone=gone))
        return tuple(found)


def _kept(old: Version, new: Version, changed: list[str]) -> Version:
    """A version that is known stays as it first came; that it differs now is said once, and its bytes are watched."""
    others = old.others
    if new.content not in (old.content, *others):
        others = (*others, new.content)
        changed.append(
            f"{old.name} {old.version} changed under one version at {_where(new)}; what it was at {_where(old)} stays"
        )
    found = new.digest if new.digest is not None else old.found
    return structs.replace(old, found=found, digest=old.digest or new.digest, others=others)


def _where(version: Version) -> str:
    return _place(version.file, version.revision)


def _place(file: str, revision: str) -> str:
    return file if revision == file else f"{file}@{revision}"


def _went_down(newest: dict[str, Version], known: tuple[Version, ...]) -> Iterator[str]:
    for name, now in sorted(newest.items()):
        highest = max((each for each in known if each.name == name and not each.gone), key=_order)
        if _order(highest) > _order(now):
            yield (
                f"{name} went down from {highest.version} to {now.version}; both are offered: "
                f"yank {highest.version} in a LifecyclePolicy if it is not to be used"
            )


def _order(version: Version) -> semver.Version:
    return parse_version(version.version)


def _versions(holding: ListedDefinition, problems: list[str]) -> Iterator[Version]:
    """The definitions of a file. What cannot be read is a problem, unless it is past."""
    where = _place(holding.file, holding.revision)
    text = "sha256:" + hashlib.sha256(holding.text.encode("utf-8", "surrogatepass")).hexdigest()
    content = holding.text.encode("utf-8", "replace")
    for found in read_file(SourceFile(where, content), FileLocator()):
        said = _problem(found) if isinstance(found, Diagnostic) else None
        if isinstance(found, Document):
            version = _version(holding, found, text)
            if isinstance(version, Version):
                yield version
            said = version if isinstance(version, str) else None
        if said is not None and not holding.past:
            problems.append(f"{where}: {said}")


def _problem(diagnostic: Diagnostic) -> str:
    line = getattr(diagnostic.at, "line", None)
    return f"line {line}: {diagnostic.message}" if line is not None else diagnostic.message


def _version(holding: ListedDefinition, document: Document, text: str) -> Version | str | None:
    """A document's definition, what is wrong with it, or None where it is of another kind."""
    if document.tree.get("kind") not in ("PluginDefinition", "ClusterPluginDefinition"):
        return None
    reading = read_document(document, "default")
    errors = [each for each in reading.diagnostics if each.severity == "error"]
    if reading.object is None or errors or not isinstance(reading.object.spec, PluginDefinitionSpec):
        return errors[0].message if errors else "it is not a definition"
    spec = reading.object.spec
    try:
        version = str(parse_version(spec.version))
    except VersionError as error:
        return str(error)
    origin = document.origin
    return Version(
        reading.object.ref.name,
        version,
        holding.file,
        holding.revision,
        (holding.mark,),
        content_of(reading.object),
        text,
        document.tree,
        origin.first_line,
        origin.last_line,
        origin.base,
        holding.published,
        holding.digest,
        holding.digest,
    )
