"""Obtains the artifact that a definition renders: from a folder, a chart repository, a registry or git."""

from __future__ import annotations

import os
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from fleetform.app.reading.source_folders import is_local, joined, local_sources
from fleetform.artifacts.digests import ArtifactDigests, chart_key, chart_name, folder_files, is_of_this_machine
from fleetform.artifacts.folder_contents import FolderContents, digest_of_files, is_from_catalog, read_tree
from fleetform.artifacts.kustomizations import SourceFiles, collect, has_kustomization
from fleetform.artifacts.store import ArtifactStore, cache_key
from fleetform.load.inputs import git_folder
from fleetform.model.kinds.definition import GitRevision, GitSource, HelmSource, PluginDefinitionSpec
from fleetform.model.objects import Object
from fleetform.outside.boundary import EVERYWHERE, HINT, Boundary, BoundaryError
from fleetform.outside.errors import OutsideError
from fleetform.outside.git import GitError, NoFolderError
from fleetform.outside.http import UnavailableError, Web
from fleetform.outside.mirrors import Commit, Mirror, git_address, is_path, ref_name
from fleetform.outside.oci import digest_of
from fleetform.syntax.addresses import shown

if TYPE_CHECKING:
    from fleetform.artifacts.chart_repositories import ChartLookup

Definition = Object[PluginDefinitionSpec]


class ArtifactError(OutsideError):
    """Why a definition's source cannot be rendered as it is."""


class Artifact(NamedTuple):
    """What is rendered: the files of a folder by their paths in it, or the path of a chart's archive.

    folder is the folder's name in messages.
    """

    digest: str
    files: dict[str, bytes]
    archive: str | None = None
    folder: str = ""


class Artifacts:
    """Obtains artifacts: folders as they are now, everything else from the store, or from where it is published.

    fetching asks again for what can change: branches, and charts of a repository.
    """

    def __init__(self, store: ArtifactStore, fetching: bool, web: Web, boundary: Boundary = EVERYWHERE) -> None:
        self._store, self._fetching, self._web, self._boundary = store, fetching, web, boundary
        self._digests = ArtifactDigests(store, boundary)
        self._lookup: ChartLookup | None = None
        self._lock = Lock()

    def obtain(self, definition: Definition) -> Artifact:
        """The artifact of a definition. OutsideError or OSError if it cannot be obtained."""
        source = definition.spec.source
        if is_local(definition):
            return _from_folder(definition, self._boundary)
        if source is not None and source.helm is not None:
            return self._from_chart_repository(definition, source.helm)
        if source is not None and source.kustomize is not None and source.kustomize.git is not None:
            return self._from_git(definition, source.kustomize.git)
        message = f"{definition.ref.name} {definition.spec.version} has no source"
        raise ArtifactError(message, "give it source.helm, source.kustomize or source.manifests")

    # ---- Charts

    def _from_chart_repository(self, definition: Definition, helm: HelmSource) -> Artifact:
        _refuse_this_machine(definition, helm.repository, "source.helm.repository", self._boundary)
        key, name = chart_key(definition, helm), chart_name(helm)
        seen = self._store.charts(key).get(name)
        kept = self._kept_archive(seen.last) if seen is not None else None
        if kept is not None and not self._fetching:
            return kept
        self._refuse_fetching(f"{helm.chart} of {shown(helm.repository)}")
        try:
            found = self._chart_lookup().find(helm.repository, helm.chart, helm.version)
            artifact = self._kept_archive(found.digest) or self._keep(found.read(), helm)
        except UnavailableError:
            if kept is None:
                raise
            # A server that is down does not take away what was fetched before.
            return kept
        with self._lock:
            self._digests.remember(key, name, artifact.digest)
        return artifact

    def _kept_archive(self, digest: str | None) -> Artifact | None:
        path = self._store.archive(digest) if digest is not None else None
        return Artifact(digest, {}, path) if digest is not None and path is not None else None

    def _keep(self, content: bytes, helm: HelmSource) -> Artifact:
        from fleetform.artifacts.charts import ChartError, read_chart

        try:
            read_chart(content)
        except ChartError as error:
            message = f"{helm.chart} of {shown(helm.repository)} is not a chart: {error}"
            raise ArtifactError(message, "publish it again") from error
        digest = digest_of(content)
        return Artifact(digest, {}, self._store.keep_archive(digest, content))

    def _chart_lookup(self) -> ChartLookup:
        # Imported here: what is on this machine needs no network, and start-up time counts.
        from fleetform.artifacts.chart_repositories import ChartLookup

        with self._lock:
            if self._lookup is None:
                self._lookup = ChartLookup(self._web)
            return self._lookup

    # ---- Git repositories

    def _from_git(self, definition: Definition, git: GitSource) -> Artifact:
        address = _git_address(definition, git, self._boundary)
        key = cache_key("source", definition.ref.organization, address)
        mirror = Mirror(self._store.mirror(key), address)
        # The folder as git names it: the whole repository is "".
        folder = os.path.normpath((git.path or "").lstrip("/"))
        with self._store.locked(key):
            commit = self._commit(mirror, git.ref)

            def read(place: str) -> FolderContents | None:
                return read_tree(mirror.tree(commit, place), place)

            files = collect(read, "" if folder == "." else folder)
        where = f"{shown(address)} at {commit.name[:12]}"
        return _checked(files, f"{where}, {git.path}" if git.path else where, is_kustomization=True)

    def _commit(self, mirror: Mirror, ref: GitRevision | None) -> Commit:
        """The commit of a ref. Tags and commits that are in the copy are not asked for again: they do not move."""
        moves = ref is None or (ref.tag is None and ref.commit is None)
        try:
            if moves and self._fetching:
                _update(mirror)
            return mirror.commit(ref_name(mirror, ref))
        except GitError:
            pass
        except UnavailableError as error:
            try:
                return mirror.commit(ref_name(mirror, ref))
            except GitError:
                raise error from None
        self._refuse_fetching("a commit of its repository")
        _update(mirror)
        return mirror.commit(ref_name(mirror, ref))

    def _refuse_fetching(self, what: str) -> None:
        if not self._boundary.fetches:
            raise UnavailableError(f"{what} is not in the cache", HINT)


def _update(mirror: Mirror) -> None:
    try:
        mirror.update(None)
    except GitError as error:
        # Git does not tell a repository that does not exist from one that cannot be reached.
        raise UnavailableError(error.message, "check the address, the network and your git credentials") from error


def _refuse_this_machine(definition: Definition, address: str, field: str, boundary: Boundary) -> None:
    """A definition that others publish must not make us read files of this machine."""
    if boundary != EVERYWHERE and boundary.fetches and is_of_this_machine(address):
        raise BoundaryError(shown(address), boundary)
    if is_from_catalog(definition) and is_of_this_machine(address):
        named = f"{definition.ref.name} {definition.spec.version}"
        message = f"{shown(address)}, which {named} names, is on this machine, and the definition is from a catalog"
        raise ArtifactError(message, f"give {field} an address that everybody reaches")


def _git_address(definition: Definition, git: GitSource, boundary: Boundary) -> str:
    _refuse_this_machine(definition, git.url, "source.kustomize.git.url", boundary)
    if is_path(git.url) and boundary.fetches and not boundary.holds(git.url):
        raise BoundaryError(git.url, boundary)
    if not is_path(git.url):
        return git.url
    if is_from_catalog(definition):
        raise _inside_catalog(definition, git.url, "source.kustomize.git.url the address of a repository")
    place = git_folder(definition.origin.file)
    return git_address(git.url, os.path.dirname(place[1] if place is not None else definition.origin.file))


# ---- Folders


def _from_folder(definition: Definition, boundary: Boundary) -> Artifact:
    path = next(iter(local_sources(definition.spec)))
    source = definition.spec.source
    assert source is not None
    if is_from_catalog(definition):
        other = "the chart a repository" if source.helm is not None else "it a git repository"
        raise _inside_catalog(definition, path, other)
    where = f"the folder {os.path.normpath(path)} beside {definition.origin.file}"
    if boundary.means and not boundary.holds(joined(definition, path)):
        # As it is written: what it is relative to is a name that the operator made.
        raise BoundaryError(path, boundary)
    try:
        found = folder_files(definition, boundary) or SourceFiles({})
    except NoFolderError:
        found = SourceFiles({})
    if source.helm is not None and found.files and "Chart.yaml" not in found.files:
        raise ArtifactError(f"there is no Chart.yaml in {where}", "name the folder of a chart by repository and chart")
    return _checked(found, where, is_kustomization=source.kustomize is not None)


def _checked(found: SourceFiles, where: str, is_kustomization: bool) -> Artifact:
    digest = digest_of_files(found.files)
    if digest is None:
        hint = "check the path, which is relative to the file that names it; what git ignores is not rendered"
        raise ArtifactError(f"there is nothing in {where}", hint)
    if is_kustomization and not has_kustomization(found.files):
        message = f"there is no kustomization.yaml in {where}"
        raise ArtifactError(message, "add one, or use source.manifests for plain manifests")
    for problem in found.problems:
        raise ArtifactError(*problem)
    return Artifact(digest, found.files, folder=found.folder)


def _inside_catalog(definition: Definition, path: str, other: str) -> ArtifactError:
    message = f"{path}, which {definition.ref.name} {definition.spec.version} names, is a path inside the catalog"
    return ArtifactError(message, f"give {other}")
