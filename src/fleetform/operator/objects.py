"""The objects of a fleet as an API server has them, followed by watches, and handed out as files.

Kinds of our group are followed always; kinds of other systems where the server has them; Secrets, ConfigMaps and
whatever else objects refer to by name where something does. Of each only what is input is kept, as bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from threading import Event, Lock, Thread
from typing import Any, NamedTuple

import msgspec

from fleetform.app.reading.documents import is_of_one_organization, is_read_by_dialect
from fleetform.dialects.greenhouse.read import MADE_BY
from fleetform.model.answers.base import JsonMap
from fleetform.model.kinds import API_VERSION, DEFAULT_ORGANIZATION, KINDS, PLATFORM_NAMESPACE
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.operator.generated import is_generated, persons_part
from fleetform.operator.references import KindName, Names, referred_kinds, texts_of
from fleetform.operator.versioned import Versioned
from fleetform.outside.errors import OutsideError
from fleetform.outside.kubernetes.client import Client
from fleetform.outside.kubernetes.errors import DeniedError, NoKindError
from fleetform.outside.kubernetes.reflector import ObjectKey, Reflector
from fleetform.outside.kubernetes.resources import Resource
from fleetform.ports.sources import SourceFiles
from fleetform.syntax.trees import as_map

# New kinds of other systems are looked for so often.
_BETWEEN_LOOKS = 30.0
_OUR_GROUP = API_VERSION.partition("/")[0]
_GREENHOUSE = "greenhouse.sap"
_BY_NAME = ("Secret", "ConfigMap")
# What an organization sees of the platform's namespace: what is offered to all, and the ceilings for all.
_OF_PLATFORM = frozenset({"PluginDefinition", "Catalog", "LifecyclePolicy"})
# Only objects with one of these in them can refer to further kinds.
_MARKS = (b'"objectFieldRef"', b'"resource"')
_NOISE = ("managedFields", "resourceVersion", "selfLink")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class Kept(NamedTuple):
    """An object: its key and version, and what of it is input, None where nothing is; as a file, with its name.

    home is its organization, "" if it is everybody's. texts are those in it that may be names of other objects.
    """

    key: ObjectKey
    version: str
    content: bytes | None = None
    name: str = ""
    home: str = ""
    texts: Collection[str] = ()


class Followed(NamedTuple):
    """A kind, in every namespace or in one."""

    resource: Resource
    namespace: str = ""

    def __str__(self) -> str:
        return f"{self.resource.plural} of {self.namespace}" if self.namespace else self.resource.plural


class ApiObjects:
    """Follows objects in threads of its own until it is stopped. changed is told whenever something is another.

    said gets what cannot be followed, and why, in words for a log.
    """

    def __init__(
        self, client: Client, changed: Callable[[], None], said: Callable[[str], None] = lambda _: None
    ) -> None:
        self._client, self._changed, self._said = client, changed, said
        self._lock = Lock()
        self._stop, self._look = Event(), Event()
        self._followed: dict[Followed, Reflector[Kept]] = {}
        self._failing: dict[Followed, OutsideError] = {}
        self._denied: set[Followed] = set()
        self._namespaces: frozenset[str] = frozenset({PLATFORM_NAMESPACE})
        self._referred: frozenset[KindName] = frozenset()
        self._looked = Event()
        self._finder = Thread(target=self._find, name="kinds", daemon=True)

    def start(self) -> None:
        self._finder.start()

    def stop(self) -> None:
        """Watches end by themselves: their threads do not keep the process."""
        self._stop.set()
        self._look.set()

    def look(self) -> None:
        """Look for kinds now."""
        self._look.set()

    def wait(self, seconds: float) -> bool:
        """Whether everything was listed once, within so many seconds."""
        if not self._looked.wait(seconds):
            return False
        return all(each.listed.wait(seconds) for each in self._reflectors().values())

    @property
    def is_whole(self) -> bool:
        """Whether everything that can be read was listed."""
        known = self._reflectors()
        by_name = {each.namespace for each in known}
        listed = all(each.listed.is_set() or what in self._denied for what, each in known.items())
        return self._looked.is_set() and listed and self._namespaces <= by_name

    @property
    def is_alive(self) -> bool:
        """Whether everything that is followed still is."""
        return self._finder.is_alive() and all(each.is_alive for each in self._reflectors().values())

    def restarts(self) -> Mapping[str, int]:
        """How often watches could not go on, by kind."""
        found: Counter[str] = Counter()
        for followed, reflector in self._reflectors().items():
            found[followed.resource.plural] += reflector.restarts
        return found

    def organizations(self) -> frozenset[str]:
        """Those that have objects of a fleet; the platform is one of them if it has."""
        found = {
            each.home
            for (resource, _), reflector in self._reflectors().items()
            if _is_input(resource)
            for each in reflector.objects().values()
        }
        return frozenset(found - {""})

    def files(self, organization: str | None = None) -> SourceFiles:
        """Everything, or what one organization sees. What is not listed yet, or cannot be, is a problem."""
        problems = [] if self._looked.is_set() else [_problem("the kinds of the API server are not known yet")]
        known = self._reflectors()
        read = self._namespaces if organization is None else {organization, PLATFORM_NAMESPACE} & self._namespaces
        new = sorted(read - {each.namespace for each in known})
        problems += [_problem(f"the Secrets of {each} are not known yet") for each in new]
        own: list[Kept] = []
        by_name: list[Kept] = []
        for followed, reflector in known.items():
            resource = followed.resource
            is_read = not followed.namespace or followed.namespace in read
            if is_read and not reflector.listed.is_set() and followed not in self._denied:
                failure = self._failing.get(followed)
                why = f": {failure.message}" if failure is not None else " yet"
                problems.append(_problem(f"{followed} are not known{why}"))
            seen = _homes_seen(organization, resource)
            found = by_name if resource.kind in _BY_NAME else own
            found += [each for each in reflector.objects().values() if seen is None or each.home in seen]
        if by_name:
            names = Names(each.texts for each in own)
            own += [each for each in by_name if names.may_mean(each.key.name)]
        files = {each.name: each.content for each in own if each.content is not None}
        return SourceFiles(dict(sorted(files.items())), problems, separate=True)

    # ---- Following

    def _reflectors(self) -> Mapping[Followed, Reflector[Kept]]:
        with self._lock:
            return dict(self._followed)

    def _find(self) -> None:
        """Looks for kinds, now and then and when objects may refer to others."""
        while not self._stop.is_set():
            self._look.clear()
            try:
                for followed in self._wanted():
                    self._follow(followed)
                self._looked.set()
            except OutsideError as error:
                self._said(f"the kinds of the API server cannot be listed: {error.message}")
            self._look.wait(_BETWEEN_LOOKS if self._looked.is_set() else 1.0)

    def _wanted(self) -> Iterable[Followed]:
        served = self._client.served()
        ours = self._client.kinds(API_VERSION)
        for kind in KINDS.values():
            if kind.written_by_fleetform:
                continue
            if kind.name not in ours:
                raise NoKindError(f"the cluster has no kind {kind.name} of {API_VERSION}: apply the CRDs first")
            yield Followed(ours[kind.name])
        for group, versions in sorted(served.items()):
            if group != _OUR_GROUP and is_read_by_dialect(versions[0], ""):
                yield from (Followed(each) for each in self._kinds(versions) if _is_input(each))
        core = self._client.kinds("v1")
        # In the namespaces of organizations alone: nobody should have to let an operator read all Secrets.
        yield from (Followed(core[kind], namespace) for kind in _BY_NAME for namespace in sorted(self._namespaces))
        for name in sorted(self._referred):
            found = self._found(name, served)
            if found is not None and found.kind not in _BY_NAME:
                yield Followed(found)

    def _kinds(self, versions: Sequence[str]) -> Collection[Resource]:
        """The kinds of a group, each in the first of the versions that has it: they differ in which they have."""
        found: dict[str, Resource] = {}
        for version in versions:
            found = {**self._client.kinds(version), **found}
        return found.values()

    def _found(self, name: KindName, served: Mapping[str, Sequence[str]]) -> Resource | None:
        for each in self._kinds(served.get(name.group, ()) if name.group else ["v1"]):
            if each.kind == name.kind or each.plural == name.plural:
                return each
        return None

    def _follow(self, followed: Followed) -> None:
        with self._lock:
            if followed in self._followed:
                return
            reflector: Reflector[Kept] = Reflector(
                self._client,
                followed.resource,
                lambda each: each.key,
                lambda each: each.version,
                kept=lambda each: self._kept(followed.resource, each),
                content_of=lambda each: each.content,
                is_kept=lambda each: each.content is not None,
                namespace=followed.namespace,
                changed=lambda _: self._has_changed(followed),
                failed=lambda error: self._fails(followed, error),
            )
            reflector.start(self._stop, str(followed))
            self._followed[followed] = reflector

    def _kept(self, resource: Resource, manifest: dict[str, Any]) -> Kept:
        metadata = manifest["metadata"]
        key = ObjectKey(metadata.get("namespace", ""), metadata["name"])
        found, home = _input(resource, manifest), _home(resource, key)
        if home and _is_input(resource) and home not in self._namespaces:
            with self._lock:
                self._namespaces |= {home}
            self._look.set()
        if found is None:
            return Kept(key, metadata["resourceVersion"])
        content = msgspec.json.encode(found, order="deterministic")
        if _is_input(resource) and any(mark in content for mark in _MARKS):
            self._refer_to(referred_kinds([manifest]))
        texts = texts_of(found) if resource.kind not in _BY_NAME else ()
        return Kept(key, metadata["resourceVersion"], content, _file_name(resource, key, found), home, texts)

    def _refer_to(self, kinds: set[KindName]) -> None:
        """Kinds that objects refer to are followed from then on; once nobody does, they cost little."""
        if not kinds <= self._referred:
            with self._lock:
                self._referred |= kinds
            self._look.set()

    def _has_changed(self, followed: Followed) -> None:
        self._failing.pop(followed, None)
        self._denied.discard(followed)
        self._changed()

    def _fails(self, followed: Followed, error: OutsideError) -> None:
        if isinstance(error, DeniedError) and followed.resource.group != _OUR_GROUP:
            if followed not in self._denied:
                # Without it what refers to it cannot be resolved, which is said there.
                self._denied.add(followed)
                self._said(f"{followed} cannot be read: {error.message}; what refers to them cannot be resolved")
        elif followed not in self._failing:
            self._failing[followed] = error
            self._said(f"{followed} cannot be followed: {error.message}")


def _is_input(resource: Resource) -> bool:
    return is_read_by_dialect(resource.api_version, resource.kind) and resource.kind != "List"


def _home(resource: Resource, key: ObjectKey) -> str:
    """The organization of an object; "" if it is everybody's."""
    if is_of_one_organization(resource.api_version):
        return DEFAULT_ORGANIZATION
    # Greenhouse's Organizations have no namespace: they are one.
    return key.name if resource.kind == "Organization" and not key.namespace else key.namespace


def _homes_seen(organization: str | None, resource: Resource) -> frozenset[str] | None:
    """Whose objects of a kind an organization sees (B15); None: all."""
    if organization is None:
        return None
    if organization == DEFAULT_ORGANIZATION and not _is_input(resource) and resource.kind not in _BY_NAME:
        # Configs of Open Cluster Management's add-ons lie in any namespace; nothing else may refer to them there.
        return None
    offered = {PLATFORM_NAMESPACE} if resource.kind in (*_OF_PLATFORM, *_BY_NAME) else set()
    return frozenset({"", organization} | offered)


def _input(resource: Resource, manifest: dict[str, Any]) -> dict[str, Any] | None:
    """What of an object is input: no bookkeeping of the server, and of our own kinds no status."""
    found: dict[str, Any] | None = {"apiVersion": resource.api_version, "kind": resource.kind, **manifest}
    if resource.group == _OUR_GROUP and is_generated(manifest | {"kind": resource.kind}):
        found = persons_part(manifest | {"apiVersion": resource.api_version, "kind": resource.kind})
    if found is None or (resource.kind == "Secret" and not _is_data(manifest)):
        return None
    if resource.group == _OUR_GROUP:
        found.pop("status", None)
    elif resource.kind == "ManagedClusterAddOn":
        # The rest is written by us and by agents, and no input.
        found["status"] = {"supportedConfigs": as_map(found.get("status")).get("supportedConfigs") or []}
    elif resource.group == _GREENHOUSE and resource.kind == "Plugin":
        # Of one that Greenhouse made it tells what runs; all else is written by us and by Greenhouse.
        version = as_map(found.pop("status", None)).get("version")
        if version and MADE_BY in as_map(manifest["metadata"].get("labels")):
            found["status"] = {"version": version}
    metadata = {key: value for key, value in manifest["metadata"].items() if key not in _NOISE}
    annotations = {key: each for key, each in (metadata.pop("annotations", None) or {}).items() if key != _LAST_APPLIED}
    if annotations:
        metadata["annotations"] = annotations
    return {**found, "metadata": metadata}


def _is_data(secret: dict[str, Any]) -> bool:
    """Not what Helm and we ourselves keep in Secrets, which is large and nobody's input."""
    return secret.get("type") not in ("helm.sh/release.v1", "fleetform.dev/store")


def _file_name(resource: Resource, key: ObjectKey, found: JsonMap) -> str:
    """As kubectl would name it; a definition with its version, since several are known side by side."""
    kind = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
    name = f"{key.namespace}/{kind}/{key.name}" if key.namespace else f"{kind}/{key.name}"
    if resource.group == _OUR_GROUP and resource.kind == "PluginDefinition":
        return str(Versioned(name, found["spec"].get("version", "")))
    return name


def _problem(message: str) -> Diagnostic:
    return Diagnostic("cannot-read", message, "look at the API server and at what this account may read")
