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

# There everything goes into this namespace, unless it names another itself.
TARGET_NAMESPACE = "default"
# What Fleeet's own schema fills in.
_WHOLE_REPOSITORY = "."


class Content(NamedTuple):
    """What a sync holds: the definition it is, where the parts of that stand, and its kustomization."""

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
        """Flux replaces every ${…} of what it substitutes in, declared or not."""
        return Substitution(only="All") if self.kustomize.substitute is not None else None


def content_of(sync: Sync | NamedSync, manifest: Manifest, path: Path) -> Content | None:
    """The content of the sync at a path; None where nobody says which version it is."""
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
    definition = PluginDefinitionSpec(version_of(given), source=Source(kustomize=KustomizeSource(git=source)))
    return Content(definition, _moved(path, "tag" if given.tag else "revision"), kustomize)


def version_of(given: GitVersion) -> str:
    """The version that a point of a git history is: stable, and another one for each.

    A tag that is a semantic version is that version, be it v1.2 or 1.2.0; what follows its + makes no other version,
    so it is read as what follows a -. Any other tag is 0.0.0-tag.<tag>, and a revision 0.0.0-rev.<revision>. Where Git
    allows what a version does not, a hash stands in its place.
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


def _moved(path: Path, named: str) -> tuple[Pair, ...]:
    git: Path = ("spec", "source", "kustomize", "git")
    theirs: Path = (*path, "source", "git")
    version: Path = (*theirs, "version", named)
    return (
        (("spec", "version"), version),
        ((*git, "ref", "tag"), version),
        ((*git, "ref", "commit"), version),
        ((*git, "ref"), (*theirs, "version")),
        ((*git, "path"), (*path, "package", "kustomize", "path")),
        (git, theirs),
        (("spec", "source"), (*path, "source")),
        (("spec",), path),
    )
