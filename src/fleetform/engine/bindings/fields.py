"""Fields: values out of the objects of an input, for bindings that refer to them.

What a Secret holds is decoded, and secret from here on (R3-18). Nothing is read across organizations.
"""

from __future__ import annotations

from binascii import Error as NotBase64
from binascii import a2b_base64
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from fleetform.model.kinds import API_VERSION, PLATFORM_NAMESPACE
from fleetform.model.kinds.base import SecretKey
from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.objects import Object
from fleetform.model.results.decisions import ABSENT, Secret, Steps
from fleetform.model.shape import did_you_mean
from fleetform.model.snapshot import Snapshot
from fleetform.syntax.names import api_group
from fleetform.syntax.option_paths import get_in, parse_path

# How many names are compared with one that is not there, and how many letters must be the same if there are more.
_FEW, _HEAD = 100, 4
# What people write into these may be secret, whatever it looks like.
_HOLD_VALUES = frozenset({"PluginPreset", "Plugin", "PluginOverride"})
_NULL = "give it a value"
# A namespace and a kind.
_Kind = tuple[str, str]


class FieldError(ValueError):
    """What is missing, and what there is instead; or, if wrong, what is there and no default makes up for."""

    def __init__(self, message: str, hint: str, wrong: bool = False) -> None:
        super().__init__(message)
        self.message, self.hint, self.wrong = message, hint, wrong


class Reference(NamedTuple):
    """A field of an object, with all variables filled in; namespaces are those it may be in, in order."""

    namespaces: tuple[str, ...]
    api_version: str | None
    kind: str
    namespace: str | None
    name: str
    path: str


class Field(NamedTuple):
    """A value and the object that it was read from."""

    value: object
    object: Object[object]


class Fields:
    """Reads fields of the objects of one snapshot; a field that many clusters ask for is read once."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._objects: dict[_Kind, dict[str, list[Object[object]]]] | None = None
        self._known: dict[Reference | tuple[Object[object], str], Field | FieldError] = {}
        self._names: dict[_Kind, list[str]] = {}
        self._taken: frozenset[str] | None = None

    def read(self, reference: Reference) -> Field:
        found = self._known.get(reference)
        return _field(found) if found is not None else self._remembered(reference, lambda: self._read(reference))

    def of_cluster(self, cluster: Object[ClusterSpec], path: str) -> Field:
        """A field of a cluster's own object."""
        found = self._known.get((cluster, path))
        if found is not None:
            return _field(found)
        return self._remembered((cluster, path), lambda: Field(find_in(tree_of(cluster), path), cluster))

    def _remembered(self, key: Reference | tuple[Object[object], str], read: Callable[[], Field]) -> Field:
        try:
            found: Field | FieldError = read()
        except FieldError as error:
            found = error
        self._known[key] = found
        return _field(found)

    def _read(self, reference: Reference) -> Field:
        """The field; of several objects that differ in their API group only, of the one that has it."""
        objects = self._find(reference)
        found: list[Field] = []
        errors: list[FieldError] = []
        for each in objects:
            try:
                found.append(Field(read_field(each, reference.path), each))
            except FieldError as error:
                errors.append(error)
        if not found:
            raise errors[0]
        if len(found) > 1:
            versions = ", ".join(sorted(api_version_of(each) for each in objects))
            message = f"there are {len(found)} objects {reference.kind} {reference.name}: {versions}"
            raise FieldError(message, "say which with apiVersion")
        return found[0]

    def _find(self, wanted: Reference) -> list[Object[object]]:
        if wanted.namespace is not None and wanted.namespace not in wanted.namespaces:
            # The message is the same whether there is such an object or not (B15).
            message = f"{wanted.kind} {wanted.name} of {wanted.namespace} is out of reach"
            raise FieldError(message, f"refer to objects of {wanted.namespaces[0]}")
        allowed = [each for each in wanted.namespaces if wanted.namespace in (None, each)]
        namespaces = [each for each in allowed if each == wanted.namespaces[-1] or not self._is_taken(each)]
        others: list[Object[object]] = []
        for namespace in namespaces:
            named = self._by_kind().get((namespace, wanted.kind), {}).get(wanted.name, [])
            # Versions of one API group are the same objects.
            group = api_group(wanted.api_version) if wanted.api_version is not None else None
            found = [each for each in named if group is None or api_group(api_version_of(each)) == group]
            if found:
                return found
            others += named
        namespace = namespaces[0] if namespaces else wanted.namespaces[-1]
        if others:
            versions = ", ".join(sorted({api_version_of(each) for each in others}))
            message = f"there is no {wanted.kind} {wanted.name} of {wanted.api_version} in {namespace}"
            raise FieldError(message, f"there is one of {versions}")
        what = f"there is no {wanted.kind} {wanted.name} in {namespace}"
        raise FieldError(what, self._alternatives(wanted, namespace))

    def _is_taken(self, namespace: str) -> bool:
        """Whether a namespace is an organization's; a module of Fleeet reads its own only if it is not (B15)."""
        if self._taken is None:
            kinds = ("organizations", "clusters", "presets", "plugins", "overrides")
            owned = {ref.organization for kind in kinds for ref in getattr(self._snapshot, kind)}
            owned |= {ref.organization for ref, _ in self._snapshot.definitions}
            self._taken = frozenset(owned | {PLATFORM_NAMESPACE})
        return namespace in self._taken

    def _alternatives(self, wanted: Reference, namespace: str) -> str:
        key = (namespace, wanted.kind)
        names = self._names.get(key)
        if names is None:
            names = self._names[key] = sorted(self._by_kind().get(key, {}))
        if names:
            # To compare with all of many names, for each of many clusters, would take longer than all else.
            near = names if len(names) <= _FEW else [each for each in names if each[:_HEAD] == wanted.name[:_HEAD]]
            return did_you_mean(wanted.name, near[:_FEW], f"there are {_listed(names)}")
        kinds = sorted({kind for organization, kind in self._by_kind() if organization == namespace})
        return did_you_mean(wanted.kind, kinds, f"add the {wanted.kind} to the input")

    def _by_kind(self) -> dict[_Kind, dict[str, list[Object[object]]]]:
        if self._objects is None:
            self._objects = {}
            for each in self._snapshot.objects:
                if not each.ref.name:
                    continue
                of_kind = self._objects.setdefault((each.ref.organization, each.ref.kind), {})
                of_kind.setdefault(each.ref.name, []).append(each)
                home = (each.namespace, each.own_name)
                if each.conventions.own_namespace and home != (each.ref.organization, each.ref.name):
                    # What lies beside it refers to it by the name that it has there.
                    beside = self._objects.setdefault((each.namespace, each.ref.kind), {})
                    beside.setdefault(each.own_name, []).append(each)
        return self._objects


def _field(found: Field | FieldError) -> Field:
    if isinstance(found, FieldError):
        # A new one: an error that is raised again and again would keep the traceback of every raise.
        raise FieldError(found.message, found.hint, found.wrong)
    return found


def api_version_of(object_: Object[object]) -> str:
    """The apiVersion that an object was written in."""
    if isinstance(object_.content, dict) and isinstance(object_.content.get("apiVersion"), str):
        return str(object_.content["apiVersion"])
    return API_VERSION


def tree_of(object_: Object[object]) -> dict[str, object]:
    """An object as a tree, in the shape that a reference's path goes through."""
    if isinstance(object_.content, dict):
        return object_.content
    metadata, spec = msgspec.to_builtins(object_.metadata), object_.spec
    spec = msgspec.to_builtins(spec) if spec is not None else {}
    return {"apiVersion": API_VERSION, "kind": object_.ref.kind, "metadata": metadata, "spec": spec}


def read_field(object_: Object[object], path: str) -> object:
    """The value at a path of an object, be it /a/b, a.b or .a.b; FieldError if there is none."""
    tree = tree_of(object_)
    is_secret = object_.ref.kind == "Secret" and not api_group(api_version_of(object_))
    if is_secret:
        tree = _with_string_data(tree)
    try:
        steps, value = _look_up(tree, path)
    except FieldError as error:
        no = "has a null at" if error.hint == _NULL else "has no"
        raise FieldError(f"{object_.ref.kind} {object_.ref.name} {no} {path}", error.hint) from None
    if object_.content is None and object_.ref.kind in _HOLD_VALUES and steps[:1] != ("metadata",):
        return Secret(None, value)
    return _of_secret(object_.ref.name, steps, value) if is_secret else value


def find_in(tree: object, path: str) -> object:
    """The value at a path of a tree; FieldError if there is none."""
    return _look_up(tree, path)[1]


def _look_up(tree: object, path: str) -> tuple[Steps, object]:
    # In a dotted path a key may itself hold dots, as names of files do; a pointer is unambiguous.
    steps = parse_path(path) if path.startswith("/") else _dotted(tree, _parts(path))
    value = get_in(tree, steps) if steps is not None else ABSENT
    if value is None:
        raise FieldError(f"{path} is null", _NULL)
    if steps is None or value is ABSENT:
        raise FieldError(f"there is no {path}", _fields_near(tree, path))
    return steps, value


def _parts(path: str) -> list[str]:
    return [each for each in path.replace("[", ".[").split(".") if each]


def _dotted(tree: object, parts: list[str]) -> Steps | None:
    if not parts:
        return ()
    if isinstance(tree, list):
        number = _index(parts[0])
        if number is None or number >= len(tree):
            return None
        rest = _dotted(tree[number], parts[1:])
        return (number, *rest) if rest is not None else None
    if not isinstance(tree, dict):
        return None
    for length in range(1, len(parts) + 1):
        key = ".".join(parts[:length])
        if key in tree:
            rest = _dotted(tree[key], parts[length:])
            if rest is not None:
                return (key, *rest)
    return None


def _index(part: str) -> int | None:
    number = part.removeprefix("[").removesuffix("]")
    return int(number) if number.isdecimal() else None


def _fields_near(tree: object, path: str) -> str:
    """The fields beside the one that is missing."""
    steps: Sequence[str | int] = parse_path(path) if path.startswith("/") else _parts(path)
    way: list[str] = []
    here = tree
    for step in steps:
        index = _index(step) if isinstance(here, list) and isinstance(step, str) else None
        below = get_in(here, (step if index is None else index,))
        if not isinstance(below, (dict, list)):
            break
        here = below
        way.append(_escaped(step if index is None else index))
    if isinstance(here, list):
        return f"/{'/'.join(way)} has {len(here)} items" if way else ""
    fields = ["/" + "/".join([*way, _escaped(key)]) for key in sorted(here)] if isinstance(here, dict) else []
    return f"it has {_listed(fields)}" if fields else "it is empty"


def _escaped(step: str | int) -> str:
    """A step as a pointer spells it."""
    return str(step).replace("~", "~0").replace("/", "~1")


def _listed(names: list[str]) -> str:
    return f"{', '.join(names[:6])}{', …' if len(names) > 6 else ''}"


# ---- Secrets


def _with_string_data(tree: dict[str, object]) -> dict[str, object]:
    """A Secret's data as an API server would keep it; entries of stringData are marked, as they need no decoding."""
    plain, data = tree.get("stringData"), tree.get("data")
    if not isinstance(plain, dict):
        return tree
    marked = {key: _Plain(each) for key, each in plain.items()}
    return {**tree, "data": {**(data if isinstance(data, dict) else {}), **marked}, "stringData": marked}


class _Plain(NamedTuple):
    """A text of stringData, which needs no decoding."""

    text: object


def _of_secret(name: str, steps: Steps, value: object) -> object:
    """A value in a Secret: its data decoded; annotations are secret too, as kubectl keeps a copy of all data there."""
    if steps and steps[0] in ("data", "stringData"):
        return _decoded(name, steps, value)
    if isinstance(value, dict):
        return {key: _of_secret(name, (*steps, key), each) for key, each in value.items()}
    return Secret(None, value) if steps[:2] == ("metadata", "annotations") else value


def _decoded(name: str, steps: Steps, value: object) -> object:
    if isinstance(value, dict):
        return {key: _decoded(name, (*steps, key), each) for key, each in value.items()}
    key = str(steps[-1])
    if isinstance(value, _Plain):
        return Secret(SecretKey(name, key), str(value.text))
    try:
        return Secret(SecretKey(name, key), decode_base64(value))
    except FieldError as error:
        raise FieldError(f"Secret {name}, key {key}: {error.message}", error.hint, wrong=True) from None


def key_of_secret(path: str) -> str | None:
    """The key of a Secret's data that a path leads to; None if it leads elsewhere."""
    if not path.startswith("/"):
        first, _, key = path.removeprefix(".").partition(".")
    else:
        steps = parse_path(path)
        first, key = (str(steps[0]), str(steps[1])) if len(steps) == 2 else ("", "")
    return key if first == "data" and key else None


def decode_base64(value: object) -> str:
    """The text that is encoded in base64; messages never quote it."""
    if not isinstance(value, str):
        raise FieldError("it is not base64 text", "encode it, or use stringData")
    try:
        content = a2b_base64("".join(value.split()), strict_mode=True)
    except (NotBase64, ValueError):
        raise FieldError("it is not base64 text", "encode it, or use stringData") from None
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise FieldError("its bytes are not text", "keep binary data out of bindings") from None
