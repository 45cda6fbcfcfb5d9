"""What Helm keeps of its releases on a cluster, and how a release is taken out of its hands.

Helm removes and changes what the record of a release names, whoever has it by now. So the record is set aside before
the first object of the release becomes ours: Helm finds records by a label, which is changed, and the rest stays as it
was. Whoever wants the release back gives the record its label again.
"""

from __future__ import annotations

import gzip
import io
import zlib
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from fleetform.clusters.inventory import ObjectRef, ref_of
from fleetform.clusters.ownership import Manifest
from fleetform.model.results.decisions import PluginKey
from fleetform.outside.kubernetes.client import Client
from fleetform.outside.kubernetes.resources import Resource
from fleetform.syntax.yaml_in import YamlDocument, read_stream

NAME, NAMESPACE, MANAGED_BY = (
    "meta.helm.sh/release-name",
    "meta.helm.sh/release-namespace",
    "app.kubernetes.io/managed-by",
)
SET_ASIDE_FOR = "fleetform.dev/set-aside-for"
_HELM, _OURS = "helm", "fleetform"
# Secrets unless somebody chose otherwise. Nobody but Helm can tell what it keeps in a database.
_KINDS = ("Secret", "ConfigMap")
_AT_WORK = ("pending-install", "pending-upgrade", "pending-rollback", "uninstalling")
# Of a larger release it is not told what else it has: a server keeps at most 1 MiB of it, packed.
_MOST = 8 * 1024 * 1024


class Release(NamedTuple):
    """A release of Helm."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"the Helm release {self.namespace}/{self.name}"


class Record(NamedTuple):
    """A revision of a release, as Helm keeps it."""

    resource: Resource
    metadata: Mapping[str, Any]

    @property
    def revision(self) -> int:
        text = str((self.metadata.get("labels") or {}).get("version", ""))
        return int(text) if text.isdecimal() else 0

    @property
    def is_at_work(self) -> bool:
        return (self.metadata.get("labels") or {}).get("status") in _AT_WORK


def release_of(live: Manifest) -> Release | None:
    """The release that an object says it is of."""
    annotations = live["metadata"].get("annotations") or {}
    if not annotations.get(NAME):
        return None
    return Release(annotations.get(NAMESPACE) or live["metadata"].get("namespace", ""), annotations[NAME])


def records(client: Client, release: Release) -> Sequence[Record]:
    """What Helm still knows of a release, the oldest revision first."""
    found = []
    labels = f"owner={_HELM},name={release.name}"
    for kind in _KINDS:
        resource = client.resource("v1", kind)
        listed = client.items(resource, release.namespace, labels=labels, metadata_only=True)
        found += [Record(resource, each["metadata"]) for each in listed]
    return sorted(found, key=lambda each: each.revision)


def set_aside(client: Client, release: Release, key: PluginKey) -> None:
    """Helm no longer knows the release. The newest revision goes last: until then Helm sees what it saw before."""
    for each in records(client, release):
        metadata = {
            "resourceVersion": each.metadata["resourceVersion"],
            "labels": {"owner": _OURS},
            "annotations": {SET_ASIDE_FOR: "/".join(key)},
        }
        client.merge(each.resource, release.namespace, each.metadata["name"], {"metadata": metadata})


def objects_of(client: Client, record: Record) -> Sequence[ObjectRef]:
    """The objects that a revision installed, as they are written in it; none if it cannot be read."""
    whole = client.get(record.resource, record.metadata["namespace"], record.metadata["name"]) or {}
    packed = str((whole.get("data") or {}).get("release", ""))
    try:
        # A Secret's data is encoded once more than what Helm wrote.
        written = b64decode(packed) if record.resource.kind == "Secret" else packed.encode()
        with gzip.open(io.BytesIO(b64decode(written))) as unpacking:
            contents = msgspec.json.decode(unpacking.read(_MOST), type=_Contents)
    except (NotBase64, OSError, EOFError, zlib.error, msgspec.MsgspecError):
        return ()
    documents = [each.tree for each in read_stream(contents.manifest) if isinstance(each, YamlDocument)]
    return [ref_of(each) for each in documents if _is_object(each)]


class _Contents(msgspec.Struct):
    manifest: str = ""


def _is_object(tree: Any) -> bool:
    named = isinstance(tree, dict) and {"apiVersion", "kind"} <= tree.keys() and tree.get("metadata")
    return isinstance(named, dict) and "name" in named
