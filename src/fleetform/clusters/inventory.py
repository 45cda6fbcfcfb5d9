"""What a plugin may have on a cluster: a ConfigMap in its release's namespace, in parts of at most 500 references.

Before anything is applied it holds what was there and what is to come; afterwards what is there. Whenever delivery ends
in between, nothing that it made is unknown. It also holds which state was applied whole, and which fields were ours
right after that: what others changed since is found by comparing, without a request for each object.
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct, structs

from fleetform.clusters.fields import FieldSet
from fleetform.clusters.ownership import PLUGIN, Manifest, is_ours, label_of, marked
from fleetform.model.results.decisions import PluginKey
from fleetform.outside.kubernetes.client import Client
from fleetform.outside.kubernetes.errors import ConflictError, DeniedError
from fleetform.syntax.times import parse_time

_PART = 500
# What servers take in one ConfigMap is 1 MiB. Fields of a plugin beyond this are not kept, and not looked at for drift.
_MOST_FIELDS = 700_000
KIND = "fleetform.dev/inventory"
_JOB, _TIME_TO_LIVE = ("batch", "Job"), "f:ttlSecondsAfterFinished"
_ENDS = "ends="
_LONGEST_LIFE = 10 * 365 * 24 * 3600
_fields = msgspec.json.Decoder(list[tuple[str, str, str, str, dict[str, Any]]])


class ObjectRef(NamedTuple):
    """An object by what does not change when its kind gets another version."""

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        where = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind} {where}{self.name}"


def ref_of(manifest: Mapping[str, Any]) -> ObjectRef:
    group = manifest["apiVersion"].rpartition("/")[0]
    metadata = manifest["metadata"]
    return ObjectRef(group, manifest["kind"], metadata.get("namespace", ""), metadata["name"])


class Entry(NamedTuple):
    """The apiVersion that an object was applied in; hook: it runs once, and is neither judged nor corrected.

    ends is of a Job with a time to live: before then it cannot have been removed by that.
    """

    version: str
    hook: bool = False
    ends: datetime | None = None


class Known(Struct, frozen=True):
    """What is known of a plugin on a cluster: its objects, and the fields of each that were ours after the apply.

    applied is the digest of the last state that was applied whole, applying that of one that may be there in part, and
    hooked that of one whose hooks ran before it.
    """

    objects: Mapping[ObjectRef, Entry] = {}
    fields: Mapping[ObjectRef, FieldSet] = {}
    applied: str = ""
    applying: str = ""
    hooked: str = ""

    def may_be_over(self, ref: ObjectRef, now: datetime) -> bool:
        """Whether an object that is gone may be a Job that ended and was removed by its time to live.

        Nobody can tell that from one that was deleted by hand after its earliest end; before that it was no time to
        live. Inventories of earlier releases do not have that moment: there the field alone says so.
        """
        entry = self.objects.get(ref)
        if entry is None or (ref.group, ref.kind) != _JOB:
            return False
        if entry.ends is not None:
            return entry.ends <= now
        return _TIME_TO_LIVE in (self.fields.get(ref, {}).get("f:spec") or {})

    def with_coming(self, objects: Mapping[ObjectRef, Entry], digest: str) -> Known:
        """With a state that is about to be applied."""
        return structs.replace(self, objects={**self.objects, **objects}, applying=digest)


class Inventory:
    """The inventory of one plugin on one cluster."""

    def __init__(self, client: Client, key: PluginKey, namespace: str) -> None:
        self._client, self._key, self._namespace = client, key, namespace
        self._maps = client.resource("v1", "ConfigMap")
        self._there: dict[tuple[str, str], Manifest] | None = None

    def read(self) -> Known:
        self._there = {_place(each): each for each in self._parts()}
        return known_from(self._there.values())

    def write(self, known: Known) -> None:
        """Stores what may be there; parts that are not needed go, and so does an empty inventory.

        Parts in another namespace, where the release was before, are no longer needed once they stand here.
        """
        there = self._there if self._there is not None else {_place(each): each for each in self._parts()}
        wanted = {_place(each): each for each in self._made(known)}
        for place, part in wanted.items():
            if place not in there:
                self._refuse_foreign(place[1])
            if place not in there or _content(there[place]) != _content(part):
                there[place] = self._client.apply(part, force=True)
        for place in sorted(there.keys() - wanted.keys()):
            part = there.pop(place)
            self._client.delete(self._maps, *place, uid=part["metadata"]["uid"])
        self._there = there

    def _parts(self) -> list[Manifest]:
        """In whichever namespace, as far as we may look: a release may have been in another one before."""
        labels = f"{KIND}=true,{PLUGIN}={label_of(self._key)}"
        try:
            found = list(self._client.items(self._maps, labels=labels))
        except DeniedError:
            found = list(self._client.items(self._maps, self._namespace, labels=labels))
        # By name and not by label alone: others can label what they like.
        ours = [each for each in found if each["metadata"]["name"].startswith(_name_of(self._key, ""))]
        return sorted(ours, key=_place)

    def _refuse_foreign(self, name: str) -> None:
        there = self._client.get(self._maps, self._namespace, name)
        if there is not None and not is_ours(there, self._key):
            raise ConflictError(f"ConfigMap {self._namespace}/{name} is there already, and not from Fleetform")

    def _made(self, known: Known) -> Iterable[Manifest]:
        refs = sorted(known.objects)
        if not refs:
            return
        packed = _packed({ref: known.fields[ref] for ref in refs if ref in known.fields})
        for number, start in enumerate(range(0, len(refs), _PART)):
            lines = [_line(ref, known.objects[ref]) for ref in refs[start : start + _PART]]
            data = {"objects": "\n".join(lines)}
            binary = {}
            if number == 0:
                states = {"applied": known.applied, "applying": known.applying, "hooked": known.hooked}
                data |= {name: digest for name, digest in states.items() if digest}
                binary = {"fields": packed} if packed else {}
            metadata = {
                "name": _name_of(self._key, str(number)),
                "namespace": self._namespace,
                "labels": {KIND: "true"},
            }
            part: Manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
            if binary:
                part["binaryData"] = binary
            yield marked(part, self._key)


def known_from(parts: Iterable[Manifest]) -> Known:
    """What the parts of an inventory say together."""
    known = Known()
    for part in parts:
        data = part.get("data") or {}
        objects = {**known.objects, **dict(_entry(line) for line in data.get("objects", "").splitlines())}
        fields = {**known.fields, **_unpacked((part.get("binaryData") or {}).get("fields", ""))}
        states = {name: data[name] for name in ("applied", "applying", "hooked") if name in data}
        known = structs.replace(known, objects=objects, fields=fields, **states)
    return known


def _place(part: Manifest) -> tuple[str, str]:
    return part["metadata"]["namespace"], part["metadata"]["name"]


def _content(part: Manifest) -> object:
    return part.get("data"), part.get("binaryData")


def _name_of(key: PluginKey, number: str) -> str:
    return f"fleetform-{label_of(key)}-{number}"


def _line(ref: ObjectRef, entry: Entry) -> str:
    more = ["hook"] if entry.hook else []
    more += [f"{_ENDS}{entry.ends:%Y-%m-%dT%H:%M:%SZ}"] if entry.ends is not None else []
    return "|".join([entry.version, ref.kind, ref.namespace, ref.name, *more])


def _entry(line: str) -> tuple[ObjectRef, Entry]:
    version, kind, namespace, name, *more = line.split("|")
    ends = next((_time(each.removeprefix(_ENDS)) for each in more if each.startswith(_ENDS)), None)
    return ObjectRef(version.rpartition("/")[0], kind, namespace, name), Entry(version, "hook" in more, ends)


def _time(text: str) -> datetime | None:
    try:
        return parse_time(text)
    except ValueError:
        return None


def earliest_end(live: Mapping[str, Any]) -> datetime | None:
    """When a Job that is on a cluster may be removed by its time to live at the earliest; None if it has none."""
    group, kind = live["apiVersion"].rpartition("/")[0], live["kind"]
    seconds = (live.get("spec") or {}).get("ttlSecondsAfterFinished") if (group, kind) == _JOB else None
    made = _time(str(live["metadata"].get("creationTimestamp", "")))
    if seconds is None or made is None:
        return None
    # Longer than anybody looks, and than dates go.
    return made + timedelta(seconds=min(seconds, _LONGEST_LIFE))


def _packed(fields: Mapping[ObjectRef, FieldSet]) -> str:
    """Small: they repeat themselves a lot."""
    if not fields:
        return ""
    written = msgspec.json.encode([[*ref, each] for ref, each in fields.items()])
    found = b64encode(zlib.compress(written, 9)).decode()
    return found if len(found) <= _MOST_FIELDS else ""


def _unpacked(text: str) -> dict[ObjectRef, FieldSet]:
    """Nothing of what cannot be read: drift is then not found, and the next apply writes it anew."""
    if not text:
        return {}
    try:
        listed = msgspec.json.decode(
            zlib.decompress(b64decode(text)), type=list[tuple[str, str, str, str, dict[str, Any]]]
        )
    except (NotBase64, zlib.error, msgspec.MsgspecError):
        return {}
    return {ObjectRef(*ref): fields for *ref, fields in listed}
