"""What is concluded from objects on a cluster, and when a cluster is asked about them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fleetform.clusters.inventory import Entry, Known, ObjectRef
from fleetform.clusters.listing import Live
from fleetform.clusters.work import ClusterKey, Clusters, Outcome, Work
from fleetform.model.results.decisions import PluginKey
from fleetform.observe.applied import AppliedObserver, _verdict
from fleetform.outside.errors import OutsideError
from fleetform.outside.kubernetes.access import Access, AccessError
from fleetform.outside.kubernetes.errors import BusyError, DeniedError, ObjectError
from fleetform.ports.observing import Applied, CheckedObject, Delivered, Verdict

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
WEB = ObjectRef("apps", "Deployment", "web", "web")
JOB = ObjectRef("batch", "Job", "web", "load")
POD = ObjectRef("", "Pod", "web", "one")
HOOK = ObjectRef("batch", "Job", "web", "migrate")


# ---- Judging


def live(ref: ObjectRef, **status: Any) -> dict[str, Any]:
    metadata = {"name": ref.name, "namespace": ref.namespace, "generation": 1}
    return {
        "apiVersion": f"{ref.group}/v1",
        "kind": ref.kind,
        "metadata": metadata,
        "status": {"observedGeneration": 1, **status},
    }


def condition(type_: str, **more: str) -> list[dict[str, str]]:
    return [{"type": type_, "status": "True", **more}]


SOUND = {
    WEB: live(
        WEB, replicas=1, updatedReplicas=1, readyReplicas=1, availableReplicas=1, conditions=condition("Available")
    ),
    JOB: live(JOB, conditions=condition("Complete")),
    HOOK: live(HOOK, conditions=condition("Failed", message="no database")),
}
FAILED = live(JOB, conditions=condition("Failed", message="no disk"))
WAITING = live(WEB, replicas=1)


def judged(
    found: Mapping[ObjectRef, Any],
    *checks: CheckedObject,
    applied: str = "d1",
    untold: Mapping[ObjectRef, ObjectError] | None = None,
) -> Verdict:
    objects = {WEB: Entry("apps/v1"), HOOK: Entry("batch/v1", hook=True), JOB: Entry("batch/v1")}
    return _verdict(Known(objects, applied=applied), Live(found, untold or {}), checks, NOW)


@pytest.mark.parametrize(
    ("found", "health", "message"),
    [
        (SOUND, "Healthy", ""),
        ({**SOUND, JOB: FAILED}, "Failed", "Job web/load: no disk"),
        ({**SOUND, WEB: WAITING}, "Unknown", "Deployment web/web: 0 of 1 replicas are updated"),
        # Failed before under way, whichever comes first; of what is under way, the first.
        ({**SOUND, WEB: WAITING, JOB: FAILED}, "Failed", "Job web/load: no disk"),
        ({WEB: SOUND[WEB]}, "Unknown", "Job web/load: it is missing"),
        ({}, "Unknown", "Deployment web/web: it is missing"),
    ],
)
def test_a_plugin_is_as_well_as_the_worst_of_its_objects(
    found: Mapping[ObjectRef, Any], health: str, message: str
) -> None:
    assert judged(found) == Verdict(health, message)  # type: ignore[arg-type]


def test_what_the_cluster_does_not_tell_of_is_unknown_unless_something_else_has_failed() -> None:
    denied = DeniedError("jobs may not be listed", 403)
    without_job = {WEB: SOUND[WEB]}
    unknown = Verdict("Unknown", "Job web/load: jobs may not be listed", hint=denied.hint)
    assert judged(without_job, untold={JOB: denied}) == unknown
    assert judged({WEB: WAITING}, untold={JOB: denied}) == unknown, "what to do about it is told first"
    assert judged({JOB: FAILED}, untold={WEB: denied}).health == "Failed"
    assert judged(without_job, CheckedObject("Deployment", "web"), untold={JOB: denied}) == Verdict("Healthy")


def test_what_flux_installs_from_must_be_seen_to_tell_whether_it_has_done_so() -> None:
    source = ObjectRef("source.toolkit.fluxcd.io", "GitRepository", "web", "repo")
    kustomization = ObjectRef("kustomize.toolkit.fluxcd.io", "Kustomization", "web", "all")
    done = live(kustomization, conditions=condition("Ready"))
    done["spec"] = {"sourceRef": {"kind": "GitRepository", "name": "repo"}}
    known = Known({kustomization: Entry("kustomize.toolkit.fluxcd.io/v1")}, applied="d1")
    assert _verdict(known, Live({kustomization: done}, {}), (), NOW) == Verdict("Healthy")
    denied = {source: DeniedError("repositories may not be listed", 403)}
    assert _verdict(known, Live({kustomization: done}, denied), (), NOW) == Verdict(
        "Unknown", f"{kustomization}: {source}: repositories may not be listed"
    )


def test_nothing_is_told_of_a_plugin_that_was_never_applied_whole() -> None:
    assert judged(SOUND, applied="") == Verdict("Unknown", "its inventory is not there")


@pytest.mark.parametrize(
    ("check", "is_meant"),
    [
        (CheckedObject("Deployment", "web"), True),
        (CheckedObject("Deployment", "web", "web"), True),
        (CheckedObject("Deployment", "web", "web", "apps/v1"), True),
        (CheckedObject("Deployment", "web", "", "apps/v1beta1"), True),
        (CheckedObject("Deployment", "web", "other"), False),
        (CheckedObject("Deployment", "web", "web", "extensions/v1"), False),
        (CheckedObject("Deployment", "other"), False),
        (CheckedObject("StatefulSet", "web"), False),
    ],
)
def test_only_the_objects_that_are_named_count_and_each_must_be_there(check: CheckedObject, is_meant: bool) -> None:
    """The job has failed, and nobody asks about it."""
    found = {**SOUND, JOB: FAILED}
    lost = f"{check.kind} {check.name}, which its health depends on, is not of it"
    assert judged(found, check) == (Verdict("Healthy") if is_meant else Verdict("Unknown", lost))
    assert judged(found, check, CheckedObject("Job", "load")) == (
        Verdict("Failed", "Job web/load: no disk") if is_meant else Verdict("Unknown", lost)
    )


# ---- Asking

KEY, OTHER, ELSEWHERE = ("acme", "eu-1", "web"), ("acme", "eu-1", "db"), ("acme", "eu-1", "files")
CLUSTER: ClusterKey = ("acme", "eu-1")
SOON, LATER = timedelta(seconds=5), timedelta(seconds=30)


class Told(Clusters):
    """Clusters that answer when a test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Hashable] = []
        self.answer: Outcome | None = None

    def outcome(
        self, cluster: ClusterKey, access: Access | AccessError, slot: Hashable, id_: Hashable, work: Work, *_: Any
    ) -> Outcome | None:
        self.asked.append(id_)
        answer, self.answer = self.answer, None
        return answer


class Assumed:
    """Another observer: whatever it is asked about is healthy."""

    def __init__(self) -> None:
        self.asked: list[list[PluginKey]] = []

    def observe(self, delivered: Sequence[Delivered], now: datetime) -> dict[PluginKey, Verdict]:
        self.asked.append([each.key for each in delivered])
        return {each.key: Verdict("Healthy", "assumed") for each in delivered}


class Watch:
    """An observer over time."""

    def __init__(self) -> None:
        self.clusters, self.otherwise = Told(), Assumed()
        self.observer = AppliedObserver(self.clusters, lambda _: Access("https://eu-1.example.com"), self.otherwise)
        self.now = NOW

    def after(self, seconds: float, answer: Outcome | None = None, *delivered: Delivered) -> dict[PluginKey, Verdict]:
        """What is said so many seconds later, if a cluster that is asked gives an answer then."""
        self.now += timedelta(seconds=seconds)
        self.clusters.answer = answer
        return dict(self.observer.observe(delivered or (web(),), self.now))


def web(hash_: str = "h1:a", key: PluginKey = KEY) -> Delivered:
    return Delivered(key, hash_, NOW, None, applied=Applied("web", CLUSTER))


def answer(**healths: str) -> Outcome:
    return Outcome({("acme", "eu-1", name): Verdict(health) for name, health in healths.items()})  # type: ignore[arg-type]


def test_what_was_applied_nowhere_is_asked_of_the_other_observer_alone() -> None:
    watch = Watch()
    elsewhere = Delivered(ELSEWHERE, "h1:f", NOW, None)
    assert watch.after(0, None, elsewhere) == {ELSEWHERE: Verdict("Healthy", "assumed")}
    assert watch.clusters.asked == []
    found = watch.after(0, None, web(), elsewhere)
    assert found[ELSEWHERE] == Verdict("Healthy", "assumed")
    assert found[KEY].message == "its cluster is being asked"
    watch.after(0)
    assert watch.otherwise.asked == [[ELSEWHERE], [ELSEWHERE]]


def test_a_cluster_is_asked_again_soon_while_something_is_under_way_and_later_when_all_is_well() -> None:
    watch = Watch()
    asked = Verdict("Unknown", "its cluster is being asked", NOW + SOON, reachable=None)
    assert watch.after(0) == {KEY: asked}
    assert watch.after(1) == {KEY: asked._replace(look_at=watch.now + SOON)}
    assert watch.after(1, answer(web="Unknown")) == {KEY: Verdict("Unknown", "", watch.now + SOON)}
    due = watch.now + SOON
    assert len(watch.clusters.asked) == 3
    assert watch.after(4.9) == {KEY: Verdict("Unknown", "", due)}
    assert len(watch.clusters.asked) == 3, "it is not due yet"
    assert watch.after(0.1, answer(web="Healthy")) == {KEY: Verdict("Healthy", "", watch.now + LATER)}
    assert len(watch.clusters.asked) == 4
    due = watch.now + LATER
    assert watch.after(29.9) == {KEY: Verdict("Healthy", "", due)}
    assert len(watch.clusters.asked) == 4
    assert watch.after(0.1) == {KEY: Verdict("Healthy", "", watch.now + SOON)}, "what is known counts meanwhile"
    assert len(watch.clusters.asked) == 5


def test_one_that_is_not_well_has_its_cluster_asked_soon() -> None:
    watch = Watch()
    both = (web(), web("h1:b", OTHER))
    found = watch.after(0, answer(web="Healthy", db="Failed"), *both)
    assert found == {KEY: Verdict("Healthy", "", NOW + SOON), OTHER: Verdict("Failed", "", NOW + SOON)}
    assert watch.clusters.asked == [frozenset({(KEY, "h1:a"), (OTHER, "h1:b")})]


def test_another_hash_is_asked_about_at_once_and_what_is_known_of_the_old_one_does_not_count() -> None:
    watch = Watch()
    watch.after(0, answer(web="Healthy"))
    assert watch.after(1, None, web("h1:new"))[KEY].message == "its cluster is being asked"
    assert watch.clusters.asked[-1] == frozenset({(KEY, "h1:new")})
    # It is being asked about that one yet, whatever was delivered since.
    watch.after(1, None, web("h1:newer"))
    assert watch.clusters.asked[-1] == frozenset({(KEY, "h1:new")})
    assert watch.after(1, answer(web="Healthy"), web("h1:newer"))[KEY].health == "Unknown"
    assert watch.after(1, answer(web="Healthy"), web("h1:newer"))[KEY].health == "Healthy"
    assert watch.clusters.asked[-1] == frozenset({(KEY, "h1:newer")})


def test_what_the_cluster_says_nothing_of_is_unknown() -> None:
    watch = Watch()
    assert watch.after(0, Outcome({})) == {KEY: Verdict("Unknown", "", NOW + SOON)}


@pytest.mark.parametrize(
    ("error", "reachable", "again"),
    [
        (BusyError("eu-1 does not answer", 503), False, LATER),
        (OutsideError("eu-1 may not be listed", ""), True, SOON),
    ],
)
def test_a_cluster_that_cannot_be_asked_is_unknown_for_a_while(
    error: OutsideError, reachable: bool, again: timedelta
) -> None:
    watch = Watch()
    watch.after(0, answer(web="Healthy"))
    found = watch.after(30, Outcome(error=error))
    assert found == {KEY: Verdict("Unknown", error.message, watch.now + again, reachable)}


def test_a_cluster_that_does_not_tell_of_some_kind_is_asked_less_and_less_often() -> None:
    """Until it tells again; what it told of others counts."""
    watch, denied = Watch(), Verdict("Unknown", "jobs may not be listed", hint="grant it")
    assert watch.after(0, Outcome({KEY: denied}))[KEY].look_at == watch.now + SOON
    assert watch.after(5, Outcome({KEY: denied}))[KEY].look_at == watch.now + 2 * SOON
    assert watch.after(10, Outcome({KEY: denied}))[KEY].look_at == watch.now + 4 * SOON
    assert watch.after(20, answer(web="Failed"))[KEY].look_at == watch.now + SOON
    assert watch.after(5, Outcome({KEY: denied}))[KEY].look_at == watch.now + SOON


def test_what_nobody_asks_about_any_more_is_forgotten() -> None:
    watch = Watch()
    watch.after(0, answer(web="Healthy"))
    watch.after(1, None, Delivered(ELSEWHERE, "h1:f", NOW, None))
    assert watch.after(1)[KEY].message == "its cluster is being asked"
