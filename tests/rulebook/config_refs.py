"""Which config objects a plugin takes, in which order, and what values they become."""

from __future__ import annotations

from typing import Any, NamedTuple

from rulebook.layering import Item, Layer
from rulebook.selecting import selects
from rulebook.trees import ABSENT, found_at, steps_of

Tree = dict[str, Any]
Type = tuple[str, str]


class Ref(NamedTuple):
    """A config that one place names (R1-8)."""

    type: Type
    name: str
    namespace: str
    place: int
    number: int
    group: str = ""

    @property
    def identity(self) -> tuple[Type, str, str]:
        return self.type, self.namespace, self.name


def mode_of(owner: Tree, revision: Tree) -> str:
    """The preset chooses, else the definition (R1-6)."""
    mode: str = owner["spec"].get("configMode") or revision["spec"].get("configMode") or "OverrideByGVK"
    return mode


def named(owner: Tree, instance: Tree | None, cluster: Tree, revision: Tree, mode: str) -> list[list[Ref]]:
    """What each of the three places names, those that are hidden within a place left out (R1-1)."""
    first = [
        Ref((each["group"], each["resource"]), each["default"]["name"], revision["metadata"]["namespace"], 1, 0)
        for each in revision["spec"].get("configs", [])
        if "default" in each
    ]
    if owner["kind"] == "Plugin":
        return [first, [], _refs(owner["spec"].get("configs", []), 3)]
    written = _refs(owner["spec"]["plugin"].get("configs", []), 2)
    grouped: list[Ref] = []
    for group in owner["spec"].get("groups", []):
        if selects(group["clusterSelector"], cluster):
            refs = _refs(group.get("configs", []), 2, group["name"])
            # The last group that names a type takes its place (S1).
            grouped = [each for each in grouped if each.type not in [ref.type for ref in refs]] + refs
    if mode != "Merge":
        written = [each for each in written if each.type not in [ref.type for ref in grouped]]
    else:
        # What the group names stands before the preset's, also where both name it.
        written = [each for each in written if each.identity not in [ref.identity for ref in grouped]]
    written += grouped
    third = instance["spec"].get("configs", []) if instance is not None else []
    return [first, [each._replace(number=index) for index, each in enumerate(written)], _refs(third, 3)]


def _refs(written: list[Tree], place: int, group: str = "") -> list[Ref]:
    return [
        Ref((each["group"], each["resource"]), each["name"], each.get("namespace", "acme"), place, index, group)
        for index, each in enumerate(written)
    ]


def effective(places: list[list[Ref]], mode: str, revision: Tree) -> list[Ref]:
    """Those that count, in the order in which they are listed (R1-4 to R1-9, S4)."""
    merging = {
        (each["group"], each["resource"]) for each in revision["spec"].get("configs", []) if each.get("mergeFields")
    }
    taken = [(each["group"], each["resource"]) for each in revision["spec"].get("configs", [])]
    everything = [each for place in places for each in place if each.type in taken]
    if mode == "Merge":
        found: list[Ref] = []
        for each in sorted(everything, key=lambda ref: (ref.place, ref.number), reverse=True):
            if each.identity not in [other.identity for other in found]:
                found.append(each)
        return found
    if mode == "Override":
        last = max((each.place for each in everything), default=0)
        everything = [each for each in everything if each.place == last]
    found = []
    for each in everything:
        later = [other.place for other in everything if other.type == each.type]
        again = [other.identity for other in everything if other.place > each.place]
        if each.place == max(later) or (each.type in merging and each.identity not in again):
            found.append(each)
    return sorted(found, key=lambda ref: (ref.type, ref.place, ref.number))


def values_of(refs: list[Ref], revision: Tree, objects: list[Tree]) -> dict[tuple[int, str], list[Item]]:
    """The items that configs become, by the place of each and its group (R1-14, S31)."""
    found: dict[tuple[int, str], list[Item]] = {}
    for supported in sorted(revision["spec"].get("configs", []), key=lambda each: (each["group"], each["resource"])):
        there = [each for each in refs if object_of(each, objects) is not None]
        held = [each for each in there if each.type == (supported["group"], supported["resource"])]
        how = supported.get("values")
        if how is None or how.get("use", "Last") == "None":
            continue
        pairs = [(each, _content(each, how.get("from", "/spec"), objects)) for each in held]
        pairs.sort(key=lambda pair: (pair[0].place, pair[0].number))
        if how.get("use") != "All" and not supported.get("mergeFields"):
            # The last one counts, also where it has nothing to say.
            pairs = pairs[-1:]
        pairs = [(ref, content) for ref, content in pairs if content is not ABSENT]
        if not pairs:
            continue
        if supported.get("mergeFields"):
            for ref, content in pairs:
                found.setdefault((ref.place, ref.group), []).extend(_items(ref, how.get("to"), content, "Merge"))
        elif how.get("use") == "All":
            listed = [_content(each, how.get("from", "/spec"), objects) for each in held]
            last = pairs[-1][0]
            all_ = [each for each in listed if each is not ABSENT]
            found.setdefault((last.place, last.group), []).extend(_items(last, how.get("to"), all_, "Replace"))
        else:
            last, content = pairs[-1]
            found.setdefault((last.place, last.group), []).extend(_items(last, how.get("to"), content, "Replace"))
    return found


def _content(ref: Ref, where: str, objects: list[Tree]) -> Any:
    found = object_of(ref, objects)
    return ABSENT if found is None else found_at(found, steps_of(where))


def object_of(ref: Ref, objects: list[Tree]) -> Tree | None:
    """The object, of a kind whose resource is its name with an s (S31)."""
    for each in objects:
        group = each["apiVersion"].rpartition("/")[0]
        here = (each["metadata"].get("namespace"), each["metadata"]["name"]) == (ref.namespace, ref.name)
        if here and (group, each["kind"].lower() + "s") == ref.type:
            return each
    return None


def _items(ref: Ref, to: str | None, content: Any, strategy: str) -> list[Item]:
    layer = Layer("config", 0, ref.name, f"place {ref.place}")
    if to is not None:
        steps = steps_of(to)
        return [Item(layer, steps, steps, strategy, content, content, undeclared=True)]
    return [Item(layer, (key,), (key,), strategy, each, each, undeclared=True) for key, each in content.items()]
