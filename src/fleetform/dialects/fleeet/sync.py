"""A sync of Fleeet: a kustomization at a point of a git history, which is a definition of one version."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from fleetform.dialects.fleeet.kinds import GitVersion, Kustomize, NamedSync, Sync
from fleetform.dialects.manifest import Manifest
from fleetform.dialects.native.spellings import Pair
from fleetform.model.kinds.definition import GitRevision, GitSource, KustomizeSource, PluginDefinitionSpec, Source
from fleetform.model.kinds.preset import Substitution
from fleetform.model.objects import Path
from fleetform.syntax.versions import VersionError, parse_version

# Fleeet puts everything into this namespace, unless an object names another itself.
TARGET_NAMESPACE = "default"
# What Fleeet's own schema fills in.
_WHOLE_REPOSITORY = "."


class SyncContent(NamedTuple):
    """A sync as a definition, with the paths of its parts in the manifest; and its kustomization."""

    definition: PluginDefinitionSpec
    moved: tuple[Pair, ...]
    kustomize: Kustomize

    @property
    def version(self) -> str:
        return self.definition.version

    @property
    def version_at(self) -> Path:
        return dict(self.moved)["spec", "version"]

    @property
    def substitution(self) -> Substitution | None:
        """Flux replaces every ${…}, declared or not, once something is substituted."""
        return Substitution(only="All") if self.kustomize.substitute is not None else None


def sync_content(sync: Sync | NamedSync, manifest: Manifest, path: Path) -> SyncContent | None:
    """The content of the sync at a path; None if it names no version."""
    git, at = sync.source.git, (*path, "source", "git", "version")
    given = git.version
    if not given.tag and not given.revision:
        message = "the version names neither a tag nor a revision"
        manifest.error("missing-field", message, "add tag or revision", *at)
        return None
    if given.tag and given.revision:
        message = "a tag and a revision are given; the tag counts"
        manifest.warn("exactly-one", message, "keep one of them", *at, "revision")
    kustomize = sync.package.kustomize if sync.package is not None else Kustomize()
    ref = GitRevision(tag=given.tag) if given.tag else GitRevision(commit=given.revision)
    source = GitSource(git.url, ref, kustomize.path or _WHOLE_REPOSITORY)
    definition = PluginDefinitionSpec(version_of_git(given), source=Source(kustomize=KustomizeSource(git=source)))
    native: Path = ("spec", "source", "kustomize", "git")
    theirs: Path = (*path, "source", "git")
    version: Path = (*at, "tag" if given.tag else "revision")
    moved: tuple[Pair, ...] = (
        (("spec", "version"), version),
        ((*native, "ref", "tag"), version),
        ((*native, "ref", "commit"), version),
        ((*native, "ref"), at),
        ((*native, "path"), (*path, "package", "kustomize", "path")),
        (native, theirs),
        (("spec", "source"), (*path, "source")),
        (("spec",), path),
    )
    return SyncContent(definition, moved, kustomize)


def version_of_git(given: GitVersion) -> str:
    """The version of a point of a git history: always the same, and a different one for each point.

    A tag that is a semantic version is that version, be it v1.2 or 1.2.0; versions that differ behind a + only are
    equal, so the + is read as a -. Every other tag is 0.0.0-tag.<tag>, and a revision 0.0.0-rev.<revision>; if that is
    not a version, it has a hash in place of the name.
    """
    if not given.tag:
        return _pre_release("rev", given.revision or "")
    try:
        version = parse_version(given.tag)
        return str(parse_version(given.tag.replace("+", "." if version.prerelease else "-")))
    except VersionError:
        return _pre_release("tag", given.tag)


def _pre_release(kind: str, text: str) -> str:
    try:
        if "+" not in text:
            return str(parse_version(f"0.0.0-{kind}.{text}"))
    except VersionError:
        pass
    return f"0.0.0-{kind}.sha256-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
