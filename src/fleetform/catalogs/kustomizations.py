"""All that a kustomization is made of: its own folder, and those beside it that it builds upon."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from fleetform.catalogs.folders import Contents, Link, LinkError, is_below
from fleetform.syntax.addresses import shown
from fleetform.syntax.yaml_in import YamlError, read_stream

NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")

# What may name other folders; all that is named elsewhere must lie below the kustomization's own one.
_FOLDERS = frozenset({"resources", "bases", "components", "generators", "transformers", "validators"})
_PLUGINS = frozenset({"generators", "transformers", "validators"})
# Of a map: every way in which it names what kustomize then reads.
_MADE_FROM = (("files",), ("envs",), ("env",))
_CHART = (("repo",), ("valuesFile",), ("additionalValuesFiles",), ("chartRepoUrl",), ("values",))
_LOADED = (
    *((field,) for field in sorted(_FOLDERS)),
    *(("configurations",), ("crds",), ("openapi", "path"), ("helmGlobals", "chartHome")),
    *(("patches",), ("patches", "path"), ("patchesStrategicMerge",), ("patchesJson6902", "path")),
    ("replacements", "path"),
    *((field, *steps) for field in ("configMapGenerator", "secretGenerator") for steps in _MADE_FROM),
    *((field, *steps) for field in ("helmCharts", "helmChartInflationGenerator") for steps in _CHART),
)
_LOADED_BY_PLUGIN = (("path",), ("paths",), ("replacements", "path"), *_MADE_FROM, *_CHART)
_ADDRESS = re.compile(r"\s*(?:[a-z][a-z0-9+.-]*:(?://|:)|https?:|gh:|[\w.-]+@[\w.-]+:)", re.IGNORECASE)

Read = Callable[[str], Contents | None]


class Problem(NamedTuple):
    """What keeps a kustomization from being built, and what to do."""

    message: str
    hint: str


class Gathered(NamedTuple):
    """Files by their paths from a folder (../base/a.yaml), what is wrong with them, and what people call the folder."""

    files: dict[str, bytes]
    problems: tuple[Problem, ...] = ()
    folder: str = ""


class _Load(NamedTuple):
    """What a field of a kustomization says is to be read."""

    field: str
    text: str

    @property
    def kind(self) -> str:
        return re.split(r"[.\[]", self.field, maxsplit=1)[0].casefold()

    @property
    def path(self) -> str:
        """The path alone: files may be given names."""
        return self.text.rpartition("=")[2] if ".files" in self.field.casefold() else self.text

    @property
    def is_text(self) -> bool:
        """Whether it is the object itself."""
        return "\n" in self.text or self.text.lstrip().startswith("{")

    @property
    def is_address(self) -> bool:
        return any(_ADDRESS.match(each) for each in (self.text, self.path))


def gather(read: Read, start: str) -> Gathered:
    """Everything that the kustomization at a place is built from; read gives what the folder at a place holds."""
    gathering = _Gathering(read, start)
    gathering.follow()
    # What a link leads to may be a kustomization that names more.
    while gathering.settle():
        gathering.follow()
    return gathering.result()


def has_kustomization(files: Mapping[str, bytes]) -> bool:
    return _file_in(files, ".") is not None


class _Gathering:
    """Paths are those from the kustomization's folder; places are where folders really are."""

    def __init__(self, read: Read, start: str) -> None:
        self._read = read
        self._files: dict[str, bytes] = {}
        self._folders: dict[str, str] = {}
        self._links: dict[str, Link] = {}
        self._linked: set[str] = set()
        self._submodules: set[str] = set()
        self._problems: list[Problem] = []
        self._loaded: set[str] = set()
        self._place = start
        self._fetch(".")
        self._place = self._folders.get(".", start)

    def result(self) -> Gathered:
        for name, link in sorted(self._links.items()):
            raise LinkError(name, link)
        return Gathered(dict(sorted(self._files.items())), tuple(sorted(set(self._problems))))

    # ---- What kustomizations name

    def follow(self) -> None:
        """Bring all that is named, from the first kustomization on."""
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
            for load in self._loads(file):
                plugins = plugins or load.kind in _PLUGINS
                if self._is_good(file, folder, load):
                    todo.append(_joined(folder, load.path))
        for file in sorted(self._loaded) if plugins else ():
            self._check_plugins(file, self._files.get(file, b"").decode("utf-8-sig", "replace"))

    def _loads(self, file: str) -> Iterator[_Load]:
        try:
            text = self._files[file].decode("utf-8-sig")
        except UnicodeDecodeError:
            self._problem(f"{file} is not UTF-8", "save it as UTF-8")
            return
        for document in read_stream(text):
            # kustomize reads more than we do, such as a field twice; what it makes of that nobody here can tell.
            if isinstance(document, YamlError):
                self._problem(f"{file}:{document.line}: {document.message}", document.hint or "check the file")
            else:
                yield from _found(document.tree, _LOADED)

    def _is_good(self, file: str, folder: str, load: _Load) -> bool:
        """Whether something is there that can be gone into; what is wrong with it is told."""
        if load.is_address:
            self._address(file, load)
            return False
        if load.is_text:
            self._check_plugins(file, load.text)
            return False
        target = _joined(folder, load.path)
        for module in self._submodules:
            if is_below(target, module):
                message = f"{file} names {load.path}, and {module} is a submodule, which is not fetched"
                self._problem(message, "commit its files to the repository itself")
                return False
        self._loaded.add(target)
        return load.kind in _FOLDERS and self._is_there(file, folder, load.text, target)

    def _is_there(self, file: str, folder: str, reference: str, target: str) -> bool:
        links = [each for each in self._linked if is_below(folder, each) and not _is_in(target, each)]
        if links:
            # Tools go on from where the folder really is, which is not beside the link.
            message = f"{file} names {reference}, which leads out of {links[0]}, which is a link"
            self._problem(message, "name the folder that it leads to")
            return False
        if target in self._files or self._bring(target):
            return True
        hint = "name files below the kustomization, or folders of the same repository: rendering fetches nothing"
        self._problem(f"{file} names {reference}, which is not there", hint)
        return False

    def _check_plugins(self, file: str, text: str) -> None:
        """The settings of kustomize's own plugins name files as kustomizations do."""
        for document in read_stream(text):
            if isinstance(document, YamlError):
                if "builtin" in text:
                    self._problem(f"{file}:{document.line}: {document.message}", document.hint or "check the file")
                continue
            if isinstance(document.tree, dict) and document.tree.get("apiVersion") == "builtin":
                for load in _found(document.tree, _LOADED_BY_PLUGIN):
                    if load.is_address:
                        self._address(file, load)

    def _address(self, file: str, load: _Load) -> None:
        message = f"{file}: {load.field} is an address, {shown(load.path.strip())}"
        self._problem(message, "rendering fetches nothing: bring it into the folder, and name it by its path")

    def _problem(self, message: str, hint: str) -> None:
        self._problems.append(Problem(message, hint))

    # ---- Folders and links

    def _bring(self, target: str) -> bool:
        """Whether there is a folder at the target; its files are brought if nobody did yet."""
        behind_link = any(is_below(target, link) for link in self._links)
        if not os.path.isabs(target) and (behind_link or not any(_is_in(target, each) for each in self._folders)):
            self._fetch(target)
        return target in self._folders or any(name.startswith(f"{target}/") for name in self._files)

    def _fetch(self, target: str) -> None:
        place = os.path.normpath(os.path.join(self._place, target))
        place = "" if place == "." else place
        # What is above the root of a repository is in none.
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

    def settle(self) -> bool:
        """Whether links were found to lead into folders that were brought, of which they then hold the files."""
        return sum(self._settle(name, link) for name, link in sorted(self._links.items())) > 0

    def _settle(self, name: str, link: Link) -> bool:
        for folder, place in self._folders.items():
            if link.place is None or not is_below(link.place, place):
                continue
            target = _joined(folder, os.path.relpath(link.place, place or "."))
            # A folder in which links still wait is not complete.
            if any(_is_in(other, target) for other in self._links):
                continue
            found = [each for each in self._files if _is_in(each, target)]
            if found:
                # What is found by its own name is a file; else the link leads to the folder of all of them.
                self._linked.update([name] if found != [target] else [])
                cut = len(target) if target != "." else -1
                self._files.update({f"{name}{f'/{each}'[cut + 1 :]}": self._files[each] for each in found})
                del self._links[name]
                return True
        return False


def _found(tree: Any, fields: tuple[tuple[str, ...], ...]) -> Iterator[_Load]:
    for steps in fields:
        yield from _at(tree, steps, "")


def _at(tree: Any, steps: tuple[str, ...], field: str) -> Iterator[_Load]:
    """What stands at a field, whatever lists are on the way. Go takes names of fields in any case."""
    if isinstance(tree, list):
        for index, each in enumerate(tree):
            yield from _at(each, steps, f"{field}[{index}]")
    elif isinstance(tree, dict) and steps:
        for name, value in tree.items():
            if isinstance(name, str) and name.casefold() == steps[0].casefold():
                yield from _at(value, steps[1:], f"{field}.{name}" if field else name)
    elif isinstance(tree, str) and not steps:
        yield _Load(field, tree)


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
