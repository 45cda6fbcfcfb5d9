"""Changed objects: what an owner's change is made of, object by object, with the options that each sets otherwise.

It is known from hashes of what was last admitted, and from documents that are kept while a rollout needs them: nothing
is decided again for it. Values are not told: some are secret.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Literal

import msgspec
from msgspec import structs

from fleetform.app.reading.kept_objects import KeptReader
from fleetform.engine.plan.rollouts import ChangedObject, Rollout
from fleetform.engine.world.changes import OwnerChanges
from fleetform.engine.world.stored import Contents
from fleetform.model.answers.planning import ObjectChange
from fleetform.model.objects import AnyObject, Ref
from fleetform.ports.state import KnownState
from fleetform.syntax.hashing import content_hash

# Where objects say what options are.
_LISTS = frozenset({"overrides", "optionValues"})
# Below these stands what people call as they like.
_VALUES = frozenset({"default", "value", "substitute"})
How = Literal["added", "changed", "removed"]
_SHOWN_OPTIONS, _SHOWN_OBJECTS = 4, 2
# As many are stored with a rollout, and as many options of each (B33).
_MOST_STORED = 20


def changed_objects(known: KnownState, changes: OwnerChanges, owner: Ref) -> list[ObjectChange]:
    """What differs between what an owner's plugins were last made of and what its rollout brings, or will bring."""
    stored = known.rollouts.admitted.get(owner)
    if stored is None or changes.change_of(owner) is None:
        return []
    now = stored.upcoming if stored.upcoming is not None else changes.contents(owner)
    return list(_between(known, changes, stored.objects, now))


def with_changes(rollout: Rollout, known: KnownState, changes: OwnerChanges) -> Rollout:
    """A rollout that was just seen first, with the objects that are others than those that its plugins are made of."""
    stored = known.rollouts.admitted.get(rollout.owner)
    change = changes.change_of(rollout.owner)
    if stored is None or change is None or change.change_id != rollout.change_id:
        return rollout
    found = _between(known, changes, stored.objects, changes.contents(rollout.owner))
    first = [
        ChangedObject(each.kind, each.organization, each.name, each.change, tuple(each.options[:_MOST_STORED]))
        for each in islice(found, _MOST_STORED)
    ]
    return structs.replace(rollout, changes=tuple(first))


def stored_changes(rollout: Rollout) -> list[ObjectChange]:
    """The objects that a rollout changed, as they were stored with it."""
    return [
        ObjectChange(
            kind=each.kind,
            organization=each.organization,
            name=each.name,
            change=each.change,
            options=list(each.options),
        )
        for each in rollout.changes
    ]


def _between(known: KnownState, changes: OwnerChanges, then: Contents, now: Contents) -> Iterator[ObjectChange]:
    """An object is told once: a definition that has another version now is no other one."""
    kept = KeptReader(known.kept)
    found: dict[Ref, ObjectChange] = {}
    for identity in sorted(then.keys() | now.keys()):
        if then.get(identity) == now.get(identity):
            continue
        before, after = (_object(changes, kept, identity, each.get(identity)) for each in (then, now))
        any_ = after or before or changes.hashes.object(identity)
        if any_ is None:
            continue
        what: How = "added" if identity not in then else "removed" if identity not in now else "changed"
        kind, organization, name = any_.ref
        options = _options(before, after)
        other = found.get(any_.ref)
        if other is not None:
            what = what if what == other.change else "changed"
            options = sorted({*options, *other.options})
        found[any_.ref] = ObjectChange(kind=kind, organization=organization, name=name, change=what, options=options)
    yield from found.values()


def changes_text(changed: Sequence[ObjectChange]) -> str:
    """`values changed: replicas (PluginOverride more)`; what made plugins others where their version stays."""
    options = sorted({option for each in changed for option in each.options})
    names = [f"{each.kind} {each.name}" + (" removed" if each.change == "removed" else "") for each in changed]
    by = f" ({_few(names, _SHOWN_OBJECTS)})" if names else ""
    return f"values changed: {_few(options, _SHOWN_OPTIONS)}{by}" if options else f"values changed{by}"


def _object(changes: OwnerChanges, kept: KeptReader, identity: str, hash_: str | None) -> AnyObject | None:
    if hash_ is None:
        return None
    there = changes.hashes.object(identity)
    if there is not None and changes.hashes.of(there) == hash_:
        return there
    return kept.get((identity, hash_))


def _options(before: AnyObject | None, after: AnyObject | None) -> list[str]:
    then, now = _settings(before), _settings(after)
    return sorted(name for name in then.keys() | now.keys() if then.get(name) != now.get(name))


def _settings(object_: AnyObject | None) -> dict[str, str]:
    """The options that an object sets, each with a hash of all that it says of it."""
    found: dict[str, list[object]] = {}
    if object_ is not None:
        for name, said in _said(msgspec.to_builtins(object_.spec), ()):
            found.setdefault(name, []).append(said)
    return {name: content_hash(said) for name, said in found.items()}


def _said(tree: object, where: tuple[str, ...]) -> Iterator[tuple[str, object]]:
    if isinstance(tree, dict):
        for key, value in tree.items():
            if key in _VALUES:
                continue
            if key not in _LISTS:
                yield from _said(value, (*where, key))
            elif isinstance(value, dict):
                yield from ((name, [*where, each]) for name, each in value.items())
            else:
                yield from _items(value, (*where, key))
    elif isinstance(tree, list):
        for each in tree:
            # A group or a cluster by its name, not its place: one more before it changes nothing.
            name = each.get("name") or each.get("clusterName") if isinstance(each, dict) else None
            yield from _said(each, (*where, str(name or "")))


def _items(listed: object, where: tuple[str, ...]) -> Iterator[tuple[str, object]]:
    for each in listed if isinstance(listed, list) else ():
        name = (each.get("path") or each.get("name")) if isinstance(each, dict) else None
        if isinstance(name, str) and not _LISTS & each.keys():
            yield name, [*where, each]
        else:
            yield from _said(each, where)


def _few(names: Sequence[str], most: int) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
