"""Definitions from a git repository: from its whole history, its tags, or one state of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from fleetform.catalogs.listing import ListedDefinition, SourceListing
from fleetform.load.inputs import ENDINGS
from fleetform.model.kinds.definition import CatalogGit
from fleetform.outside.mirrors import Change, Commit, Mirror, ref_name
from fleetform.syntax.globs import matches_any

# Without globs a file counts if a definition is in it: repositories are full of other YAML.
_DEFINITION = re.compile(rb"""kind["']?\s*:\s*["']?(Cluster)?PluginDefinition\b""")
_LINE = "main line"


def read_git(
    mirror: Mirror, source: CatalogGit, include: Sequence[str] | None, known: Mapping[str, str]
) -> SourceListing:
    """The definitions in a copy of a repository. known has the marks of the last reading, which are not read again."""
    if source.versions == "Tags":
        tags = mirror.tags()
        found: list[ListedDefinition] = []
        for tag, commit in tags:
            if known.get(tag) != commit.name:
                files = mirror.files(commit, _folder(source))
                found += _listed(mirror, files, source, include, tag, revision=f"{tag}:{_short(commit)}")
        return SourceListing(f"{len(tags)} tags", found, marks={tag: commit.name for tag, commit in tags})
    tip = mirror.commit(ref_name(mirror, source.ref))
    now = list(_listed(mirror, mirror.files(tip, _folder(source)), source, include, _LINE))
    if source.versions == "Head":
        return SourceListing(tip.name, now, whole=True)
    before = known.get(_LINE)
    since = before if before is not None and mirror.holds(before, tip.name) else None
    changes = mirror.changes(tip.name, since, _folder(source)) if since != tip.name else iter(())
    past = list(_listed(mirror, changes, source, include, _LINE, past=True))
    # After a rewrite of history the old line does not lead here: all is read again, and what is not in it is gone.
    return SourceListing(tip.name, [*past, *now], marks={_LINE: tip.name}, whole=since is None, is_line=True)


def _listed(
    mirror: Mirror,
    changes: Iterable[Change],
    source: CatalogGit,
    include: Sequence[str] | None,
    mark: str,
    past: bool = False,
    revision: str | None = None,
) -> Iterator[ListedDefinition]:
    folder = _folder(source)
    wanted = []
    for each in changes:
        path = each.path.removeprefix(f"{folder}/") if folder else each.path
        if path.endswith(ENDINGS) if include is None else matches_any(path, include):
            wanted.append((path, each))
    blobs = list(dict.fromkeys(change.blob for _, change in wanted))
    contents = dict(zip(blobs, mirror.contents(blobs), strict=True))
    for path, change in wanted:
        content = contents[change.blob]
        if include is not None or _DEFINITION.search(content):
            yield ListedDefinition(
                path,
                revision or _short(change.commit),
                content.decode("utf-8-sig", "replace"),
                change.commit.time,
                mark=mark,
                past=past,
            )


def _folder(source: CatalogGit) -> str:
    """The source's folder as git names it; the whole repository is ""."""
    return "/".join(step for step in (source.path or "").split("/") if step not in ("", "."))


def _short(commit: Commit) -> str:
    return commit.name[:12]
