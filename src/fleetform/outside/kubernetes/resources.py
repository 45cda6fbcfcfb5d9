"""Kinds and the addresses of their objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import quote

import msgspec
from msgspec import Struct


class Resource(NamedTuple):
    """A kind as an API server serves it; has_status: its objects have a status, which only controllers write."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    has_status: bool = False

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Where its objects are; without a name, where they are listed."""
        parts = [_root(self.api_version)]
        if self.namespaced and namespace:
            parts.append(f"namespaces/{quote(namespace, safe='')}")
        parts.append(self.plural)
        if name:
            parts.append(quote(name, safe=""))
        if subresource:
            parts.append(subresource)
        return "/".join(parts)


class _Listed(Struct):
    name: str
    kind: str
    namespaced: bool


class _ResourceList(Struct):
    resources: list[_Listed] = []


_resources = msgspec.json.Decoder(_ResourceList)


def discovery_path(api_version: str) -> str:
    """Where a server lists the kinds of a group and version."""
    return _root(api_version)


def discovered(api_version: str, body: bytes) -> Mapping[str, Resource]:
    """The kinds that a server lists, by name; subresources are none."""
    group, _, version = api_version.rpartition("/")
    listed = _resources.decode(body).resources
    names = {each.name for each in listed}
    return {
        each.kind: Resource(group, version, each.name, each.kind, each.namespaced, f"{each.name}/status" in names)
        for each in listed
        if "/" not in each.name
    }


def _root(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


class _GroupVersion(Struct, rename="camel"):
    group_version: str


class _Group(Struct, rename="camel"):
    name: str
    versions: list[_GroupVersion]


class _GroupList(Struct):
    groups: list[_Group] = []


_groups = msgspec.json.Decoder(_GroupList)


def groups(body: bytes) -> Mapping[str, Sequence[str]]:
    """The groups that a server lists at `/apis`, each with its versions, the one that it prefers first."""
    return {each.name: [one.group_version for one in each.versions] for each in _groups.decode(body).groups}
