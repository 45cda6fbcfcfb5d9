"""Definitions from a git repository: from its whole history, its tags, or one state of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from fleetform.catalogs.globs import matches_any
from fleetform.catalogs.listing import ListedDefinition, SourceListing
from fleetform.load.sources import ENDINGS
from fleetform.model.kinds.definition import CatalogGit, GitRevision
from fleetform.outside.mirrors import Change, Commit, Mirror

# Without globs a file counts if it holds a definition: repositories are full of other YAML.
_DEFINITION = re.compile(rb"""kind["']?\s*:\s*["']?(Cluster)?PluginDefinition\b""")
_LINE = "main line"


def read_git(
    mirror: Mirror, source: CatalogGit, include: Sequence[str] | None, known: Mapping[str, str]
) -> SourceListing:
    """What a mirror holds of a source. known is the marks of an earlier reading: what it knows is not read again."""
    if source.versions == "Tags":
        return _read_tags(mirror, source, include, known)
    tip = mirror.commit(ref_name(mirror, source.ref))
    now = list(_holdings(mirror, mirror.files(tip, _folder(source)), source, include, _LINE))
    if source.versions == "Head":
        return SourceListing(tip.name, now, whole=True)
    before = known.get(_LINE)
    since = before if before is not None and mirror.holds(before, tip.name) else None
    changes = mirror.changes(tip.name, since, _folder(source)) if since != tip.name else iter(())
    past = list(_holdings(mirror, changes, source, include, _LINE, past=True))
    # What was rewritten away is gone: a line that does not lead here is read anew, as a whole.
    return SourceListing(tip.name, [*past, *now], marks={_LINE: tip.name}, whole=since is None, is_line=True)


def ref_name(mirror: Mirror, ref: GitRevision | None) -> str:
    """The full name of what a source asks for."""
    if ref is not None and ref.commit is not None:
        return ref.commit
    if ref is not None and ref.tag is not None:
        return f"refs/tags/{ref.tag}"
    return f"refs/heads/{ref.branch if ref is not None and ref.branch is not None else mirror.default_branch()}"


def _read_tags(
    mirror: Mirror, source: CatalogGit, include: Sequence[str] | None, known: Mapping[str, str]
) -> SourceListing:
    tags = mirror.tags()
    found: list[ListedDefinition] = []
    for tag, commit in tags:
        if known.get(tag) != commit.name:
            files = mirror.files(commit, _folder(source))
            found += _holdings(mirror, files, source, include, tag, revision=f"{tag}:{_short(commit)}")
    marks = {tag: commit.name for tag, commit in tags}
    return SourceListing(f"{len(tags)} tags", found, marks=marks)


def _holdings(
    mirror: Mirror,
    changes: Iterable[Change],
    source: CatalogGit,
    include: Sequence[str] | None,
    mark: str,
    past: bool = False,
    revision: str | None = None,
) -> Iterator[ListedDefinition]:
    wanted = [each for each in changes if _is_wanted(_inside(each.path, _folder(source)), include)]
    blobs = list(dict.fromkeys(each.blob for each in wanted))
    contents = dict(zip(blobs, mirror.contents(blobs), strict=True))
    for change in wanted:
        content = contents[change.blob]
        if include is not None or _DEFINITION.search(content):
            yield ListedDefinition(
                _inside(change.path, _folder(source)),
                revision or _short(change.commit),
                content.decode("utf-8-sig", "replace"),
                change.commit.time,
                mark=mark,
                past=past,
            )


def _folder(source: CatalogGit) -> str:
    """The source's folder as git names it; all of the repository is no folder."""
    return "/".join(step for step in (source.path or "").split("/") if step not in ("", "."))


def _inside(path: str, folder: str) -> str:
    return path.removeprefix(f"{folder}/") if folder else path


def _is_wanted(path: str, include: Sequence[str] | None) -> bool:
    return path.endswith(ENDINGS) if include is None else matches_any(path, include)


def _short(commit: Commit) -> str:
    return commit.name[:12]
