"""What needs no cluster: the order of objects, which hooks run, what people are told."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

import pytest

from fleetform.clusters.inventory import Entry, Known, ObjectRef
from fleetform.clusters.listing import Live
from fleetform.clusters.ownership import Manifest, label_of, marked
from fleetform.clusters.work import Clusters, Outcome
from fleetform.deliver.kubernetes.apply import ApplyOptions
from fleetform.deliver.kubernetes.delivery import KubernetesDeliveries, _failure
from fleetform.deliver.kubernetes.drift import Found, _found
from fleetform.deliver.kubernetes.existing import Difference
from fleetform.deliver.kubernetes.hooks import HOOK, Moment, as_hook, split
from fleetform.deliver.kubernetes.order import removal_order, waves
from fleetform.deliver.kubernetes.problems import (
    Existing,
    KeptByHelm,
    Problem,
    belongs_to_another,
    conflict,
    not_adopted,
    problem_of,
)
from fleetform.outside.kubernetes.access import Access
from fleetform.outside.kubernetes.errors import (
    Cause,
    ConflictError,
    DeniedError,
    HeldUpError,
    InvalidError,
    MissingError,
    NoKindError,
    NotServedError,
    ObjectError,
)
from fleetform.ports.delivery import UNDER_WAY, Failure, Note, Parcel

KEY, OTHER = ("acme", "eu-1", "web"), ("acme", "eu-1", "db")
REF = ObjectRef("apps", "Deployment", "web", "web")
NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


def manifest(kind: str, name: str = "a", namespace: str = "", **annotations: str) -> Manifest:
    metadata: dict[str, Any] = {"name": name, **({"namespace": namespace} if namespace else {})}
    if annotations:
        metadata["annotations"] = {f"helm.sh/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata}


def shown(objects: Any) -> list[str]:
    return [f"{each['kind']} {each['metadata']['name']}" for each in objects]


# ---- Order

IN_ORDER = [
    [manifest("CustomResourceDefinition"), manifest("Namespace"), manifest("ClusterRole")],
    [manifest("IngressClass"), manifest("StorageClass")],
    [
        manifest("ResourceQuota"),
        manifest("LimitRange"),
        manifest("PriorityClass"),
        manifest("ServiceAccount"),
        manifest("Secret"),
        manifest("ConfigMap", "a"),
        manifest("ConfigMap", "b"),
        manifest("ConfigMap", "a", "one"),
        manifest("ConfigMap", "b", "one"),
        manifest("ConfigMap", "a", "two"),
        manifest("PersistentVolume"),
        manifest("PersistentVolumeClaim"),
        manifest("Role"),
        manifest("ClusterRoleBinding"),
        manifest("RoleBinding"),
        manifest("Service"),
        manifest("Aardvark"),
        manifest("Zebra"),
        manifest("Deployment"),
        manifest("StatefulSet"),
        manifest("DaemonSet"),
        manifest("Job"),
        manifest("CronJob"),
        manifest("HorizontalPodAutoscaler"),
        manifest("Ingress"),
        manifest("APIService"),
    ],
    [manifest("MutatingWebhookConfiguration"), manifest("ValidatingWebhookConfiguration")],
]


def test_objects_come_in_waves_and_by_kind_and_name_and_go_the_other_way_round() -> None:
    mixed = [each for wave in IN_ORDER for each in wave]
    random.Random(1).shuffle(mixed)
    # Within the last wave kinds come by name.
    assert waves(mixed) == IN_ORDER
    assert removal_order(mixed) == [each for wave in reversed(IN_ORDER) for each in reversed(wave)]


def test_a_wave_without_objects_is_none() -> None:
    assert waves([]) == []
    assert waves([manifest("Ingress")]) == [[manifest("Ingress")]]


# ---- Hooks


@pytest.mark.parametrize(
    ("moment", "before", "after"),
    [
        ("install", ["Job crds", "Job both", "Job install", "ConfigMap same", "Job same"], ["Job both", "Job done"]),
        ("upgrade", ["Job crds", "Job upgrade"], ["Job upgraded"]),
    ],
)
def test_the_hooks_of_a_moment_run_by_weight_kind_and_name_and_others_do_not(
    moment: Moment, before: list[str], after: list[str]
) -> None:
    objects = [
        manifest("Job", "same", hook="pre-install", hook_weight="1"),
        manifest("ConfigMap", "same", hook="pre-install", hook_weight="1"),
        manifest("Job", "done", hook="post-install"),
        manifest("Deployment", "web"),
        manifest("Job", "crds", hook="crd-install", hook_weight="-10"),
        manifest("Job", "both", hook="pre-install,post-install", hook_weight="-5"),
        manifest("Job", "install", hook="pre-install"),
        manifest("Job", "upgrade", hook="pre-upgrade"),
        manifest("Job", "upgraded", hook="post-upgrade"),
        manifest("Job", "test", hook="test"),
        manifest("Job", "removed", hook="pre-delete,post-delete,pre-rollback,post-rollback"),
    ]
    release = split(objects, moment)
    assert (shown(release.before), shown(release.objects), shown(release.after)) == (before, ["Deployment web"], after)


def test_a_hook_says_that_it_is_one_and_keeps_its_labels() -> None:
    hook = manifest("Job")
    assert as_hook(hook)["metadata"]["labels"] == {HOOK: "true"}
    hook["metadata"]["labels"] = {"app": "web"}
    assert as_hook(hook)["metadata"]["labels"] == {"app": "web", HOOK: "true"}
    assert hook["metadata"]["labels"] == {"app": "web"}


# ---- What people are told


def test_a_problem_says_of_what_it_is() -> None:
    assert str(Problem(REF, "it is there")) == "Deployment web/web: it is there"


GRANT = "grant the account of the cluster's kubeconfig what it needs, or leave the object out by a transform"


@pytest.mark.parametrize(
    ("error", "hint", "refused"),
    [
        (NoKindError("no kind Thing"), "install what brings this kind first, and say so with dependsOn", False),
        (DeniedError("may not", 403), GRANT, True),
        (
            InvalidError("field is immutable", 422),
            "a field of it cannot be changed: delete the object, and it is created again",
            True,
        ),
        (InvalidError("bad", 422), "the cluster refuses it as it is rendered", True),
        (
            HeldUpError("failed calling webhook", 500),
            "look at the webhook that it names: the cluster takes no such object without it",
            False,
        ),
        (
            NotServedError("service unavailable", 503),
            "look at the APIService of its group, and at the service which that names",
            False,
        ),
        (MissingError("gone", 404), "", False),
    ],
)
def test_a_refusal_says_what_to_do_and_whether_trying_again_may_help(
    error: ObjectError, hint: str, refused: bool
) -> None:
    assert problem_of(REF, error) == Problem(REF, error.message, hint, refused)


def test_an_object_of_another_plugin_is_said_to_be_its() -> None:
    assert belongs_to_another(REF, manifest("Deployment"), KEY) is None
    assert belongs_to_another(REF, marked(manifest("Deployment"), KEY), KEY) is None
    hint = (
        "two plugins cannot have one object: rename one; if that plugin is gone for good, delete its inventory: "
        f"kubectl delete configmap -A -l fleetform.dev/inventory=true,fleetform.dev/plugin={label_of(OTHER)}"
    )
    assert belongs_to_another(REF, marked(manifest("Deployment"), OTHER), KEY) == Problem(
        REF, "it belongs to plugin acme/eu-1/db", hint, True
    )


SETTING = "delivery.flux.adopt"


def existing(name: str, owner: str = "", changed: int = 0, removed: int = 0) -> Existing:
    difference = Difference(tuple(f".c{n}" for n in range(changed)), tuple(f".r{n}" for n in range(removed)))
    return Existing(REF._replace(name=name), owner, difference)


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (existing("a"), "it would not change"),
        (existing("a", changed=1), "it would change in .c0"),
        (existing("a", removed=2), "it would lose .r0, .r1"),
        (existing("a", changed=5, removed=1), "it would change in .c0, .c1, .c2, .c3, .c4 and would lose .r0"),
        (existing("a", changed=6), "it would change in .c0, .c1, .c2, .c3, .c4 and 1 more"),
        (existing("a", removed=7), "it would lose .r0, .r1, .r2, .r3, .r4 and 2 more"),
    ],
)
def test_what_is_there_already_is_told_with_what_taking_it_over_would_change(found: Existing, told: str) -> None:
    hint = f"{SETTING}: true takes it over: {told}"
    message = "it is there already, and not from Fleetform"
    assert not_adopted([found], [], SETTING) == Problem(found.ref, message, hint, True)
    of_flux = not_adopted([found._replace(owner="Flux (web)")], [], SETTING)
    assert of_flux.message == "it is there already, and belongs to Flux (web)"


def test_several_that_are_there_already_are_told_at_once() -> None:
    two = not_adopted([existing("a", changed=1), existing("b")], [], SETTING)
    assert two.message == "it is there already, and not from Fleetform; so is Deployment web/b"
    assert two.hint == (
        f"{SETTING}: true takes them over: Deployment web/a would change in .c0; Deployment web/b would not change"
    )
    many = [existing(f"d{number:02}") for number in range(12)]
    assert not_adopted(many[:11], [], SETTING).message.endswith("Deployment web/d10")
    assert not_adopted(many, [], SETTING).message.endswith("Deployment web/d10 and 1 more")
    assert not_adopted(many[:10], [], SETTING).hint.endswith("Deployment web/d09 would not change")
    assert not_adopted(many[:11], [], SETTING).hint.endswith("web/d09 would not change; and so on for 1 more")


@pytest.mark.parametrize(
    ("revisions", "others", "told"),
    [
        (1, 0, "web/site would no longer be known to Helm (1 revision, set aside)"),
        (1_200, 0, "web/site would no longer be known to Helm (1,200 revisions, set aside)"),
        (
            2,
            1,
            "web/site would no longer be known to Helm (2 revisions, set aside);"
            " Deployment web/o0, not of the plugin, stays as it is",
        ),
        (
            2,
            2,
            "web/site would no longer be known to Helm (2 revisions, set aside);"
            " Deployment web/o0, Deployment web/o1, not of the plugin, stay as they are",
        ),
    ],
)
def test_what_helm_keeps_of_a_release_is_told(revisions: int, others: int, told: str) -> None:
    kept = KeptByHelm("web/site", revisions, [REF._replace(name=f"o{number}") for number in range(others)])
    assert not_adopted([existing("a")], [kept], SETTING).hint == (
        f"{SETTING}: true takes it over: it would not change; {told}"
    )


def test_a_conflict_names_the_fields_and_who_has_them() -> None:
    error = ConflictError("conflict", 409, "Conflict", (Cause(".a", "by x"), Cause(".b", "by y")))
    hint = "let one of the two manage the field, or set delivery.kubernetes.drift: Correct"
    assert conflict(REF, error) == Problem(REF, "others manage fields of it: .a (by x); .b (by y)", hint, True)


def test_of_several_problems_one_that_is_refused_is_told_and_how_many_more_there_are() -> None:
    passing = Problem(REF, "it is going", "wait")
    refused = Problem(REF, "it is immutable", "delete it", refused=True)
    told = "Deployment web/web: it is immutable"
    assert _failure(Outcome([])) is None
    assert _failure(Outcome([passing])) == Failure("Deployment web/web: it is going", "wait")
    assert _failure(Outcome([refused])) == Failure(told, "delete it", refused=True)
    assert _failure(Outcome([passing, refused])) == Failure(f"{told} (and 1 more)", "delete it", refused=True)
    many = [passing] * 1_200 + [refused]
    assert _failure(Outcome(many)) == Failure(f"{told} (and 1,200 more)", "delete it", refused=True)


# ---- Drift


def entry(manager: str, **fields: Any) -> dict[str, Any]:
    return {
        "manager": manager,
        "operation": "Update",
        "fieldsV1": {f"f:{name}": below for name, below in fields.items()},
    }


def live(*entries: dict[str, Any]) -> Manifest:
    found = manifest("ConfigMap", "settings", "web")
    found["metadata"]["managedFields"] = list(entries)
    return found


def test_drift_is_what_is_missing_and_what_others_have_now() -> None:
    hook, gone = REF._replace(name="hook"), REF._replace(name="gone")
    unchanged = REF._replace(name="unchanged")

    def fields(number: int) -> dict[str, Any]:
        return {f"f:f{each}": {} for each in range(number)}

    known = Known(
        {gone: Entry("apps/v1"), hook: Entry("apps/v1", hook=True), REF: Entry("apps/v1"), unchanged: Entry("apps/v1")},
        {REF: fields(6), gone: fields(1)},
    )
    there = Live({unchanged: manifest("Deployment"), REF: live(entry("kubectl-edit", f0={}))}, {})
    lost, *more = _found(known, there, NOW)
    assert lost == Found("Deployment web/gone", missing=True)
    (changed,) = more
    assert not changed.missing
    assert changed.text.startswith("Deployment web/web: ")
    assert changed.text.endswith(" and 1 more")
    assert changed.text.count(",") == 4
    known = Known({REF: Entry("apps/v1")}, {REF: fields(5)})
    (all_of_them,) = _found(known, there, NOW)
    assert all_of_them.text.count(",") == 4
    assert "more" not in all_of_them.text


# ---- What is on its way


def test_of_a_plugin_one_very_state_is_on_its_way() -> None:
    # Nobody is there to do the work.
    clusters = Clusters(threads=0, asking_threads=0)
    deliveries = KubernetesDeliveries(clusters)
    delivery = deliveries.to(("acme", "eu-1"), Access("https://eu-1.example.com"), "web", ApplyOptions())
    try:
        for state in ("one", "two"):
            assert delivery.deliver([Parcel(KEY, {}, "digest", state)], [], Note({})) == {KEY: UNDER_WAY}
        found = {
            (key[2], state): deliveries.is_under_way(key, state) for key in (KEY, OTHER) for state in ("one", "two")
        }
        assert found == {("web", "one"): False, ("web", "two"): True, ("db", "one"): False, ("db", "two"): False}
    finally:
        clusters.close()
