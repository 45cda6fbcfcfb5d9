"""What needs no cluster: the order of objects, which hooks run, what is taken over, what people are told."""

from __future__ import annotations

import random
from typing import Any

import pytest

from fleetform.clusters.inventory import Entry, Known, ObjectRef
from fleetform.clusters.ownership import MANAGER, Manifest, marked
from fleetform.deliver.kubernetes.adoption import taken_over, would_change
from fleetform.deliver.kubernetes.drift import Found, _found
from fleetform.deliver.kubernetes.hooks import HOOK, Moment, as_hook, split
from fleetform.deliver.kubernetes.order import removal_order, waves
from fleetform.deliver.kubernetes.problems import Problem, belongs_to_another, conflict, not_adopted, problem_of
from fleetform.outside.errors import OutsideError
from fleetform.outside.kubernetes.errors import (
    ApiError,
    BusyError,
    Cause,
    ConflictError,
    DeniedError,
    InvalidError,
    NoKindError,
)

KEY, OTHER = ("acme", "eu-1", "web"), ("acme", "eu-1", "db")
REF = ObjectRef("apps", "Deployment", "web", "web")


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


# ---- Taking over


class Server:
    """As much of a client as taking over asks of one: what it would send, and what the server would answer."""

    def __init__(self, answer: Manifest | OutsideError | None = None) -> None:
        self.answer = answer
        self.sent: list[Any] = []

    def merge(self, resource: str, namespace: str, name: str, patch: Manifest) -> Manifest:
        self.sent.append((resource, namespace, name, patch))
        return {"merged": True}

    def apply(self, wanted: Manifest, force: bool = False, dry_run: bool = False) -> Manifest:
        assert (force, dry_run) == (True, True)
        if isinstance(self.answer, OutsideError):
            raise self.answer
        assert self.answer is not None
        return self.answer


def entry(manager: str, operation: str = "Update", subresource: str = "", **fields: Any) -> dict[str, Any]:
    below = {"fieldsV1": {f"f:{name}": value for name, value in fields.items()}} if fields else {}
    return {
        "manager": manager,
        "operation": operation,
        **({"subresource": subresource} if subresource else {}),
        **below,
    }


def live(*entries: dict[str, Any], namespace: str = "web") -> Manifest:
    found = manifest("ConfigMap", "settings", namespace)
    found["metadata"] |= {"resourceVersion": "7", "managedFields": list(entries)}
    return found


@pytest.mark.parametrize(
    "entries",
    [
        [],
        [entry("somebody", a={})],
        [entry(MANAGER, "Apply", a={})],
        [entry("kubectl", subresource="status", a={})],
    ],
)
def test_an_object_that_no_earlier_tool_wrote_is_taken_as_it_is(entries: list[dict[str, Any]]) -> None:
    server, found = Server(), live(*entries)
    assert taken_over(server, "configmaps", found) is found  # type: ignore[arg-type]
    assert server.sent == []


@pytest.mark.parametrize(
    "manager", ["kubectl-client-side-apply", "kubectl-create", "kubectl", "before-first-apply", "helm", "Helm"]
)
def test_fields_of_earlier_tools_become_ours_on_the_version_that_was_read(manager: str) -> None:
    server = Server()
    status, other = entry(manager, subresource="status", s={}), entry("somebody", o={})
    found = live(status, entry(manager, a={"f:x": {}}), other)
    assert taken_over(server, "configmaps", found) == {"merged": True}  # type: ignore[arg-type]
    ours = entry(MANAGER, "Apply", a={"f:x": {}})
    patch = {"metadata": {"resourceVersion": "7", "managedFields": [status, other, ours]}}
    assert server.sent == [("configmaps", "web", "settings", patch)]


def test_ours_and_those_of_several_tools_become_one_entry() -> None:
    server = Server()
    nested = entry("kubectl", data={"f:b": {}, "f:deep": {"f:y": {}}})
    bare = entry("helm")
    found = live(entry(MANAGER, "Apply", data={"f:a": {}, "f:deep": {"f:x": {}}}), nested, bare, namespace="")
    taken_over(server, "configmaps", found)  # type: ignore[arg-type]
    ((_, namespace, _, patch),) = server.sent
    assert namespace == ""
    assert patch["metadata"]["managedFields"] == [
        entry(MANAGER, "Apply", data={"f:a": {}, "f:deep": {"f:x": {}, "f:y": {}}, "f:b": {}})
    ]


def test_what_taking_over_would_change_is_said_by_path_without_what_is_ours_anyway() -> None:
    before = {
        "metadata": {"labels": {"app": "web"}, "resourceVersion": "1", "generation": 1},
        "data": {"same": 1, "other": 1, "gone": 1},
        "status": {"phase": "Old"},
    }
    after = {
        "metadata": {
            "labels": {"app": "web", "fleetform.dev/plugin": "x"},
            "annotations": {"fleetform.dev/owner": "x", "note": "n"},
            "resourceVersion": "2",
            "generation": 2,
            "managedFields": [1],
        },
        "data": {"same": 1, "other": 2, "new": {"deep": 1}},
        "status": {"phase": "New"},
    }
    assert would_change(Server(after), {}, before) == [  # type: ignore[arg-type]
        ".metadata.annotations.note",
        ".data.other",
        ".data.gone",
        ".data.new.deep",
    ]
    assert would_change(Server(BusyError("no answer")), {}, before) == []  # type: ignore[arg-type]


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
        (OutsideError("no token", "give one"), "give one", True),
        (ApiError("odd", 500), ApiError("odd", 500).hint, False),
    ],
)
def test_a_refusal_says_what_to_do_and_whether_trying_again_may_help(
    error: OutsideError, hint: str, refused: bool
) -> None:
    assert problem_of(REF, error) == Problem(REF, error.message, hint, refused)


def test_an_object_of_another_plugin_is_said_to_be_its() -> None:
    assert belongs_to_another(REF, manifest("Deployment"), KEY) is None
    assert belongs_to_another(REF, marked(manifest("Deployment"), KEY), KEY) is None
    assert belongs_to_another(REF, marked(manifest("Deployment"), OTHER), KEY) == Problem(
        REF, "it belongs to plugin acme/eu-1/db", "two plugins cannot have one object: rename one", True
    )


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ([], "would change nothing of it"),
        (["a"], "would change a"),
        (["a", "b", "c"], "would change a, b, c"),
        (["a", "b", "c", "d"], "would change a, b, c and 1 more"),
        (["a", "b", "c", "d", "e"], "would change a, b, c and 2 more"),
    ],
)
def test_what_is_there_already_is_told_with_what_taking_it_over_would_change(changes: list[str], told: str) -> None:
    hint = f"delivery.kubernetes.adopt: true takes it over, which {told}"
    found = not_adopted(REF, manifest("Deployment"), changes)
    assert found == Problem(REF, "it is there already, and not from Fleetform", hint, True)
    whose = marked(manifest("Deployment"), OTHER)
    assert not_adopted(REF, whose, changes).message == "it is there already, and belongs to plugin acme/eu-1/db"


def test_a_conflict_names_the_fields_and_who_has_them() -> None:
    error = ConflictError("conflict", 409, "Conflict", (Cause(".a", "by x"), Cause(".b", "by y")))
    hint = "let one of the two manage the field, or set delivery.kubernetes.drift: Correct"
    assert conflict(REF, error) == Problem(REF, "others manage fields of it: .a (by x); .b (by y)", hint, True)


# ---- Drift


def test_drift_is_what_is_missing_and_what_others_have_now() -> None:
    hook, gone = REF._replace(name="hook"), REF._replace(name="gone")
    unchanged = REF._replace(name="unchanged")

    def fields(number: int) -> dict[str, Any]:
        return {f"f:f{each}": {} for each in range(number)}

    known = Known(
        {gone: Entry("apps/v1"), hook: Entry("apps/v1", hook=True), REF: Entry("apps/v1"), unchanged: Entry("apps/v1")},
        {REF: fields(6), gone: fields(1)},
    )
    there = {unchanged: manifest("Deployment"), REF: live(entry("kubectl-edit", f0={}))}
    lost, *more = _found(known, there)
    assert lost == Found("Deployment web/gone", missing=True)
    (changed,) = more
    assert not changed.missing
    assert changed.text.startswith("Deployment web/web: ")
    assert changed.text.endswith(" and 1 more")
    assert changed.text.count(",") == 4
    known = Known({REF: Entry("apps/v1")}, {REF: fields(5)})
    (all_of_them,) = _found(known, there)
    assert all_of_them.text.count(",") == 4
    assert "more" not in all_of_them.text
