"""Brings what a definition renders to this machine, with the digest of its bytes."""

from __future__ import annotations

import os
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from fleetform.app.reading.source_folders import is_local, local_sources
from fleetform.catalogs.artifacts import Artifacts, chart_key, chart_name, folder_files, is_of_this_machine
from fleetform.catalogs.cache import Cache, key_of
from fleetform.catalogs.folders import Contents, digest_of_files, is_from_catalog, read_tree
from fleetform.catalogs.kustomizations import Gathered, gather, has_kustomization
from fleetform.load.sources import git_folder
from fleetform.model.kinds.definition import GitRevision, GitSource, HelmSource, PluginDefinitionSpec
from fleetform.model.objects import Object
from fleetform.outside.errors import OutsideError
from fleetform.outside.git import GitError, NoFolderError
from fleetform.outside.http import UnavailableError, Web
from fleetform.outside.mirrors import Commit, Mirror, git_address, is_path
from fleetform.outside.oci import digest_of
from fleetform.renderers.failures import RenderError
from fleetform.syntax.addresses import shown

if TYPE_CHECKING:
    from fleetform.catalogs.helm import ChartLookup

Definition = Object[PluginDefinitionSpec]

_ONE_OF = "give it source.helm, source.kustomize or source.manifests"


class Source(NamedTuple):
    """What is rendered: the files of a folder by their paths in it, or the path of a chart's archive.

    folder is what people call the folder.
    """

    digest: str
    files: dict[str, bytes]
    archive: str | None = None
    folder: str = ""


class Sources:
    """Brings sources: folders as they are, all else out of the cache, or from where it is.

    fetching asks anew for what can change: branches, and charts of a repository.
    """

    def __init__(self, cache: Cache, fetching: bool, web: Web) -> None:
        self._cache, self._fetching, self._web = cache, fetching, web
        self._artifacts = Artifacts(cache)
        self._lookup: ChartLookup | None = None
        self._lock = Lock()

    def bring(self, definition: Definition) -> Source:
        """What a definition renders. RenderError, OutsideError or OSError where it cannot be had."""
        source = definition.spec.source
        if is_local(definition):
            return _of_folder(definition)
        if source is not None and source.helm is not None:
            return self._chart(definition, source.helm)
        if source is not None and source.kustomize is not None and source.kustomize.git is not None:
            return self._repository(definition, source.kustomize.git)
        raise RenderError(f"{definition.ref.name} {definition.spec.version} has no source", _ONE_OF)

    # ---- Charts

    def _chart(self, definition: Definition, helm: HelmSource) -> Source:
        _check_elsewhere(definition, helm.repository, "source.helm.repository")
        key, name = chart_key(definition, helm), chart_name(helm)
        kept = self._kept(key, name)
        if kept is not None and not self._fetching:
            return kept
        try:
            found = self._charts().find(helm.repository, helm.chart, helm.version)
            source = self._archive(found.digest) or self._keep(found.read(), helm)
        except UnavailableError:
            if kept is None:
                raise
            # A server that is down takes nothing away.
            return kept
        with self._lock:
            self._artifacts.remember(key, name, source.digest)
        return source

    def _kept(self, key: str, name: str) -> Source | None:
        seen = self._cache.charts(key).get(name)
        return self._archive(seen.last) if seen is not None else None

    def _archive(self, digest: str | None) -> Source | None:
        path = self._cache.archive(digest) if digest is not None else None
        return Source(digest, {}, path) if digest is not None and path is not None else None

    def _keep(self, content: bytes, helm: HelmSource) -> Source:
        from fleetform.catalogs.charts import ChartError, read_chart

        try:
            read_chart(content)
        except ChartError as error:
            message = f"{helm.chart} of {shown(helm.repository)} is no chart: {error}"
            raise RenderError(message, "publish it again") from error
        digest = digest_of(content)
        return Source(digest, {}, self._cache.keep_archive(digest, content))

    def _charts(self) -> ChartLookup:
        # Imported where it is needed: what is on this machine needs no network.
        from fleetform.catalogs.helm import ChartLookup

        with self._lock:
            if self._lookup is None:
                self._lookup = ChartLookup(self._web)
            return self._lookup

    # ---- Repositories

    def _repository(self, definition: Definition, git: GitSource) -> Source:
        address = _address(definition, git)
        key = key_of("source", definition.ref.organization, address)
        mirror = Mirror(self._cache.mirror(key), address)
        with self._cache.locked(key):
            commit = self._commit(mirror, git.ref)
            gathered = gather(partial(_read_commit, mirror, commit), _steps(git.path or ""))
        where = f"{shown(address)} at {commit.name[:12]}"
        return _checked(gathered, f"{where}, {git.path}" if git.path else where, is_kustomization=True)

    def _commit(self, mirror: Mirror, ref: GitRevision | None) -> Commit:
        """What a ref stands for; a tag or a commit that is known is not asked for again."""
        moves = ref is None or (ref.tag is None and ref.commit is None)
        try:
            if moves and self._fetching:
                self._update(mirror)
            return mirror.commit(_ref_name(mirror, ref))
        except GitError:
            pass
        except UnavailableError as error:
            try:
                return mirror.commit(_ref_name(mirror, ref))
            except GitError:
                raise error from None
        self._update(mirror)
        return mirror.commit(_ref_name(mirror, ref))

    def _update(self, mirror: Mirror) -> None:
        try:
            mirror.update(None)
        except GitError as error:
            # Whether a repository is not there or not to be reached git does not tell apart.
            raise UnavailableError(error.message, "check the address, the network and your git credentials") from error


def _ref_name(mirror: Mirror, ref: GitRevision | None) -> str:
    from fleetform.catalogs.git import ref_name

    return ref_name(mirror, ref)


def _check_elsewhere(definition: Definition, address: str, field: str) -> None:
    """What others publish reads no file of this machine."""
    if is_from_catalog(definition) and is_of_this_machine(address):
        named = f"{definition.ref.name} {definition.spec.version}"
        message = f"{shown(address)}, which {named} names, is on this machine, and the definition is from a catalog"
        raise RenderError(message, f"give {field} an address that everybody reaches")


def _address(definition: Definition, git: GitSource) -> str:
    _check_elsewhere(definition, git.url, "source.kustomize.git.url")
    if not is_path(git.url):
        return git.url
    if is_from_catalog(definition):
        raise _inside_catalog(definition, git.url, "source.kustomize.git.url the address of a repository")
    place = git_folder(definition.origin.file)
    return git_address(git.url, os.path.dirname(place[1] if place is not None else definition.origin.file))


def _read_commit(mirror: Mirror, commit: Commit, folder: str) -> Contents | None:
    """What a folder holds at a commit."""
    return read_tree(mirror.tree(commit, folder), folder)


def _steps(path: str) -> str:
    """A folder as git names it; all of the repository is no folder."""
    path = os.path.normpath(path.lstrip("/"))
    return "" if path == "." else path


# ---- Folders


def _of_folder(definition: Definition) -> Source:
    path = next(iter(local_sources(definition.spec)))
    source = definition.spec.source
    assert source is not None
    if is_from_catalog(definition):
        other = "the chart a repository" if source.helm is not None else "it a git repository"
        raise _inside_catalog(definition, path, other)
    where = f"the folder {os.path.normpath(path)} beside {definition.origin.file}"
    try:
        gathered = folder_files(definition) or Gathered({})
    except NoFolderError:
        gathered = Gathered({})
    if source.helm is not None and gathered.files and "Chart.yaml" not in gathered.files:
        raise RenderError(f"there is no Chart.yaml in {where}", "name the folder of a chart by repository and chart")
    return _checked(gathered, where, is_kustomization=source.kustomize is not None)


def _checked(gathered: Gathered, where: str, is_kustomization: bool) -> Source:
    digest = digest_of_files(gathered.files)
    if digest is None:
        hint = "check the path, which is relative to the file that names it; what git ignores is not rendered"
        raise RenderError(f"there is nothing in {where}", hint)
    if is_kustomization and not has_kustomization(gathered.files):
        message = f"there is no kustomization.yaml in {where}"
        raise RenderError(message, "add one, or use source.manifests for plain manifests")
    for problem in gathered.problems:
        raise RenderError(*problem)
    return Source(digest, gathered.files, folder=gathered.folder)


def _inside_catalog(definition: Definition, path: str, other: str) -> RenderError:
    message = f"{path}, which {definition.ref.name} {definition.spec.version} names, is a path inside the catalog"
    return RenderError(message, f"give {other}")


def failed_source(error: Exception, definition: Definition) -> RenderError:
    """Why a source could not be had."""
    if isinstance(error, RenderError):
        return error
    if isinstance(error, OutsideError):
        hint = "definitions hold no logins: use a repository that anybody may read" if "secretRef" in error.hint else ""
        return RenderError(error.message, hint or error.hint, isinstance(error, UnavailableError))
    reason = (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error)
    return RenderError(f"the source of {definition.ref.name} cannot be read: {reason}", "check its permissions")
