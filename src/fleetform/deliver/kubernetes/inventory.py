"""What a plugin may have on a cluster: a ConfigMap in its release's namespace, in parts of at most 1,000 references.

Before anything is applied it holds what was there and what is to come; afterwards what is there. Whenever delivery ends
in between, nothing that it made is unknown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from fleetform.deliver.kubernetes.ownership import Manifest, is_ours, label_of, marked
from fleetform.model.results.decisions import PluginKey
from fleetform.outside.kubernetes.client import Client
from fleetform.outside.kubernetes.errors import ConflictError

_PART = 1000
_KIND = "fleetform.dev/inventory"


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


class Inventory:
    """The inventory of one plugin on one cluster; versions tell which version each kind was applied in."""

    def __init__(self, client: Client, key: PluginKey, namespace: str) -> None:
        self._client, self._key, self._namespace = client, key, namespace
        self._maps = client.resource("v1", "ConfigMap")

    def read(self) -> dict[ObjectRef, str]:
        """References with the apiVersion that each was applied in."""
        found: dict[ObjectRef, str] = {}
        for part in self._parts():
            for line in (part.get("data") or {}).get("objects", "").splitlines():
                version, kind, namespace, name = line.split("|")
                found[ObjectRef(version.rpartition("/")[0], kind, namespace, name)] = version
        return found

    def write(self, references: Mapping[ObjectRef, str]) -> None:
        """Stores what may be there; parts that are not needed go, and so does an empty inventory."""
        lines = sorted(f"{version}|{ref.kind}|{ref.namespace}|{ref.name}" for ref, version in references.items())
        parts = [lines[start : start + _PART] for start in range(0, len(lines), _PART)]
        wanted = {self._name(number): "\n".join(part) for number, part in enumerate(parts)}
        there = {part["metadata"]["name"]: part for part in self._parts()}
        for name, text in wanted.items():
            if (there.get(name, {}).get("data") or {}).get("objects") != text:
                self._client.apply(self._part(name, text), force=True)
        for name in sorted(there.keys() - wanted.keys()):
            self._client.delete(self._maps, self._namespace, name, uid=there[name]["metadata"]["uid"])

    def _parts(self) -> list[Manifest]:
        """By name and not by label alone: others can label what they like."""
        found: list[Manifest] = []
        while (part := self._client.get(self._maps, self._namespace, self._name(len(found)))) is not None:
            if not is_ours(part, self._key):
                name = part["metadata"]["name"]
                raise ConflictError(f"ConfigMap {self._namespace}/{name} is there already, and not from Fleetform")
            found.append(part)
        return found

    def _name(self, number: int) -> str:
        return f"fleetform-{label_of(self._key)}-{number}"

    def _part(self, name: str, text: str) -> Manifest:
        metadata = {"name": name, "namespace": self._namespace, "labels": {_KIND: "true"}}
        return marked(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"objects": text}}, self._key
        )


def union(before: Mapping[ObjectRef, str], after: Iterable[Manifest]) -> dict[ObjectRef, str]:
    return {**before, **{ref_of(each): each["apiVersion"] for each in after}}


def without(references: Mapping[ObjectRef, str], gone: Collection[ObjectRef]) -> dict[ObjectRef, str]:
    return {ref: version for ref, version in references.items() if ref not in gone}
