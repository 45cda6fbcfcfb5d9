"""Helm's hooks on a cluster: made anew, by weight, each waited for before the next, as Helm does it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from fleetform.clusters.inventory import ref_of
from fleetform.clusters.ownership import Manifest, is_kept, is_ours, marked, was_left_by
from fleetform.clusters.work import Waiting
from fleetform.deliver.kubernetes.holders import Holders
from fleetform.deliver.kubernetes.problems import Problem, problem_of
from fleetform.model.results.decisions import PluginKey
from fleetform.observe.object_health import health_of
from fleetform.outside.kubernetes.client import Client
from fleetform.outside.kubernetes.errors import ObjectError
from fleetform.syntax.helm_hooks import (
    AFTER,
    BEFORE,
    BEFORE_CREATION,
    FAILED,
    SUCCEEDED,
    delete_policies,
    hooks_of,
    weight_of,
)

HOOK = "fleetform.dev/hook"
# As long as Helm waits for one if nobody says otherwise.
_PATIENCE = 300.0
_POLL = 1.0
_RUN_TO_COMPLETION = ("Job", "Pod")
Moment = Literal["install", "upgrade"]


class Release(NamedTuple):
    """A plugin's objects, and the hooks that run before and after them."""

    before: Sequence[Manifest]
    objects: Sequence[Manifest]
    after: Sequence[Manifest]


def split(objects: Iterable[Manifest], moment: Moment) -> Release:
    """Those of other moments (tests, deletions, rollbacks, installs at an upgrade) are left out."""
    before, plain, after = list[Manifest](), list[Manifest](), list[Manifest]()
    first = {f"pre-{moment}", "crd-install"} & BEFORE
    last = {f"post-{moment}"} & AFTER
    for each in objects:
        hooks = hooks_of(each)
        if not hooks:
            plain.append(each)
        if hooks & first:
            before.append(each)
        if hooks & last:
            after.append(each)
    return Release(sorted(before, key=_order), plain, sorted(after, key=_order))


def as_hook(manifest: Manifest) -> Manifest:
    """With a label that tells it from what stays."""
    metadata = dict(manifest["metadata"])
    metadata["labels"] = {**(metadata.get("labels") or {}), HOOK: "true"}
    return {**manifest, "metadata": metadata}


class HookRunner:
    """Runs hooks of one plugin on one cluster. adopt: those that Helm left there are taken for earlier ones of it."""

    def __init__(
        self,
        client: Client,
        key: PluginKey,
        clock: Callable[[], float],
        adopt: bool = False,
        patience: float = _PATIENCE,
    ) -> None:
        self._client, self._key, self._clock = client, key, clock
        self._adopt, self._patience = adopt, patience

    def run(self, hooks: Iterable[Manifest]) -> Waiting[list[Problem]]:
        """Why one of them did not succeed; those after it are not run then."""
        for each in hooks:
            try:
                problem = yield from self._run(each)
            except ObjectError as error:
                problem = problem_of(ref_of(each), error)
            if problem is not None:
                return [problem]
        return []

    def _run(self, hook: Manifest) -> Waiting[Problem | None]:
        policies, ref = delete_policies(hook), ref_of(hook)
        resource = self._client.resource_of(hook)
        live = self._client.get(resource, ref.namespace, ref.name)
        if live is not None:
            holders = Holders(self._client, self._key)
            foreign = holders.refusal(ref, live)
            earlier = is_ours(live, self._key) or was_left_by(live, self._key)
            earlier = earlier or (self._adopt and bool(hooks_of(live) or holders.was_anothers(live)))
            if foreign is not None or not earlier:
                hint = "remove it: hooks are deleted and made anew"
                return foreign or Problem(ref, "it is there already, and not from Fleetform", hint, refused=True)
            again = BEFORE_CREATION in policies and not is_kept(live)
            if again and not (yield from self._deleted(hook, live)):
                message = f"it is still being deleted after {self._patience / 60:.0f} minutes"
                return Problem(ref, message, "look at its finalizers")
        self._client.apply(marked(as_hook(hook), self._key), force=True)
        problem = yield from self._wait_for(hook)
        if (FAILED if problem is not None else SUCCEEDED) in policies and not is_kept(hook):
            self._client.delete(resource, ref.namespace, ref.name)
        return problem

    def _deleted(self, hook: Manifest, live: Manifest) -> Waiting[bool]:
        """Deletes it and waits until it is gone, what is being deleted cannot be made anew; whether it is."""
        resource, ref = self._client.resource_of(hook), ref_of(hook)
        self._client.delete(resource, ref.namespace, ref.name, uid=live["metadata"]["uid"])
        deadline = self._clock() + self._patience
        while self._client.get(resource, ref.namespace, ref.name) is not None:
            if self._clock() >= deadline:
                return False
            yield _POLL
        return True

    def _wait_for(self, hook: Manifest) -> Waiting[Problem | None]:
        """Jobs and pods run to their end; anything else is done when it is there."""
        ref = ref_of(hook)
        if ref.kind not in _RUN_TO_COMPLETION:
            return None
        resource, deadline = self._client.resource_of(hook), self._clock() + self._patience
        while True:
            live = self._client.get(resource, ref.namespace, ref.name)
            if live is None:
                # A Job with a time to live is gone once it is done.
                return None
            health = health_of(live, datetime.now(UTC))
            if health.level == "Failed":
                return Problem(ref, f"the hook failed: {health.message}", f"look at its pods: {_logs(ref)}", True)
            if health.level == "Healthy" and (ref.kind != "Pod" or _succeeded(live)):
                return None
            if self._clock() >= deadline:
                message = f"the hook did not end within {self._patience / 60:.0f} minutes"
                return Problem(ref, message, f"look at its pods: {_logs(ref)}", True)
            yield _POLL


def _succeeded(pod: Manifest) -> bool:
    return bool((pod.get("status") or {}).get("phase") == "Succeeded")


def _logs(ref: tuple[str, ...]) -> str:
    _, kind, namespace, name = ref
    return f"kubectl -n {namespace} logs {kind.lower()}/{name}"


def _order(hook: Manifest) -> tuple[int, str, str]:
    return weight_of(hook), hook["kind"], hook["metadata"]["name"]
