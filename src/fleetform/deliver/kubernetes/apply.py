"""Brings one plugin's objects to one cluster, and takes away what it no longer has."""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

from fleetform.deliver.kubernetes.adoption import taken_over
from fleetform.deliver.kubernetes.inventory import Inventory, ObjectRef, ref_of, union, without
from fleetform.deliver.kubernetes.order import removal_order, waves
from fleetform.deliver.kubernetes.ownership import (
    Manifest,
    is_another_plugins,
    is_kept,
    is_ours,
    marked,
    owner_of,
)
from fleetform.model.results.decisions import PluginKey
from fleetform.observe.object_health import health_of
from fleetform.outside.errors import OutsideError
from fleetform.outside.kubernetes.client import Client
from fleetform.outside.kubernetes.errors import (
    ApiError,
    BusyError,
    ConflictError,
    DeniedError,
    InvalidError,
    NoKindError,
)

# What others are refused without is waited for this long: established CRDs, namespaces.
_PATIENCE = 30.0
_POLL = 0.1
_WAITED_FOR = ("CustomResourceDefinition", "Namespace")


class ApplyOptions(NamedTuple):
    """What becomes of fields that somebody else changed, and of objects that are there already."""

    drift: Literal["Correct", "Report"] = "Correct"
    adopt: bool = False


_AS_USUAL = ApplyOptions()


class Problem(NamedTuple):
    """Why an object is not as it should be. refused: trying again does not help unless somebody acts."""

    ref: ObjectRef
    message: str
    hint: str = ""
    refused: bool = False

    def __str__(self) -> str:
        return f"{self.ref}: {self.message}"


class ClusterApply:
    """Applies to one cluster. sleep and clock are for waiting until kinds are established."""

    def __init__(
        self,
        client: Client,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        patience: float = _PATIENCE,
    ) -> None:
        self._client, self._sleep, self._clock, self._patience = client, sleep, clock, patience

    def apply(
        self, key: PluginKey, namespace: str, objects: Iterable[Manifest], options: ApplyOptions = _AS_USUAL
    ) -> Sequence[Problem]:
        """Applies objects in a safe order and removes what the plugin had before and has no longer.

        An object that is refused does not keep others of its wave; a wave with problems keeps those after it, and
        nothing is removed then. BusyError if the cluster does not answer.
        """
        normal = [_normal(each) for each in objects]
        brought = dict(_brought_kinds(normal))
        wanted = [self._placed(each, namespace, brought) for each in normal]
        self._ensure_namespace(namespace)
        inventory = Inventory(self._client, key, namespace)
        before = inventory.read()
        announced = union(before, wanted)
        inventory.write(announced)
        for wave in waves(wanted):
            problems = [found for each in wave if (found := self._apply_one(key, each, options)) is not None]
            problems = problems or self._wait_for(wave)
            if problems:
                return problems
        now = {ref_of(each): each["apiVersion"] for each in wanted}
        left, problems = self._remove(key, without(announced, now.keys()))
        inventory.write({**now, **left})
        return problems

    def remove(self, key: PluginKey, namespace: str) -> Sequence[Problem]:
        """Removes what the plugin has; what is kept (B22) is no longer known to be its."""
        inventory = Inventory(self._client, key, namespace)
        left, problems = self._remove(key, inventory.read())
        inventory.write(left)
        return problems

    # ---- Applying

    def _ensure_namespace(self, namespace: str) -> None:
        """A release's namespace is made if it is not there; one that is there stays as it is."""
        if self._client.get(self._client.resource("v1", "Namespace"), "", namespace) is None:
            self._client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})

    def _placed(self, manifest: Manifest, namespace: str, brought: Mapping[tuple[str, str], bool]) -> Manifest:
        """In the release's namespace, if it is in none and its kind has namespaces; in none if it has not.

        brought are the kinds that the plugin brings itself, and whether they have namespaces.
        """
        version, kind = manifest["apiVersion"], manifest["kind"]
        try:
            namespaced = self._client.resource(version, kind).namespaced
        except NoKindError:
            namespaced = brought.get((version.rpartition("/")[0], kind), True)
        metadata = dict(manifest["metadata"])
        if namespaced:
            metadata.setdefault("namespace", namespace)
        else:
            metadata.pop("namespace", None)
        return {**manifest, "metadata": metadata}

    def _apply_one(self, key: PluginKey, manifest: Manifest, options: ApplyOptions) -> Problem | None:
        ref = ref_of(manifest)
        try:
            resource = self._client.resource_of(manifest)
            live = self._client.get(resource, ref.namespace, ref.name)
            if live is not None and not is_ours(live, key):
                refusal = _not_adopted(ref, live, key, options)
                if refusal is not None:
                    return refusal
                taken_over(self._client, resource, live)
            try:
                self._client.apply(marked(manifest, key))
            except ConflictError as conflict:
                if not conflict.causes:
                    raise
                if options.drift == "Report":
                    return _conflict(ref, conflict)
                self._client.apply(marked(manifest, key), force=True)
        except BusyError:
            raise
        except OutsideError as error:
            return problem_of(ref, error)
        return None

    def _wait_for(self, applied: Sequence[Manifest]) -> list[Problem]:
        """Those that others need and that are not there after a while."""
        waiting = [each for each in applied if each["kind"] in _WAITED_FOR]
        deadline = self._clock() + self._patience
        while waiting:
            waiting = [each for each in waiting if not self._is_there(each)]
            if not waiting or self._clock() >= deadline:
                break
            self._sleep(_POLL)
        return [Problem(ref_of(each), "it is not ready after a while", "look at its status") for each in waiting]

    def _is_there(self, manifest: Manifest) -> bool:
        live = self._client.get(self._client.resource_of(manifest), "", manifest["metadata"]["name"])
        return live is not None and health_of(live, datetime.now(UTC)).level == "Healthy"

    # ---- Removing

    def _remove(
        self, key: PluginKey, references: Mapping[ObjectRef, str]
    ) -> tuple[dict[ObjectRef, str], list[Problem]]:
        """What could not be removed and stays in the inventory, and why."""
        left: dict[ObjectRef, str] = {}
        problems: list[Problem] = []
        gone: list[Manifest] = [
            {"apiVersion": version, "kind": ref.kind, "metadata": {"namespace": ref.namespace, "name": ref.name}}
            for ref, version in references.items()
        ]
        for each in removal_order(gone):
            ref = ref_of(each)
            try:
                self._remove_one(key, each)
            except BusyError:
                raise
            except NoKindError:
                # The kind itself is gone, and its objects with it.
                continue
            except OutsideError as error:
                left[ref] = each["apiVersion"]
                problems.append(problem_of(ref, error))
        return left, problems

    def _remove_one(self, key: PluginKey, each: Mapping[str, Any]) -> None:
        """Only what is still ours, and only the very object that was looked at."""
        ref = ref_of(each)
        resource = self._client.resource(each["apiVersion"], ref.kind)
        live = self._client.get(resource, ref.namespace, ref.name)
        if live is None or not is_ours(live, key) or is_kept(live):
            return
        self._client.delete(resource, ref.namespace, ref.name, uid=live["metadata"]["uid"])


def problem_of(ref: ObjectRef, error: OutsideError) -> Problem:
    """A refusal in words that say what to do."""
    if isinstance(error, NoKindError):
        hint = "install what brings this kind first, and say so with dependsOn"
        return Problem(ref, error.message, hint)
    if isinstance(error, DeniedError):
        hint = "grant the account of the cluster's kubeconfig what it needs, or leave the object out by a transform"
        return Problem(ref, error.message, hint, refused=True)
    if isinstance(error, InvalidError):
        immutable = "immutable" in error.message
        hint = "a field of it cannot be changed: delete the object, and it is created again" if immutable else ""
        return Problem(ref, error.message, hint or "the cluster refuses it as it is rendered", refused=True)
    return Problem(ref, error.message, error.hint, refused=not isinstance(error, ApiError))


def _not_adopted(ref: ObjectRef, live: Manifest, key: PluginKey, options: ApplyOptions) -> Problem | None:
    """Why an object that is there already is not taken over."""
    owner = owner_of(live)
    if is_another_plugins(live, key):
        return Problem(ref, f"it belongs to {owner}", "two plugins cannot have one object: rename one", refused=True)
    if options.adopt or ref.kind == "Namespace":
        return None
    whose = f", and belongs to {owner}" if owner else ", and not from Fleetform"
    hint = "delivery.kubernetes.adopt: true takes it over"
    return Problem(ref, f"it is there already{whose}", hint, refused=True)


def _conflict(ref: ObjectRef, conflict: ConflictError) -> Problem:
    fields = "; ".join(f"{each.field} ({each.message})" for each in conflict.causes)
    hint = "let one of the two manage the field, or set delivery.kubernetes.drift: Correct"
    return Problem(ref, f"others manage fields of it: {fields}", hint, refused=True)


def _normal(manifest: Mapping[str, Any]) -> Manifest:
    """As it is applied: a Secret's stringData as data, since one that is later left out would stay."""
    found = dict(manifest)
    if found["kind"] == "Secret" and found["apiVersion"] == "v1" and found.get("stringData"):
        given = found.pop("stringData")
        text = {name: b64encode(str(value).encode()).decode() for name, value in given.items()}
        found["data"] = {**(found.get("data") or {}), **text}
    found.pop("status", None)
    return found


def _brought_kinds(objects: Iterable[Manifest]) -> Iterator[tuple[tuple[str, str], bool]]:
    """Kinds that CRDs among the objects define, and whether they have namespaces."""
    for each in objects:
        if each["kind"] == "CustomResourceDefinition":
            spec = each["spec"]
            yield (spec["group"], spec["names"]["kind"]), spec.get("scope") == "Namespaced"
