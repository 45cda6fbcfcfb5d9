"""A source's new listing, joined to what is known of it: the first content of a version stays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import semver
from msgspec import structs

from fleetform.app.reading.documents import read_document
from fleetform.catalogs.listing import ListedDefinition, SourceListing
from fleetform.catalogs.records import KnownDefinition, SourceState
from fleetform.engine.versions.compatibility import definition_hash
from fleetform.load.inputs import InputFile
from fleetform.load.locator import FileLocator
from fleetform.load.reader import read_file
from fleetform.model.kinds.definition import PluginDefinitionSpec
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.outside.oci import digest_of
from fleetform.ports.inputs import Document
from fleetform.syntax.trees import as_map
from fleetform.syntax.versions import VersionError, parse_version

Key = tuple[str, str]


class Merged(NamedTuple):
    """The new state of the source, and the files of new versions by digest."""

    state: SourceState
    texts: dict[str, str]


def merge(before: SourceState, listing: SourceListing, now: str) -> Merged:
    """The state of a source after a reading."""
    merging = _Merging(before, listing)
    for listed in listing.found:
        merging.add(listed)
    kept = merging.versions()
    if all(each.gone for each in kept) and not any(merging.problems.values()):
        merging.problems.setdefault("", []).append("it has no definition; check path and include")
    if listing.is_line:
        for name, now_offered in sorted(merging.newest.items()):
            highest = max((each for each in kept if each.name == name and not each.gone), key=_order)
            if _order(highest) > _order(now_offered):
                merging.problems.setdefault("", []).append(
                    f"{name} went down from {highest.version} to {now_offered.version}; both are offered: "
                    f"yank {highest.version} in a LifecyclePolicy if it is not to be used"
                )
    state = SourceState(
        before.title,
        read=now,
        tried=now,
        revision=listing.revision,
        marks=listing.marks,
        versions=kept,
        problems={mark: tuple(dict.fromkeys(texts)) for mark, texts in merging.problems.items() if texts},
        changed=tuple(dict.fromkeys(merging.changed)),
    )
    return Merged(state, merging.texts)


class _Merging:
    """The known versions while a listing is added; parts of the source that did not change keep their problems."""

    def __init__(self, before: SourceState, listing: SourceListing) -> None:
        self._listing = listing
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
        self.newest: dict[str, KnownDefinition] = {}
        self.texts: dict[str, str] = {}

    def add(self, listed: ListedDefinition) -> None:
        mark = "" if self._listing.is_line else listed.mark
        for version in _versions(listed, self.problems.setdefault(mark, [])):
            key = (version.name, version.version)
            self._seen.setdefault(key, set()).add(listed.mark)
            if not listed.past:
                self.newest[version.name] = version
            first = self._known.get(key)
            if first is None:
                self._known[key] = version
                self.texts[version.text] = listed.text
                continue
            # The version stays as it was first seen; a difference is reported once, and the new digest is kept.
            others = first.others
            if version.content not in (first.content, *others):
                others = (*others, version.content)
                now, before = _place(version.file, version.revision), _place(first.file, first.revision)
                name = f"{first.name} {first.version}"
                self.changed.append(f"{name} changed under one version at {now}; what it was at {before} stays")
            found = version.digest if version.digest is not None else first.found
            digest = first.digest or version.digest
            self._known[key] = structs.replace(first, found=found, digest=digest, others=others)

    def versions(self) -> tuple[KnownDefinition, ...]:
        """Every version that was ever listed; gone is one that no part of the source lists any more."""
        found = []
        for key, version in self._known.items():
            marks = (set(version.marks) - self._read_anew) | self._seen.get(key, set())
            left = marks & self._listing.marks.keys()
            gone = key not in self._seen and (self._listing.whole or not left)
            found.append(structs.replace(version, marks=tuple(sorted(marks)), gone=gone))
        return tuple(found)


def _place(file: str, revision: str) -> str:
    return file if revision == file else f"{file}@{revision}"


def _order(version: KnownDefinition) -> semver.Version:
    return parse_version(version.version)


def _versions(listed: ListedDefinition, problems: list[str]) -> Iterator[KnownDefinition]:
    """The definitions of a file. What cannot be read is a problem, unless it is past."""
    where = _place(listed.file, listed.revision)
    text = digest_of(listed.text.encode("utf-8", "surrogatepass"))
    content = listed.text.encode("utf-8", "replace")
    for found in read_file(InputFile(where, content), FileLocator()):
        read: KnownDefinition | str | None
        if isinstance(found, Diagnostic):
            line = getattr(found.at, "line", None)
            read = f"line {line}: {found.message}" if line is not None else found.message
        else:
            read = _version(listed, found, text)
        if isinstance(read, KnownDefinition):
            yield read
        elif read is not None and not listed.past:
            problems.append(f"{where}: {read}")


def _version(listed: ListedDefinition, document: Document, text: str) -> KnownDefinition | str | None:
    """A document's definition, or what is wrong with it, or None if it is of another kind."""
    if as_map(document.tree).get("kind") not in ("PluginDefinition", "ClusterPluginDefinition"):
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
    return KnownDefinition(
        reading.object.ref.name,
        version,
        listed.file,
        listed.revision,
        (listed.mark,),
        definition_hash(reading.object),
        text,
        document.tree,
        origin.first_line,
        origin.last_line,
        origin.base,
        listed.published,
        listed.digest,
        listed.digest,
    )
