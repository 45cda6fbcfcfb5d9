"""What Plugins of Greenhouse tell: as its users and its own pages read them, in the fields that it has for that.

Greenhouse may have controllers of its own at work. So fields that somebody else wrote are left to them, unless
somebody said that they are ours from now on.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from datetime import datetime
from threading import Condition as Monitor
from threading import Thread
from typing import Any

import msgspec

from fleetform.engine.index.instances import name_beside_preset
from fleetform.model.kinds.preset import PluginSpec
from fleetform.model.objects import Object, Ref
from fleetform.model.results.decisions import PluginKey
from fleetform.operator.status.passes import Amiss, Found, Pass, Placed
from fleetform.operator.status.plugins import Told, ready_told
from fleetform.outside.errors import OutsideError
from fleetform.outside.kubernetes.client import Client
from fleetform.outside.kubernetes.errors import ConflictError, MissingError, NotLeaderError, ObjectError
from fleetform.syntax.times import time_text

API_VERSION = "greenhouse.sap/v1alpha1"
# Its own are others; these are what its printer columns, its pages and its alerts look at.
_CONDITIONS = ("Ready", "HelmReleaseDeployed")
_SHORTEST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
_HINT = "give the operator --own-greenhouse-status once Greenhouse's own controllers are stopped"

Tree = dict[str, Any]


def greenhouse_status(told: Told, there: Mapping[str, Any], now: datetime) -> Tree:
    """The part of a status that we write. there is the status as it is: since when a condition holds stands in it."""
    state, revision = told.state, told.plugin.target.revision
    ready = ready_told(told)
    known = ((there.get("statusConditions") or {}).get("conditions")) or ()
    since = {each.get("type"): each for each in known if each.get("status") == ready.status}
    conditions = [
        {
            "type": type_,
            "status": ready.status,
            "reason": ready.reason,
            "message": ready.message,
            "lastTransitionTime": since.get(type_, {}).get("lastTransitionTime") or time_text(now),
        }
        for type_ in _CONDITIONS
    ]
    found: Tree = {"statusConditions": {"conditions": conditions}}
    if state.last_healthy is not None and state.last_healthy.version is not None:
        found["version"] = state.last_healthy.version
    chart = revision.object.spec.source.helm if revision is not None and revision.object.spec.source else None
    if chart is None:
        return found
    found["helmReleaseStatus"] = {"status": _release(told)}
    if state.attempt is not None:
        found["helmReleaseStatus"]["lastDeployed"] = time_text(state.attempt.started)
    if revision is not None and state.admitted is not None and state.admitted.version == revision.version:
        found["helmChart"] = {"name": chart.chart, "repository": chart.repository, "version": chart.version or ""}
    return found


def _release(told: Told) -> str:
    """As Helm calls it."""
    state = told.state
    if state.is_healthy:
        return "deployed"
    if state.in_flight:
        return "pending-upgrade" if state.last_healthy is not None else "pending-install"
    return "failed" if state.failed is not None else "unknown"


class GreenhouseStatuses:
    """Written from a thread of its own after passes, where they differ. own: also fields that others wrote are ours.

    said is told once what is left to others.
    """

    def __init__(self, client: Client, now: Callable[[], datetime], own: bool, said: Callable[[str], None]) -> None:
        self._client, self._now, self._own, self._said = client, now, own, said
        self._amiss = Amiss()
        self._plugins: Mapping[Ref, Object[PluginSpec]] = {}
        self._ours: dict[Ref, PluginKey] = {}
        self._told: dict[Ref, Told] = {}
        self._left = False
        self._state = Monitor()
        self._newest: Pass | None = None
        self._is_idle, self._stopped = True, False
        self._error: Exception | None = None
        self._thread = Thread(target=self._run, name="writes statuses of Greenhouse", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        with self._state:
            self._stopped = True
            self._state.notify_all()
        if self._thread.ident is not None:
            self._thread.join()

    def show(self, shown: Pass) -> None:
        plugins = shown.fleet.snapshot.plugins
        if plugins is not self._plugins:
            self._plugins = plugins
            theirs = {ref: each for ref, each in plugins.items() if each.dialect == "greenhouse"}
            self._ours = {ref: _key(ref, each) for ref, each in theirs.items() if each.spec.preset_ref is None}
        if self._ours:
            with self._state:
                self._newest, self._is_idle = shown, False
                self._state.notify_all()

    def wait(self, seconds: float) -> bool:
        """Whether everything is written by then."""
        with self._state:
            return self._state.wait_for(lambda: self._is_idle, seconds)

    # ---- The thread

    def check(self) -> None:
        """Raises what ended the thread: whoever shows passes has to know that nothing is written any more."""
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            self._write_until_stopped()
        except Exception as error:
            self._error = error

    def _write_until_stopped(self) -> None:
        pause, again = _SHORTEST_PAUSE, None
        while True:
            with self._state:
                self._is_idle = self._newest is None and again is None
                self._state.notify_all()
                wait = pause * random.uniform(1.0, 1.2) if again is not None else None
                self._state.wait_for(lambda: self._stopped or self._newest is not None, wait)
                if self._stopped:
                    return
                shown, self._newest = self._newest or again, None
            if shown is None:
                continue
            again = None if self._write(shown) else shown
            pause = _SHORTEST_PAUSE if again is None else min(pause * 2, _LONGEST_PAUSE)

    def _write(self, shown: Pass) -> bool:
        """Whether nothing has to be tried again."""
        ours = self._ours
        self._told = {ref: each for ref, each in self._told.items() if ref in ours}
        placed = {
            step.key: Placed(owner, candidate, step)
            for owner in shown.plan.owners
            if owner.change.owner in ours
            for candidate, step in zip(owner.change.candidates, owner.steps, strict=True)
        }
        found = Found(shown, self._amiss.of(shown.image), placed)
        try:
            for ref, key in sorted(ours.items()):
                told = found.told(key, lambda _: None)
                if told is not None and not told.is_as(self._told.get(ref)):
                    self._write_one(ref, told)
                    self._told[ref] = told
        except NotLeaderError:
            return True
        except OutsideError:
            # The connection: what is followed over it says so.
            return False
        return True

    def _write_one(self, ref: Ref, told: Told) -> None:
        try:
            there = self._client.get(self._client.resource(API_VERSION, ref.kind), ref.organization, ref.name)
            if there is None:
                return
            status = greenhouse_status(told, there.get("status") or {}, self._now())
            if _is_part(status, there.get("status") or {}):
                return
            metadata = {"name": ref.name, "namespace": ref.organization}
            manifest = {"apiVersion": API_VERSION, "kind": ref.kind, "metadata": metadata, "status": status}
            self._client.apply(manifest, force=self._own, subresource="status")
        except MissingError:
            return
        except ConflictError as error:
            fields = "; ".join(f"{each.field} ({each.message})" for each in error.causes)
            self._leave(f"{ref} is left to who writes its status: {fields}; {_HINT}")
        except ObjectError as error:
            self._leave(f"{ref} cannot be shown: {error.message}")

    def _leave(self, text: str) -> None:
        if not self._left:
            self._left = True
            self._said(text)


def _key(ref: Ref, plugin: Object[PluginSpec]) -> PluginKey:
    return ref.organization, plugin.spec.cluster_name or "", name_beside_preset(plugin)


def _is_part(wanted: Any, there: Any) -> bool:
    """Whether all that is wanted is there already; conditions are found by their type."""
    if isinstance(wanted, dict):
        return isinstance(there, dict) and all(_is_part(each, there.get(name)) for name, each in wanted.items())
    if isinstance(wanted, list):
        known = {each.get("type"): each for each in there or ()}
        return all(_is_part(each, known.get(each["type"])) for each in wanted)
    return bool(msgspec.to_builtins(wanted) == there)
