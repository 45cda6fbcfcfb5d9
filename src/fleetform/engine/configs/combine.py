"""Configs: which of the objects that three places name count for a plugin, and what they hash to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import structs

from fleetform.engine.configs.references import may_use
from fleetform.model.kinds.definition import ConfigMode, SupportedConfig
from fleetform.model.objects import Object, Ref
from fleetform.model.results.configs import (
    NO_CONFIGS,
    ConfigReference,
    Configs,
    HiddenConfig,
    Identity,
)
from fleetform.syntax.hashing import spec_hash
from fleetform.syntax.names import api_group

Type = tuple[str, str]
UNKNOWN_HASH = "unknown"


class ConfigIndex:
    """The objects of an input that can be configs, by identity; each is hashed once."""

    def __init__(self, others: Mapping[Ref, Object[object]], before: ConfigIndex | None = None) -> None:
        self._objects: dict[Identity, Object[object]] = {}
        foreign = [each for each in others.values() if each.foreign_version is not None]
        # Plurals as the definitions of custom resources in the input give them, by group and kind.
        plurals: dict[tuple[str, str], str] = {}
        for each in foreign:
            spec = each.content.get("spec") if each.ref.kind == "CustomResourceDefinition" else None
            names = spec.get("names") if isinstance(spec, dict) else None
            if isinstance(spec, dict) and isinstance(names, dict):
                plurals[str(spec.get("group")), str(names.get("kind"))] = str(names.get("plural"))
        for each in foreign:
            metadata = each.content.get("metadata") if isinstance(each.content, dict) else None
            if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
                continue
            group, namespace = api_group(each.foreign_version or ""), metadata.get("namespace")
            resource = plurals.get((group, each.ref.kind)) or plural_of(each.ref.kind)
            # Without a namespace it is found in its organization, and among objects that have none.
            for home in (namespace,) if isinstance(namespace, str) else (each.ref.organization, ""):
                self._objects.setdefault((group, resource, home, metadata["name"]), each)
        known: dict[Object[object], str] = before._hashes if before is not None else {}
        self._hashes: dict[Object[object], str] = {
            each: known[each] for each in self._objects.values() if each in known
        }

    def find(self, identity: Identity) -> Object[object] | None:
        return self._objects.get(identity)

    def hash(self, config: Object[object] | None) -> str:
        """The hash of a config's content; empty if there is no object, and never made of a secret (B18)."""
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

    Their index is the position in the configs of the preset and of the matching groups, one after the other.
    """
    lists: list[list[ConfigReference]] = []
    first = 0
    for references in (preset, *groups):
        lists.append([structs.replace(one, index=first + index) for index, one in enumerate(references)])
        first += len(references)
    last = {each.type: number for number, group in enumerate(lists) if number for each in group}
    counting: list[ConfigReference] = []
    over: list[ConfigReference] = []
    for number, group in enumerate(lists):
        for each in group:
            counts = last.get(each.type, 0) == number or (number == 0 and mode == "Merge")
            (counting if counts else over).append(each)
    return counting, [HiddenConfig(each, "replaced") for each in over]


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
        if each.type in types or each.object.conventions.any_config:
            known.append(each)
        else:
            hidden.append(HiddenConfig(each, "not-supported"))
    counting = _counting(mode, known, {type_ for type_, each in types.items() if each.merge_fields})
    # Each object once: at the latest place that names it (a group's comes after its preset's), and there the first time
    # (R1-9).
    once: dict[Identity, ConfigReference] = {}
    for each in (reference for reference in known if reference in counting):
        other = once.get(each.identity)
        if other is None or (other.place, bool(other.part)) < (each.place, bool(each.part)):
            once[each.identity] = each
    kept = [each for each in known if once.get(each.identity) is each]
    for each in known:
        if each not in kept:
            hidden.append(HiddenConfig(each, "duplicate" if each in counting else "replaced"))
    if not kept and not hidden:
        return NO_CONFIGS
    kept.sort(key=lambda each: (-each.place, -each.index) if mode == "Merge" else (each.type, each.fold))
    effective = []
    for each in kept:
        config = index.find(each.identity) if may_use(each.object, each.identity) else None
        effective.append(structs.replace(each, config=config, spec_hash=index.hash(config)))
    return Configs(mode, tuple(effective), tuple(hidden))


def _counting(mode: ConfigMode, known: Sequence[ConfigReference], merged: set[Type]) -> frozenset[ConfigReference]:
    """Those that no later place replaces; merged are the types whose configs are merged field by field."""
    if mode == "Merge":
        return frozenset(known)
    if mode == "Override":
        last_place = max((each.place for each in known), default=0)
        return frozenset(each for each in known if each.place == last_place)
    places: dict[Type, int] = {}
    for each in known:
        places[each.type] = max(places.get(each.type, 0), each.place)
    return frozenset(each for each in known if each.type in merged or each.place == places[each.type])
