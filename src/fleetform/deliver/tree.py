"""Which files a plugin's folder gets, which of its files go, and which are not ours. Pure: others carry it out."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

import msgspec
from msgspec import Struct

from fleetform.model.results.decisions import PluginKey
from fleetform.ports.delivery import Failure, Parcel

# No ending: tools that read every .yaml and .json file below a folder leave it alone.
INVENTORY = ".fleetform-inventory"
_PLAIN = re.compile(r"[a-z0-9]([-a-z0-9._]{0,198}[a-z0-9])?")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class Inventory(Struct, frozen=True, rename="camel"):
    """What was delivered into a folder: the files by name with their hashes, and whose they are.

    While a delivery is under way it names old and new files alike, so that none is ever left behind unknown.
    """

    organization: str
    cluster: str
    plugin: str
    files: dict[str, str] = {}
    input_hash: str = ""
    digest: str = ""
    version: str | None = None

    @property
    def key(self) -> PluginKey:
        return self.organization, self.cluster, self.plugin

    def text(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self, order="deterministic"), indent=1) + b"\n"


class Edits(NamedTuple):
    """What is to be done in a folder, in this order: announce, write, remove, then the inventory as it is to be."""

    announced: Inventory
    write: Mapping[str, bytes]
    remove: Collection[str]
    inventory: Inventory


def folder_of(key: PluginKey) -> str:
    """`<cluster>/<plugin>`. A name that cannot be a folder, or may differ from another by case alone, bears a hash."""
    return f"{_step(key[1])}/{_step(key[2])}"


def _step(name: str) -> str:
    if _PLAIN.fullmatch(name):
        return name
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{_UNSAFE.sub('-', name).strip('.-').lower()[:180]}-{mark}"


def file_hash(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


def read_inventory(content: bytes | None) -> Inventory | None:
    """None if there is none; ValueError if it cannot be read or names files elsewhere."""
    if content is None:
        return None
    try:
        inventory = msgspec.json.decode(content, type=Inventory)
    except msgspec.DecodeError as error:
        raise ValueError(f"{INVENTORY} cannot be read") from error
    if any(not is_file_name(name) for name in inventory.files):
        raise ValueError(f"{INVENTORY} names a file outside its folder")
    return inventory


def is_file_name(name: str) -> bool:
    """A name of a file in this very folder."""
    return bool(name) and not name.startswith(".") and "/" not in name and "\\" not in name and "\0" not in name


def edits(parcel: Parcel, inventory: Inventory | None, present: Mapping[str, str | None]) -> Edits | Failure:
    """present are the names in the folder with the hashes of files; None for what is no plain file."""
    owned = inventory.files if inventory is not None else {}
    folder = folder_of(parcel.key)
    if inventory is not None and inventory.key != parcel.key:
        other = "/".join(inventory.key)
        hint = "give each organization a path of its own in delivery.directory or delivery.git"
        return Failure(f"{folder} holds what was delivered for {other}", hint, refused=True)
    wanted = {name: file_hash(content) for name, content in parcel.files.items()}
    bad = sorted(name for name in wanted if not is_file_name(name))
    if bad:
        return Failure(f"{bad[0]} cannot be the name of a file", "this is a bug in Fleetform", refused=True)
    by_case = {name.lower(): name for name in (*present, *owned)}
    for name in sorted(wanted):
        there = by_case.get(name.lower(), name)
        if (name in present and name not in owned) or (there != name and there not in owned):
            hint = "move it away: Fleetform replaces no file that it did not deliver"
            return Failure(f"{folder}/{there} is there already, and not from Fleetform", hint, refused=True)
        if name in present and present[name] is None:
            hint = "remove it: nothing is written through links or over folders"
            return Failure(f"{folder}/{name} is a link or no plain file", hint, refused=True)
    after = Inventory(*parcel.key, wanted, parcel.input_hash, parcel.digest, parcel.version)
    union = {**owned, **wanted}
    return Edits(
        msgspec.structs.replace(after, files=union, digest="") if union != owned else inventory or after,
        {name: parcel.files[name] for name in sorted(wanted) if present.get(name) != wanted[name]},
        sorted(name for name in owned if name not in wanted and name in present and present[name] is not None),
        after,
    )
