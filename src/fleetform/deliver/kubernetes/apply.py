"""Brings one plugin's objects to one cluster, and takes away what it no longer has."""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

from msgspec import structs

from fleetform.clusters.fields import FieldSet, our_fields
from fleetform.clusters.inventory import Entry, Inventory, Known, ObjectRef, earliest_end, ref_of
from fleetform.clusters.ownership import Manifest, is_kept, is_ours, marked, without_owner
from fleetform.clusters.work import Waiting
from fleetform.deliver.kubernetes.adoption import Adoption
from fleetform.deliver.kubernetes.hooks import HookRunner, split
from fleetform.deliver.kubernetes.order import removal_order, waves
from fleetform.deliver.kubernetes.others_fields import without_empty_bundles, without_scaled
from fleetform.deliver.kubernetes.problems import Problem, conflict, problem_of
from fleetform.model.results.decisions import PluginKey
from fleetform.observe.object_health import FLUX_REQUEST, health_of
from fleetform.outside.kubernetes.client import Client
from fleetform.outside.kubernetes.errors import (
    ConflictError,
    DeniedError,
    InvalidError,
    MissingError,
    NoKindError,
    ObjectError,
)
from fleetform.syntax.helm_hooks import hooks_of

# What others are refused without is waited for this long: established CRDs, namespaces.
_PATIENCE = 30.0
_POLL = 0.1
_TRIES = 5
# What was there whole before our first state: Helm's hooks of an upgrade run then, and not those of an install.
_BY_HELM = "by Helm"
_FLUX = ".toolkit.fluxcd.io"
_WAITED_FOR = ("CustomResourceDefinition", "Namespace")


class ApplyOptions(NamedTuple):
    """What becomes of fields that somebody else changed, and of objects that are there already; those of a predecessor
    are taken over (B23). setting is where adopt is asked for, as people write it. retain: what is removed stays."""

    drift: Literal["Correct", "Report"] = "Correct"
    adopt: bool = False
    predecessor: PluginKey | None = None
    setting: str = "delivery.kubernetes.adopt"
    retain: bool = False


_AS_USUAL = ApplyOptions()


class _Order(NamedTuple):
    """For which plugin objects are applied, and how. over are Jobs of this very state that may have ended and gone;
    entries and fields are what the inventory will hold of each object."""

    key: PluginKey
    drift: Literal["Correct", "Report"]
    adoption: Adoption
    over: Collection[ObjectRef]
    entries: dict[ObjectRef, Entry]
    fields: dict[ObjectRef, FieldSet]


class ClusterApply:
    """Applies to one cluster. What has to wait yields for how long; clock tells how long it has waited."""

    def __init__(
        self, client: Client, clock: Callable[[], float] = time.monotonic, patience: float = _PATIENCE
    ) -> None:
        self._client, self._clock, self._patience = client, clock, patience

    def apply(
        self,
        key: PluginKey,
        namespace: str,
        objects: Iterable[Manifest],
        options: ApplyOptions = _AS_USUAL,
        digest: str = "",
    ) -> Waiting[Sequence[Problem]]:
        """Applies objects in a safe order and removes what the plugin had before and has no longer.

        An object that is refused does not keep others of its wave; a wave with problems keeps those after it, and
        nothing is removed then. Hooks run where a state is new there, and not when the same is applied again; digest
        names the state. ServerError if the cluster does not answer or does not know the account.
        """
        self._ensure_namespace(namespace)
        inventory = Inventory(self._client, key, namespace)
        known = inventory.read()
        placed = self._placed_all(objects, namespace)
        refs = {ref_of(each) for each in placed}
        adoption = Adoption(self._client, key, refs, options.adopt, options.setting, options.predecessor)
        strangers = (each for each in placed if not hooks_of(each) and ref_of(each) not in known.objects)
        problems: Sequence[Problem] = adoption.refusals(marked(each, key) for each in strangers)
        if problems:
            return problems
        if adoption.after_helm and not known.applied:
            known = structs.replace(known, applied=_BY_HELM)
        release = split(placed, "upgrade" if known.applied else "install")
        new = known.applied != digest or known.applying not in ("", digest)
        hooks = {ref_of(each): Entry(each["apiVersion"], hook=True) for each in (*release.before, *release.after)}
        now = {ref: Entry(version, ends=_ends(known, ref)) for ref, version in _versions(release.objects)}
        runner = HookRunner(self._client, key, self._clock, options.adopt)
        coming = known.with_coming({**hooks, **now} if new else now, digest)
        inventory.write(coming)
        if new and release.before and coming.hooked != digest:
            problems = yield from runner.run(release.before)
            if problems:
                return problems
            coming = structs.replace(coming, hooked=digest)
            inventory.write(coming)
        at = datetime.now(UTC)
        over = {ref for ref in now if not new and known.may_be_over(ref, at)}
        fields = {ref: known.fields[ref] for ref in over if ref in known.fields}
        order = _Order(key, options.drift, adoption, over, now, fields)
        for wave in waves(release.objects):
            problems = self._apply_wave(order, wave) or (yield from self._wait_for(wave))
            if problems:
                return problems
        self._ask_flux(release.objects, digest)
        if new:
            problems = yield from runner.run(release.after)
            if problems:
                return problems
        ran = {ref: entry for ref, entry in coming.objects.items() if entry.hook and (ref in hooks or not new)}
        gone = {ref: entry for ref, entry in coming.objects.items() if ref not in now and ref not in ran}
        left, problems = self._remove(key, gone, now.keys())
        inventory.write(Known({**ran, **now, **left}, fields, applied=digest, hooked=digest if release.before else ""))
        return problems

    def remove(self, key: PluginKey, namespace: str, retain: bool = False) -> Waiting[Sequence[Problem]]:
        """Removes what the plugin has; what is kept (B22) is nobody's from then on, and so is all of it in retain."""
        yield from ()
        inventory = Inventory(self._client, key, namespace)
        left, problems = self._remove(key, inventory.read().objects, retain=retain)
        inventory.write(Known(left))
        return problems

    # ---- Applying

    def _ensure_namespace(self, namespace: str) -> None:
        """A release's namespace is made if it is not there; one that is there stays as it is."""
        try:
            if self._client.get(self._client.resource("v1", "Namespace"), "", namespace) is None:
                self._client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        except DeniedError:
            # An account of one namespace may not look at namespaces: theirs is there, or what follows says so.
            return

    def _placed_all(self, objects: Iterable[Manifest], namespace: str) -> list[Manifest]:
        normal = [_normal(each) for each in objects]
        brought = dict(_brought_kinds(normal))
        return [self._placed(each, namespace, brought) for each in normal]

    def _placed(self, manifest: Manifest, namespace: str, brought: Mapping[tuple[str, str], bool]) -> Manifest:
        """In the release's namespace, if it is in none and its kind has namespaces; in none if it has not.

        brought are the kinds that the plugin brings itself, and whether they have namespaces.
        """
        version, kind = manifest["apiVersion"], manifest["kind"]
        try:
            namespaced = self._client.resource(version, kind).namespaced
        except ObjectError:
            # Applying it says what is wrong.
            namespaced = brought.get((version.rpartition("/")[0], kind), True)
        metadata = dict(manifest["metadata"])
        if namespaced:
            metadata.setdefault("namespace", namespace)
        else:
            metadata.pop("namespace", None)
        return {**manifest, "metadata": metadata}

    def _apply_wave(self, order: _Order, wave: Sequence[Manifest]) -> list[Problem]:
        """Those of a wave that are refused; of the others it is noted what is there now."""
        problems = []
        for each in wave:
            applied, ref = self._apply_one(order, each), ref_of(each)
            if isinstance(applied, Problem):
                problems.append(applied)
            elif applied is not None:
                order.fields[ref] = our_fields(applied)
                order.entries[ref] = Entry(each["apiVersion"], ends=earliest_end(applied))
        return problems

    def _apply_one(self, order: _Order, manifest: Manifest) -> Manifest | Problem | None:
        """The object as it is then; None for a Job that ran: it runs once for each state."""
        ref, ours = ref_of(manifest), marked(manifest, order.key)
        try:
            resource = self._client.resource_of(manifest)
            live = self._client.get(resource, ref.namespace, ref.name)
            if live is None and ref in order.over:
                return None
            if live is not None and not is_ours(live, order.key):
                refusal = order.adoption.take(ours, live)
                if refusal is not None:
                    return refusal
            ours = without_scaled(ours, live)
            try:
                return self._client.apply(ours)
            except ConflictError as error:
                if not error.causes:
                    raise
                if order.drift == "Report":
                    return conflict(ref, error)
                return self._client.apply(ours, force=True)
        except ObjectError as error:
            return problem_of(ref, error)

    def _wait_for(self, applied: Sequence[Manifest]) -> Waiting[list[Problem]]:
        """Those that others need and that are not there after a while."""
        waiting = [each for each in applied if each["kind"] in _WAITED_FOR]
        deadline = self._clock() + self._patience
        while waiting:
            waiting = [each for each in waiting if not self._is_there(each)]
            if not waiting or self._clock() >= deadline:
                break
            yield _POLL
        return [Problem(ref_of(each), "it is not ready after a while", "look at its status") for each in waiting]

    def _is_there(self, manifest: Manifest) -> bool:
        live = self._client.get(self._client.resource_of(manifest), "", manifest["metadata"]["name"])
        return live is not None and health_of(live, datetime.now(UTC)).level == "Healthy"

    def _ask_flux(self, objects: Iterable[Manifest], digest: str) -> None:
        """Asks Flux to reconcile its objects for this very state, which may differ from the last one in a Secret alone.

        Not a part of what is applied: people ask Flux in the same way, and that is no drift.
        """
        for each in objects:
            resource, ref = self._client.resource_of(each), ref_of(each)
            if resource.group.endswith(_FLUX):
                patch = {"metadata": {"annotations": {FLUX_REQUEST: digest}}}
                self._client.merge(resource, ref.namespace, ref.name, patch)

    # ---- Removing

    def _remove(
        self,
        key: PluginKey,
        objects: Mapping[ObjectRef, Entry],
        stays: Collection[ObjectRef] = (),
        retain: bool = False,
    ) -> tuple[dict[ObjectRef, Entry], list[Problem]]:
        """Removes objects, but not what stays. What could not be removed and is kept in the inventory, and why."""
        left: dict[ObjectRef, Entry] = {}
        problems: list[Problem] = []
        gone: list[Manifest] = [
            {"apiVersion": entry.version, "kind": ref.kind, "metadata": {"namespace": ref.namespace, "name": ref.name}}
            for ref, entry in objects.items()
        ]
        for each in removal_order(gone):
            ref = ref_of(each)
            try:
                self._remove_one(key, each, stays, retain)
            except NoKindError:
                # The kind itself is gone, and its objects with it.
                continue
            except ObjectError as error:
                left[ref] = objects[ref]
                problems.append(problem_of(ref, error))
        return left, problems

    def _remove_one(self, key: PluginKey, each: Mapping[str, Any], stays: Collection[ObjectRef], retain: bool) -> None:
        """Only what is still ours, and only the very object that was looked at."""
        ref = ref_of(each)
        resource = self._client.resource(each["apiVersion"], ref.kind)
        if not resource.namespaced and ref._replace(namespace="") in stays:
            # It was noted before its kind was there, when it was taken for one in a namespace.
            return
        for tries in range(1, _TRIES + 1):
            live = self._client.get(resource, ref.namespace, ref.name)
            if live is None or not is_ours(live, key):
                return
            uid, version = live["metadata"]["uid"], live["metadata"]["resourceVersion"]
            if not retain and not is_kept(live):
                self._client.delete(resource, ref.namespace, ref.name, uid=uid)
                return
            try:
                self._client.merge(resource, ref.namespace, ref.name, without_owner(key, uid, version))
            except (DeniedError, InvalidError):
                # It stays, and that it bears our label does no harm: no inventory names it.
                return
            except (ConflictError, MissingError):
                # Controllers write into the status of what stays.
                if tries == _TRIES:
                    raise
            else:
                return


def _versions(objects: Iterable[Manifest]) -> Iterator[tuple[ObjectRef, str]]:
    return ((ref_of(each), each["apiVersion"]) for each in objects)


def _ends(known: Known, ref: ObjectRef) -> datetime | None:
    """Until it is applied an object ends when it was to end before."""
    return known.objects[ref].ends if ref in known.objects else None


def _normal(manifest: Mapping[str, Any]) -> Manifest:
    """As it is applied: a Secret's stringData as data, since one that is later left out would stay; without what others
    fill in."""
    found = dict(manifest)
    if found["kind"] == "Secret" and found["apiVersion"] == "v1" and found.get("stringData"):
        given = found.pop("stringData")
        text = {name: b64encode(str(value).encode()).decode() for name, value in given.items()}
        found["data"] = {**(found.get("data") or {}), **text}
    found.pop("status", None)
    return without_empty_bundles(found)


def _brought_kinds(objects: Iterable[Manifest]) -> Iterator[tuple[tuple[str, str], bool]]:
    """Kinds that CRDs among the objects define, and whether they have namespaces."""
    for each in objects:
        if each["kind"] == "CustomResourceDefinition":
            spec = each["spec"]
            yield (spec["group"], spec["names"]["kind"]), spec.get("scope") == "Namespaced"
