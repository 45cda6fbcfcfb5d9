"""Fields: values out of the objects of an input, for bindings that refer to them.

What a Secret holds is decoded, and secret from here on (R3-18). Nothing is read across organizations.
"""

from __future__ import annotations

from binascii import Error as NotBase64
from binascii import a2b_base64
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from fleetform.model.kinds import API_VERSION, PLATFORM_NAMESPACE
from fleetform.model.kinds.base import SecretKey
from fleetform.model.objects import Object
from fleetform.model.results.decisions import ABSENT, Secret, Steps
from fleetform.model.shape import did_you_mean
from fleetform.model.snapshot import Snapshot
from fleetform.syntax.names import api_group
from fleetform.syntax.option_paths import get_in, parse_path

# How many names are compared with one that is not there, and how many letters must be the same where there are more.
_FEW, _HEAD = 100, 4
# What people write into these may be secret, whatever it looks like.
_HOLD_VALUES = frozenset({"PluginPreset", "Plugin", "PluginOverride"})


_NULL = "give it a value"


class FieldError(ValueError):
    """What is missing, and what there is instead; or what is there and wrong, for which no default makes up."""

    def __init__(self, message: str, hint: str, wrong: bool = False) -> None:
        super().__init__(message)
        self.message, self.hint, self.wrong = message, hint, wrong


class Reference(NamedTuple):
    """A field of an object, with all that a person writes expanded; homes are the namespaces it may be in, in order."""

    homes: tuple[str, ...]
    api_version: str | None
    kind: str
    namespace: str | None
    name: str
    path: str


class Field(NamedTuple):
    """A value and the object that it was read from."""

    value: Any
    object: Object[Any]


class Fields:
    """Reads fields of the objects of one snapshot; a field that many clusters ask for is read once."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._objects: dict[tuple[str, str], dict[str, list[Object[Any]]]] | None = None
        self._known: dict[Reference | tuple[Object[Any], str], Field | FieldError] = {}
        self._names: dict[tuple[str, str], list[str]] = {}
        self._taken: frozenset[str] | None = None

    def read(self, reference: Reference) -> Field:
        found = self._known.get(reference)
        return _field(found) if found is not None else self._remembered(reference, lambda: self._read(reference))

    def of_cluster(self, cluster: Object[Any], path: str) -> Field:
        """A field of a cluster's own object."""
        found = self._known.get((cluster, path))
        if found is not None:
            return _field(found)
        return self._remembered((cluster, path), lambda: Field(find_in(tree_of(cluster), path), cluster))

    def _remembered(self, key: Reference | tuple[Object[Any], str], read: Callable[[], Field]) -> Field:
        try:
            found: Field | FieldError = read()
        except FieldError as error:
            found = error
        self._known[key] = found
        return _field(found)

    def _read(self, reference: Reference) -> Field:
        """The field; of several objects that only their groups tell apart, the one that has it."""
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
            versions = ", ".join(sorted(version_of(each) for each in objects))
            message = f"there are {len(found)} objects {reference.kind} {reference.name}: {versions}"
            raise FieldError(message, "say which with apiVersion")
        return found[0]

    def _find(self, wanted: Reference) -> list[Object[Any]]:
        if wanted.namespace is not None and wanted.namespace not in wanted.homes:
            # Whether there is such an object is nobody's business here (B15).
            message = f"{wanted.kind} {wanted.name} of {wanted.namespace} is out of reach"
            raise FieldError(message, f"refer to objects of {wanted.homes[0]}")
        homes = [each for each in wanted.homes if wanted.namespace in (None, each) and self._is_open(each, wanted)]
        others: list[Object[Any]] = []
        for home in homes:
            named = self._by_kind().get((home, wanted.kind), {}).get(wanted.name, [])
            found = [each for each in named if _is_of(each, wanted.api_version)]
            if found:
                return found
            others += named
        home = homes[0] if homes else wanted.homes[-1]
        if others:
            versions = ", ".join(sorted({version_of(each) for each in others}))
            message = f"there is no {wanted.kind} {wanted.name} of {wanted.api_version} in {home}"
            raise FieldError(message, f"there is one of {versions}")
        what = f"there is no {wanted.kind} {wanted.name} in {home}"
        raise FieldError(what, self._alternatives(wanted, home))

    def _is_open(self, home: str, wanted: Reference) -> bool:
        """A module's namespace is looked into only where it is nobody else's (B15)."""
        if home == wanted.homes[-1]:
            return True
        if self._taken is None:
            kinds = ("organizations", "clusters", "presets", "plugins", "overrides")
            owned = {ref.organization for kind in kinds for ref in getattr(self._snapshot, kind)}
            owned |= {ref.organization for ref, _ in self._snapshot.definitions}
            self._taken = frozenset(owned | {PLATFORM_NAMESPACE})
        return home not in self._taken

    def _alternatives(self, wanted: Reference, home: str) -> str:
        key = (home, wanted.kind)
        names = self._names.get(key)
        if names is None:
            names = self._names[key] = sorted(self._by_kind().get(key, {}))
        if names:
            # To compare with all of many names, for each of many clusters, would take longer than all else.
            near = names if len(names) <= _FEW else [each for each in names if each[:_HEAD] == wanted.name[:_HEAD]]
            return did_you_mean(wanted.name, near[:_FEW], f"there {_are(names)}")
        kinds = sorted({kind for organization, kind in self._by_kind() if organization == home})
        return did_you_mean(wanted.kind, kinds, f"add the {wanted.kind} to the input")

    def _by_kind(self) -> dict[tuple[str, str], dict[str, list[Object[Any]]]]:
        if self._objects is None:
            self._objects = {}
            for each in self._snapshot.objects:
                if not each.ref.name:
                    continue
                of_kind = self._objects.setdefault((each.ref.organization, each.ref.kind), {})
                of_kind.setdefault(each.ref.name, []).append(each)
        return self._objects


def _field(found: Field | FieldError) -> Field:
    if isinstance(found, FieldError):
        # Anew: one that is raised again and again would keep every place that it passed.
        raise FieldError(found.message, found.hint, found.wrong)
    return found


def version_of(object_: Object[Any]) -> str:
    """The apiVersion that an object was written in."""
    if isinstance(object_.content, dict) and isinstance(object_.content.get("apiVersion"), str):
        return str(object_.content["apiVersion"])
    return API_VERSION


def _is_of(object_: Object[Any], api_version: str | None) -> bool:
    """Whether an object is of a group; versions of one are the same objects."""
    return api_version is None or api_group(version_of(object_)) == api_group(api_version)


def tree_of(object_: Object[Any]) -> dict[str, Any]:
    """An object as a tree, in the shape that a reference's path goes through."""
    if isinstance(object_.content, dict):
        return object_.content
    metadata = msgspec.to_builtins(object_.metadata)
    return {"apiVersion": API_VERSION, "kind": object_.ref.kind, "metadata": metadata, "spec": _builtins(object_.spec)}


def _builtins(spec: Any) -> Any:
    return msgspec.to_builtins(spec) if spec is not None else {}


def read_field(object_: Object[Any], path: str) -> Any:
    """What stands at a path of an object, be it /a/b, a.b or .a.b; FieldError where nothing does."""
    tree = tree_of(object_)
    if object_.ref.kind == "Secret" and not api_group(version_of(object_)):
        tree, secret = _with_string_data(tree), True
    else:
        secret = False
    try:
        steps, value = _look_up(tree, path)
    except FieldError as error:
        no = "has a null at" if error.hint == _NULL else "has no"
        raise FieldError(f"{object_.ref.kind} {object_.ref.name} {no} {path}", error.hint) from None
    if object_.content is None and object_.ref.kind in _HOLD_VALUES and steps[:1] != ("metadata",):
        return Secret(None, value)
    return _of_secret(object_.ref.name, steps, value) if secret else value


def find_in(tree: Any, path: str) -> Any:
    """What stands at a path of a tree; FieldError where nothing does."""
    return _look_up(tree, path)[1]


def _look_up(tree: Any, path: str) -> tuple[Steps, Any]:
    steps = _steps_in(tree, path)
    value = get_in(tree, steps) if steps is not None else ABSENT
    if value is None:
        raise FieldError(f"{path} is null", _NULL)
    if steps is None or value is ABSENT:
        raise FieldError(f"there is no {path}", _fields_near(tree, path))
    return steps, value


def _steps_in(tree: Any, path: str) -> Steps | None:
    """The steps of a path; in a dotted one a key may hold dots itself, as names of files do."""
    if path.startswith("/"):
        return parse_path(path)
    return _dotted(tree, _parts(path))


def _parts(path: str) -> list[str]:
    return [each for each in path.replace("[", ".[").split(".") if each]


def _dotted(tree: Any, parts: list[str]) -> Steps | None:
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


def _fields_near(tree: Any, path: str) -> str:
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
    return f"it {_are(['/' + '/'.join([*way, _escaped(key)]) for key in here], 'has')}" if here else "it is empty"


def _escaped(step: str | int) -> str:
    """A step as a pointer spells it."""
    return str(step).replace("~", "~0").replace("/", "~1")


def _are(names: list[str], verb: str = "are") -> str:
    return f"{verb} {', '.join(names[:6])}{', …' if len(names) > 6 else ''}"


# ---- Secrets


def _with_string_data(tree: dict[str, Any]) -> dict[str, Any]:
    """A Secret's data as an API server would keep it, each entry decoded when it is asked for; plain ones as such."""
    plain = tree.get("stringData")
    if not isinstance(plain, dict):
        return tree
    marked = {key: _Plain(each) for key, each in plain.items()}
    data = tree.get("data") if isinstance(tree.get("data"), dict) else {}
    return {**tree, "data": {**(data or {}), **marked}, "stringData": marked}


class _Plain(NamedTuple):
    """A text of stringData, which needs no decoding."""

    text: Any


def _of_secret(name: str, steps: Steps, value: Any) -> Any:
    """What stands in a Secret: its data decoded; in annotations kubectl keeps a copy of all of it."""
    if steps and steps[0] in ("data", "stringData"):
        return _decoded(name, steps, value)
    if isinstance(value, dict):
        return {key: _of_secret(name, (*steps, key), each) for key, each in value.items()}
    return Secret(None, value) if steps[:2] == ("metadata", "annotations") else value


def _decoded(name: str, steps: Steps, value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _decoded(name, (*steps, key), each) for key, each in value.items()}
    key = str(steps[-1])
    return Secret(SecretKey(name, key), _plain_text(f"Secret {name}", key, value))


def _plain_text(what: str, key: str, value: Any) -> str:
    if isinstance(value, _Plain):
        return value.text if isinstance(value.text, str) else str(value.text)
    try:
        return decode_base64(value)
    except FieldError as error:
        raise FieldError(f"{what}, key {key}: {error.message}", error.hint, wrong=True) from None


def decode_base64(value: Any) -> str:
    """The text that stands in base64; never quoted where it is none."""
    if not isinstance(value, str):
        raise FieldError("it is not base64 text", "encode it, or use stringData")
    try:
        content = a2b_base64("".join(value.split()), strict_mode=True)
    except (NotBase64, ValueError):
        raise FieldError("it is not base64 text", "encode it, or use stringData") from None
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise FieldError("its bytes are no text", "keep binary data out of bindings") from None
