"""Contents: the objects that an owner's plugins are made of, by hash, and the name of the change that they make (B3b).

Clusters are not among them: one that joins or leaves makes no change of what the others get. What nobody wrote as an
object, such as a fact of a cluster, is told apart by the hashes of the plugins that it reaches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from fleetform.engine.bindings.fields import api_version_of
from fleetform.engine.plan.rollouts import Rollout
from fleetform.engine.world.stored import Contents
from fleetform.model.kinds.definition import PluginDefinitionSpec
from fleetform.model.objects import AnyObject, Object, Ref
from fleetform.model.results.decisions import PluginKey
from fleetform.model.snapshot import Snapshot
from fleetform.syntax.hashing import CHANGE_ID, content_hash
from fleetform.syntax.names import api_group

# What people and passes say about a change is no part of it.
NOT_PART_OF_A_CHANGE = frozenset({"Approval", "Rollout", "PluginDefinitionRevision", "PluginState", "Secret"})
# Says when, and not what.
_STAMPS = "fleetform.dev/"
_ABSENT = "absent"


def content_of(object_: Object[object]) -> str:
    """A hash of what an object says, labels included; plain secrets count, and do not show."""
    if object_.content is not None:
        # Bindings read all of it.
        return content_hash(object_.content)
    return content_hash([msgspec.to_builtins(object_.spec), dict(object_.labels)])


def content_with_annotations(object_: Object[object]) -> str:
    """The same with annotations, which bindings may read."""
    written = object_.metadata.annotations or {}
    annotations = {key: value for key, value in written.items() if not key.startswith(_STAMPS)}
    return content_hash([content_of(object_), annotations])


def identity_of(object_: Object[object]) -> tuple[str, str, str]:
    """Objects of two groups may have one name, and versions of a definition do."""
    version = object_.spec.version if isinstance(object_.spec, PluginDefinitionSpec) else ""
    return str(object_.ref), api_group(api_version_of(object_)), version


class ContentHashes:
    """Hashes of objects, each made once. Objects are compared by identity: one that was edited is another."""

    def __init__(self, snapshot: Snapshot, before: ContentHashes | None = None) -> None:
        self.snapshot = snapshot
        self._known: dict[AnyObject, str] = {}
        self._before: Mapping[AnyObject, str] = before._handed_on(snapshot) if before is not None else {}
        # Objects by identity, for each part of the snapshot that was searched; the part itself, so that it stays.
        self._identities: dict[int, tuple[object, Mapping[str, AnyObject]]] = (
            before._identities_in(snapshot) if before is not None else {}
        )

    def _handed_on(self, snapshot: Snapshot) -> Mapping[AnyObject, str]:
        """What is known of objects that are still there, whether or not this pass asked for it."""
        if not self._known:
            return self._before
        there = set(snapshot.objects)
        return {each: hash_ for each, hash_ in {**self._before, **self._known}.items() if each in there}

    def _identities_in(self, snapshot: Snapshot) -> dict[int, tuple[object, Mapping[str, AnyObject]]]:
        """What is known of parts that are the same."""
        return {id(each): self._identities[id(each)] for each in snapshot.parts if id(each) in self._identities}

    def of(self, object_: AnyObject) -> str:
        found = self._known.get(object_)
        if found is None:
            found = self._before.get(object_) or content_with_annotations(object_)
            self._known[object_] = found
        return found

    def contents(self, objects: Iterable[AnyObject]) -> dict[str, str]:
        """Objects by identity, sorted."""
        counted = [each for each in objects if each.ref.kind not in NOT_PART_OF_A_CHANGE]
        return dict(sorted((identity_text(each), self.of(each)) for each in counted))

    def differing(self, objects: Iterable[AnyObject], admitted: Contents) -> list[AnyObject]:
        """Those that are not as they were admitted."""
        counted = (each for each in objects if each.ref.kind not in NOT_PART_OF_A_CHANGE)
        return [each for each in counted if admitted.get(identity_text(each)) != self.of(each)]

    def object(self, identity: str) -> AnyObject | None:
        """Whatever bears an identity now, whether or not it reaches anybody; clusters are no part of contents."""
        for part in self.snapshot.parts:
            if part is self.snapshot.clusters:
                continue
            known = self._identities.get(id(part))
            if known is None:
                known = self._identities[id(part)] = part, {identity_text(each): each for each in part.values()}
            if identity in known[1]:
                return known[1][identity]
        return None

    def retired(self, identity: str) -> AnyObject | None:
        """A definition that is no longer offered and may still run."""
        return next((each for each in self.snapshot.retired.values() if identity_text(each) == identity), None)

    def now(self, identity: str) -> str | None:
        """The hash of whatever bears an identity now."""
        found = self.object(identity)
        return self.of(found) if found is not None else None


def identity_text(object_: AnyObject) -> str:
    """An identity as it is stored and hashed."""
    ref, group, version = identity_of(object_)
    return ref + (f"#{group}" if group else "") + (f"@{version}" if version else "")


def digest(contents: Contents) -> str:
    return content_hash(dict(contents))


def name_of(differing: Iterable[tuple[str, str | None]]) -> str:
    """The name of a change: of the objects that differ, sorted, with what each says by now; None: it is gone (B3b)."""
    return CHANGE_ID + content_hash([[identity, now or _ABSENT] for identity, now in differing])


def name_of_removal(owner: Ref, now: str | None, admitted: Contents) -> str:
    """The name of the change by which an owner has no plugins any more."""
    text = str(owner)
    known = (each for each in admitted if each.startswith(text) and each[len(text) : len(text) + 1] in ("", "#", "@"))
    return name_of([(next(known, text), now)])


def differing_objects(hashes: ContentHashes, admitted: Contents, now: Contents) -> list[tuple[str, str | None]]:
    """The objects that differ between what was last admitted and now, sorted, with what each says by now."""
    current = {each: now.get(each) or hashes.now(each) for each in sorted({*admitted, *now})}
    return [(each, then) for each, then in current.items() if admitted.get(each) != then]


def change_id(
    hashes: ContentHashes,
    admitted: Contents,
    now: Contents,
    rollouts: Sequence[Rollout],
    differing_plugins: Callable[[], Iterable[tuple[PluginKey, str]]],
) -> str:
    """The name of what differs between what was last admitted and now.

    An object that is as it was does not count, even if it reaches the owner no longer: a cluster left. If the objects
    are those of a rollout that runs, or that was rejected, it is that change, whatever clusters come to by themselves.
    differing_plugins are those that differ, with what they become by hash: asked for where no object does.
    """
    whole = digest(now)
    for rollout in reversed(rollouts):
        if (rollout.is_open or rollout.rejected) and rollout.contents == whole:
            return rollout.change_id
    last = rollouts[-1] if rollouts else None
    differing = differing_objects(hashes, admitted, now)
    if differing:
        return name_of(differing)
    if last is not None and last.is_open:
        # What a rollout brings is taken back while it runs.
        return name_of([("Rollout", last.name)])
    return CHANGE_ID + content_hash(sorted([*key, hash_] for key, hash_ in differing_plugins()))
