"""From what a source holds now and what is remembered of it, to what is known: a version's first content stays."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

import semver
from msgspec import structs

from fleetform.app.reading import read_document
from fleetform.catalogs.holdings import Holding, Holdings
from fleetform.catalogs.records import SourceState, Version
from fleetform.engine.against import content_of
from fleetform.engine.versions import VersionError, parse_version
from fleetform.load.places import FileLocator
from fleetform.load.reader import read_file
from fleetform.load.sources import SourceFile
from fleetform.model.kinds.definition import PluginDefinitionSpec
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.ports import Document

Key = tuple[str, str]


class Merged(NamedTuple):
    """What is known now, and the texts that new versions stand in, by digest."""

    state: SourceState
    texts: dict[str, str]


def merge(before: SourceState, holdings: Holdings, now: str) -> Merged:
    """What is known of a source once it was read."""
    known = {(each.name, each.version): each for each in before.versions}
    problems, changed = list(holdings.problems), list(before.changed)
    newest: dict[str, Version] = {}
    texts: dict[str, str] = {}
    seen: set[Key] = set()
    for holding in holdings.found:
        for version in _versions(holding, problems):
            key = (version.name, version.version)
            seen.add(key)
            if key not in known:
                known[key] = version
                texts[version.text] = holding.text
            else:
                known[key] = _kept(known[key], version, changed)
            if not holding.past:
                newest[version.name] = version
    kept = tuple(structs.replace(each, gone=_is_gone(each, key in seen, holdings)) for key, each in known.items())
    if holdings.is_line:
        problems += _went_down(newest, kept)
    state = SourceState(
        before.title,
        read=now,
        tried=now,
        revision=holdings.revision,
        marks=holdings.marks,
        versions=kept,
        problems=tuple(dict.fromkeys(problems)),
        changed=tuple(dict.fromkeys(changed)),
    )
    return Merged(state, texts)


def _kept(old: Version, new: Version, changed: list[str]) -> Version:
    """A version that is known stays as it first came; that it differs now is said, and its bytes are watched."""
    if old.content != new.content:
        changed.append(
            f"{old.name} {old.version} changed at {new.revision} under one version; what it was at {old.revision} stays"
        )
    found = new.digest if new.digest is not None else old.found
    return structs.replace(old, found=found, digest=old.digest or new.digest, mark=new.mark, gone=False)


def _is_gone(version: Version, seen: bool, holdings: Holdings) -> bool:
    if seen:
        return False
    return version.gone or holdings.whole or version.mark not in holdings.marks


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


def _versions(holding: Holding, problems: list[str]) -> Iterator[Version]:
    """The definitions of a file. What cannot be read is a problem, unless it is past."""
    where = f"{holding.file}@{holding.revision}"
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


def _version(holding: Holding, document: Document, text: str) -> Version | str | None:
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
        holding.mark,
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
