"""The files that a kustomization is built from: its own folder, and those beside it that it refers to."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from fleetform.artifacts.folder_contents import FolderContents, LinkError, UnusableLink, is_below
from fleetform.syntax.addresses import shown
from fleetform.syntax.yaml_in import YamlError, read_stream

NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")

# Fields that may name other folders; what any other field names must be below the kustomization's own folder.
_FOLDERS = frozenset({"resources", "bases", "components", "generators", "transformers", "validators"})
_PLUGINS = frozenset({"generators", "transformers", "validators"})
# The fields of generators, charts and kustomizations that name something which kustomize then reads.
_MADE_FROM = (("files",), ("envs",), ("env",))
_CHART = (("repo",), ("valuesFile",), ("additionalValuesFiles",), ("chartRepoUrl",), ("values",))
_REFERRING = (
    *((field,) for field in sorted(_FOLDERS)),
    *(("configurations",), ("crds",), ("openapi", "path"), ("helmGlobals", "chartHome")),
    *(("patches",), ("patches", "path"), ("patchesStrategicMerge",), ("patchesJson6902", "path")),
    ("replacements", "path"),
    *((field, *steps) for field in ("configMapGenerator", "secretGenerator") for steps in _MADE_FROM),
    *((field, *steps) for field in ("helmCharts", "helmChartInflationGenerator") for steps in _CHART),
)
_REFERRING_BY_PLUGIN = (("path",), ("paths",), ("replacements", "path"), *_MADE_FROM, *_CHART)
_ADDRESS = re.compile(r"\s*(?:[a-z][a-z0-9+.-]*:(?://|:)|https?:|gh:|[\w.-]+@[\w.-]+:)", re.IGNORECASE)

ReadFolder = Callable[[str], FolderContents | None]


class KustomizationProblem(NamedTuple):
    """Why a kustomization cannot be built, and what to do."""

    message: str
    hint: str


class SourceFiles(NamedTuple):
    """Files by their paths from a folder (../base/a.yaml), what is wrong with them, the folder's name in messages."""

    files: dict[str, bytes]
    problems: tuple[KustomizationProblem, ...] = ()
    folder: str = ""


class _Reference(NamedTuple):
    """Something that a field of a kustomization has kustomize read: a path, an address, or an object as text."""

    field: str
    text: str

    @property
    def kind(self) -> str:
        return re.split(r"[.\[]", self.field, maxsplit=1)[0].casefold()

    @property
    def path(self) -> str:
        """The path alone: generators may give files other names (`name=path`)."""
        return self.text.rpartition("=")[2] if ".files" in self.field.casefold() else self.text

    @property
    def is_text(self) -> bool:
        """Whether it is an object rather than a path to one."""
        return "\n" in self.text or self.text.lstrip().startswith("{")

    @property
    def is_address(self) -> bool:
        return any(_ADDRESS.match(each) for each in (self.text, self.path))


def collect(read: ReadFolder, start: str) -> SourceFiles:
    """All files that the kustomization at a place is built from; read gives the contents of the folder at a place."""
    collector = _Collector(read, start)
    collector.follow_references()
    # The target of a link may be a kustomization that refers to more.
    while collector.resolve_links():
        collector.follow_references()
    return collector.result()


def has_kustomization(files: Mapping[str, bytes]) -> bool:
    return _file_in(files, ".") is not None


class _Collector:
    """Paths are those from the kustomization's folder; places are where folders really are."""

    def __init__(self, read: ReadFolder, start: str) -> None:
        self._read = read
        self._files: dict[str, bytes] = {}
        self._folders: dict[str, str] = {}
        self._links: dict[str, UnusableLink] = {}
        self._linked: set[str] = set()
        self._submodules: set[str] = set()
        self._problems: list[KustomizationProblem] = []
        self._referenced: set[str] = set()
        self._place = start
        self._read_folder(".")
        self._place = self._folders.get(".", start)

    def result(self) -> SourceFiles:
        for name, link in sorted(self._links.items()):
            raise LinkError(name, link)
        return SourceFiles(dict(sorted(self._files.items())), tuple(sorted(set(self._problems))))

    # ---- References

    def follow_references(self) -> None:
        """Read all that is referred to, from the first kustomization on."""
        self._problems.clear()
        todo, seen, plugins = ["."], set[str](), False
        while todo:
            folder = todo.pop()
            if folder in seen:
                continue
            seen.add(folder)
            file = _file_in(self._files, folder)
            if file is None:
                continue
            for reference in self._references(file):
                plugins = plugins or reference.kind in _PLUGINS
                if self._leads_on(file, folder, reference):
                    todo.append(_joined(folder, reference.path))
        for file in sorted(self._referenced) if plugins else ():
            self._check_plugins(file, self._files.get(file, b"").decode("utf-8-sig", "replace"))

    def _references(self, file: str) -> Iterator[_Reference]:
        try:
            text = self._files[file].decode("utf-8-sig")
        except UnicodeDecodeError:
            self._problem(f"{file} is not UTF-8", "save it as UTF-8")
            return
        for document in read_stream(text):
            # kustomize accepts more than we do, such as a field twice; what it would read then is unknown here.
            if isinstance(document, YamlError):
                self._problem(f"{file}:{document.line}: {document.message}", document.hint or "check the file")
            else:
                yield from _references_in(document.tree, _REFERRING)

    def _leads_on(self, file: str, folder: str, reference: _Reference) -> bool:
        """Whether a reference leads to a folder or file that may refer to more; problems are noted."""
        if reference.is_address:
            self._address(file, reference)
            return False
        if reference.is_text:
            self._check_plugins(file, reference.text)
            return False
        target = _joined(folder, reference.path)
        for module in self._submodules:
            if is_below(target, module):
                message = f"{file} names {reference.path}, and {module} is a submodule, which is not fetched"
                self._problem(message, "commit its files to the repository itself")
                return False
        self._referenced.add(target)
        return reference.kind in _FOLDERS and self._exists(file, folder, reference.text, target)

    def _exists(self, file: str, folder: str, text: str, target: str) -> bool:
        links = [each for each in self._linked if is_below(folder, each) and not _is_in(target, each)]
        if links:
            # Tools resolve paths from the real folder, which is not beside the link.
            message = f"{file} names {text}, which leads out of {links[0]}, which is a link"
            self._problem(message, "name the folder that the link leads to")
            return False
        if target in self._files or self._read_target(target):
            return True
        hint = "name files below the kustomization, or folders of the same repository: rendering fetches nothing"
        self._problem(f"{file} names {text}, which does not exist", hint)
        return False

    def _check_plugins(self, file: str, text: str) -> None:
        """The settings of kustomize's built-in plugins refer to files as kustomizations do."""
        for document in read_stream(text):
            if isinstance(document, YamlError):
                if "builtin" in text:
                    self._problem(f"{file}:{document.line}: {document.message}", document.hint or "check the file")
                continue
            if isinstance(document.tree, dict) and document.tree.get("apiVersion") == "builtin":
                for reference in _references_in(document.tree, _REFERRING_BY_PLUGIN):
                    if reference.is_address:
                        self._address(file, reference)

    def _address(self, file: str, reference: _Reference) -> None:
        message = f"{file}: {reference.field} is an address, {shown(reference.path.strip())}"
        self._problem(message, "rendering fetches nothing: put the file into the folder, and name it by its path")

    def _problem(self, message: str, hint: str) -> None:
        self._problems.append(KustomizationProblem(message, hint))

    # ---- Folders and links

    def _read_target(self, target: str) -> bool:
        """Whether there is a folder at the target; its files are read if they were not yet."""
        below_link = any(is_below(target, link) for link in self._links)
        if not os.path.isabs(target) and (below_link or not any(_is_in(target, each) for each in self._folders)):
            self._read_folder(target)
        return target in self._folders or any(name.startswith(f"{target}/") for name in self._files)

    def _read_folder(self, target: str) -> None:
        place = os.path.normpath(os.path.join(self._place, target))
        place = "" if place == "." else place
        # Nothing is above the root of a repository.
        found = self._read(place) if place.split("/")[0] != ".." else None
        if found is None or (not found.files and not found.links and not found.submodules):
            return
        self._folders[target] = found.place
        self._links.pop(target, None)
        self._files.update({_joined(target, name): content for name, content in found.files.items()})
        self._links.update({_joined(target, name): link for name, link in found.links.items()})
        self._linked.update(_joined(target, name) for name in found.linked)
        self._submodules.update(_joined(target, name) for name in found.submodules)
        if target != "." and found.place != place:
            self._linked.add(target)

    def resolve_links(self) -> bool:
        """Whether some links turned out to lead into folders that were read since; their files are added."""
        return sum(self._resolve_link(name, link) for name, link in sorted(self._links.items())) > 0

    def _resolve_link(self, name: str, link: UnusableLink) -> bool:
        for folder, place in self._folders.items():
            if link.place is None or not is_below(link.place, place):
                continue
            target = _joined(folder, os.path.relpath(link.place, place or "."))
            # A folder with unresolved links in it is not complete yet.
            if any(_is_in(other, target) for other in self._links):
                continue
            found = [each for each in self._files if _is_in(each, target)]
            if found:
                # One file of exactly that name: the link is to a file. Otherwise it is to the folder of all of them.
                self._linked.update([name] if found != [target] else [])
                cut = len(target) if target != "." else -1
                self._files.update({f"{name}{f'/{each}'[cut + 1 :]}": self._files[each] for each in found})
                del self._links[name]
                return True
        return False


def _references_in(tree: object, fields: tuple[tuple[str, ...], ...]) -> Iterator[_Reference]:
    for steps in fields:
        yield from _at(tree, steps, "")


def _at(tree: object, steps: tuple[str, ...], field: str) -> Iterator[_Reference]:
    """The texts at a field, through lists on the way. Go accepts field names in any case."""
    if isinstance(tree, list):
        for index, each in enumerate(tree):
            yield from _at(each, steps, f"{field}[{index}]")
    elif isinstance(tree, dict) and steps:
        for name, value in tree.items():
            if isinstance(name, str) and name.casefold() == steps[0].casefold():
                yield from _at(value, steps[1:], f"{field}.{name}" if field else name)
    elif isinstance(tree, str) and not steps:
        yield _Reference(field, tree)


def _file_in(files: Mapping[str, bytes], folder: str) -> str | None:
    return next((path for name in NAMES if (path := _joined(folder, name)) in files), None)


def _joined(folder: str, name: str) -> str:
    return os.path.normpath(os.path.join(folder, name))


def _is_in(path: str, folder: str) -> bool:
    """Whether a path is a folder, or below it; both are paths from the kustomization's folder."""
    if path == folder:
        return True
    inside = path if folder == "." else path[len(folder) + 1 :] if path.startswith(f"{folder}/") else ".."
    return inside.split("/")[0] not in ("..", "")
