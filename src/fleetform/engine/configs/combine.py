"""Configs: which of the objects that three places name count for a plugin, and what they hash to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import structs

from fleetform.engine.configs.references import may_use
from fleetform.model.kinds.definition import ConfigMode, SupportedConfig
from fleetform.model.objects import Object, Ref
from fleetform.model.results.configs import (
    NO_CONFIGS,
    ConfigReference,
    Configs,
    HiddenConfig,
    HiddenReason,
    Identity,
)
from fleetform.syntax.hashing import spec_hash
from fleetform.syntax.names import api_group

Type = tuple[str, str]
UNKNOWN_HASH = "unknown"


class ConfigIndex:
    """The objects of an input that can be configs, by identity; each is hashed once."""

    def __init__(self, others: Mapping[Ref, Object[Any]], before: ConfigIndex | None = None) -> None:
        self._objects: dict[Identity, Object[Any]] = {}
        foreign = [each for each in others.values() if each.foreign_version is not None]
        plurals = dict(_declared_plurals(foreign))
        for each in foreign:
            for identity in _identities(each, plurals):
                self._objects.setdefault(identity, each)
        known: dict[Object[Any], str] = before._hashes if before is not None else {}
        self._hashes: dict[Object[Any], str] = {each: known[each] for each in self._objects.values() if each in known}

    def find(self, identity: Identity) -> Object[Any] | None:
        return self._objects.get(identity)

    def hash(self, config: Object[Any] | None) -> str:
        """What a config hashes to: nothing where there is none, and no content of a secret shows (B18)."""
        if config is None:
            return ""
        if config.ref.kind == "Secret":
            return UNKNOWN_HASH
        if config not in self._hashes:
            self._hashes[config] = spec_hash(config.content)
        return self._hashes[config]

    def changed_since(self, before: ConfigIndex) -> set[Identity]:
        """The configs that came, went or are other objects now."""
        names = self._objects.keys() | before._objects.keys()
        return {name for name in names if self._objects.get(name) is not before._objects.get(name)}


def _declared_plurals(objects: Iterable[Object[Any]]) -> Iterable[tuple[tuple[str, str], str]]:
    """Plurals of kinds, as the definitions of custom resources in the input say."""
    for each in objects:
        spec = each.content.get("spec") if each.ref.kind == "CustomResourceDefinition" else None
        names = spec.get("names") if isinstance(spec, dict) else None
        if isinstance(spec, dict) and isinstance(names, dict):
            yield (str(spec.get("group")), str(names.get("kind"))), str(names.get("plural"))


def _identities(object_: Object[Any], plurals: Mapping[tuple[str, str], str]) -> Iterator[Identity]:
    """What an object is found by. Without a namespace it lies in its organization, or on the cluster's own level."""
    tree = object_.content
    metadata = tree.get("metadata") if isinstance(tree, dict) else None
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        return
    group = api_group(object_.foreign_version or "")
    resource = plurals.get((group, object_.ref.kind)) or plural_of(object_.ref.kind)
    namespace = metadata.get("namespace")
    for each in (namespace,) if isinstance(namespace, str) else (object_.ref.organization, ""):
        yield group, resource, each, metadata["name"]


def plural_of(kind: str) -> str:
    """The resource of a kind, as Kubernetes names most of them (S31)."""
    lower = kind.lower()
    if lower.endswith("y") and lower[-2:-1] not in ("a", "e", "i", "o", "u"):
        return f"{lower[:-1]}ies"
    return f"{lower}es" if lower.endswith(("s", "x", "z", "ch", "sh")) else f"{lower}s"


# ---- Which count


def of_preset(
    preset: Sequence[ConfigReference], groups: Sequence[Sequence[ConfigReference]], mode: ConfigMode
) -> tuple[list[ConfigReference], list[HiddenConfig]]:
    """Place 2: of several groups that name a type the last counts, over the preset, or beside it in Merge mode.

    Their index is the position in what preset and matching groups say, one after the other.
    """
    lists = _numbered([preset, *groups])
    last = {each.type: number for number, group in enumerate(lists) if number for each in group}
    counting: list[ConfigReference] = []
    over: list[ConfigReference] = []
    for number, group in enumerate(lists):
        for each in group:
            counts = last.get(each.type, 0) == number or (number == 0 and mode == "Merge")
            (counting if counts else over).append(each)
    return counting, [HiddenConfig(each, "replaced") for each in over]


def _numbered(lists: Sequence[Sequence[ConfigReference]]) -> list[list[ConfigReference]]:
    numbered: list[list[ConfigReference]] = []
    first = 0
    for each in lists:
        numbered.append([structs.replace(one, index=first + index) for index, one in enumerate(each)])
        first += len(each)
    return numbered


def combine(
    mode: ConfigMode,
    supported: Sequence[SupportedConfig],
    references: Iterable[ConfigReference],
    index: ConfigIndex,
    hidden_before: Iterable[HiddenConfig] = (),
) -> Configs:
    """The configs that count, listed as the mode lists them; the others, with the reason."""
    types = {(each.group, each.resource): each for each in supported}
    hidden = list(hidden_before)
    known = []
    for each in sorted(references, key=lambda reference: reference.fold):
        if each.type in types:
            known.append(each)
        else:
            hidden.append(HiddenConfig(each, "not-supported"))
    merged = {type_ for type_, each in types.items() if each.merge_fields}
    counting = _counting(mode, known, merged)
    kept = _once([each for each in known if each in counting])
    hidden += [HiddenConfig(each, _why(each, counting)) for each in known if each not in kept]
    if not kept and not hidden:
        return NO_CONFIGS
    listed = sorted(kept, key=lambda each: (-each.place, -each.index)) if mode == "Merge" else _by_type(kept)
    return Configs(mode, tuple(_found(each, index) for each in listed), tuple(hidden))


def _counting(mode: ConfigMode, known: Sequence[ConfigReference], merged: set[Type]) -> frozenset[ConfigReference]:
    """Those that no later place takes the place of."""
    if mode == "Merge":
        return frozenset(known)
    last_place = max((each.place for each in known), default=0)
    places: dict[Type, int] = {}
    for each in known:
        places[each.type] = max(places.get(each.type, 0), each.place)
    if mode == "Override":
        return frozenset(each for each in known if each.place == last_place)
    return frozenset(each for each in known if each.type in merged or each.place == places[each.type])


def _once(references: Sequence[ConfigReference]) -> list[ConfigReference]:
    """Each object once: as the latest place says, and there the first time (R1-9)."""
    kept: dict[Identity, ConfigReference] = {}
    for each in references:
        known = kept.get(each.identity)
        if known is None or known.place < each.place:
            kept[each.identity] = each
    return [each for each in references if kept[each.identity] is each]


def _why(reference: ConfigReference, counting: frozenset[ConfigReference]) -> HiddenReason:
    return "duplicate" if reference in counting else "replaced"


def _by_type(references: Sequence[ConfigReference]) -> list[ConfigReference]:
    return sorted(references, key=lambda each: (each.type, each.fold))


def _found(reference: ConfigReference, index: ConfigIndex) -> ConfigReference:
    config = index.find(reference.identity) if may_use(reference.object, reference.identity) else None
    return structs.replace(reference, config=config, spec_hash=index.hash(config))
