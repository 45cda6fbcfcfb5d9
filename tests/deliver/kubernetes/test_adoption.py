"""Taking over what others brought to a cluster, with the real helm and kubectl on a real API server."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from fleetform.clusters.ownership import PLUGIN
from fleetform.deliver.kubernetes.apply import ApplyOptions, ClusterApply
from fleetform.deliver.kubernetes.helm_records import MANAGED_BY, SET_ASIDE_FOR
from fleetform.outside.errors import OutsideError
from fleetform.outside.kubernetes.access import AccessError
from fleetform.outside.kubernetes.errors import BusyError, NotLeaderError, UnauthorizedError
from fleetform.syntax.yaml_in import read_one
from support.kit import write_files
from support.targets import FLUX_HELM, KEY, OTHER, Failing, Stopping, Target, config, flux_kind
from support.waiting import finished

CHART = """
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {x: "1", legacy: "1"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: extra}
data: {x: "1"}
"""
# What a release had in a revision before its last.
EARLIER = """
---
apiVersion: v1
kind: ConfigMap
metadata: {name: earlier}
"""
HOOK = """
apiVersion: v1
kind: ConfigMap
metadata: {name: %s, annotations: {"helm.sh/hook": "%s"}}
"""


def _install(target: Target, folder: Path, templates: str = CHART) -> None:
    about = "apiVersion: v2\nname: shop\nversion: 1.0.0\n"
    write_files(folder / "shop", {"Chart.yaml": about, "templates/all.yaml": templates})
    ran = target.helm("install", "shop", str(folder / "shop"), "--create-namespace")
    assert ran.returncode == 0, ran.stderr


@pytest.fixture
def release(target: Target, tmp_path: Path) -> Target:
    """The release shop of Helm, in its second revision."""
    _install(target, tmp_path, CHART + EARLIER)
    write_files(tmp_path / "shop", {"templates/all.yaml": CHART})
    assert target.helm("upgrade", "shop", str(tmp_path / "shop")).returncode == 0
    return target


def _records(target: Target, owner: str) -> list[dict[str, Any]]:
    secrets = target.client.resource("v1", "Secret")
    return list(target.client.items(secrets, target.namespace, labels=f"owner={owner},name=shop"))


def _data(target: Target, name: str = "web") -> dict[str, str] | None:
    found = target.get("ConfigMap", name)
    return found["data"] if found is not None else None


def test_what_somebody_else_made_is_not_touched_unless_asked(target: Target) -> None:
    target.apply(config("first"))
    target.client.create({**config(x="theirs"), "metadata": {"name": "web", "namespace": target.namespace}})
    (problem,) = target.apply(config(x="ours"))
    assert problem.refused
    assert "not from Fleetform" in problem.message
    assert "adopt" in problem.hint
    assert (target.get("ConfigMap", "web") or {})["data"] == {"x": "theirs"}
    assert target.apply(config(x="ours"), adopt=True) == []
    assert (target.get("ConfigMap", "web") or {})["data"] == {"x": "ours"}


def test_adopting_takes_fields_of_kubectl_over_so_that_removed_ones_leave(target: Target) -> None:
    target.apply(config("first"))
    manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {x: '1', legacy: '1'}\n"
    target.kubectl("apply", "-f", "-", given=manifest)
    assert target.apply(config(x="2"), adopt=True) == []
    assert (target.get("ConfigMap", "web") or {})["data"] == {"x": "2"}


def test_fields_that_would_leave_are_told_before(target: Target) -> None:
    target.apply(config("first"))
    manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {x: '1', legacy: '1'}\n"
    target.kubectl("apply", "-f", "-", given=manifest)
    (problem,) = target.apply(config(x="2", y="1"))
    assert problem.hint.endswith("it would change in .data.x, .data.y and would lose .data.legacy")
    assert _data(target) == {"x": "1", "legacy": "1"}


@pytest.mark.rule("B22")
def test_a_release_of_helm_is_taken_over_only_if_asked_and_it_is_told_what_becomes_of_it(release: Target) -> None:
    (problem,) = release.apply(config(x="2"), config("new"))
    assert str(problem) == (
        f"ConfigMap {release.namespace}/web: it is there already, "
        f"and belongs to the Helm release {release.namespace}/shop"
    )
    assert problem.hint == (
        "delivery.kubernetes.adopt: true takes it over: it would change in .data.x and would lose .data.legacy; "
        f"the Helm release {release.namespace}/shop would no longer be known to Helm (2 revisions, set aside); "
        "ConfigMap extra, not of the plugin, stays as it is"
    )
    assert problem.refused
    assert len(_records(release, "helm")) == 2
    assert _data(release) == {"x": "1", "legacy": "1"}
    assert release.get("ConfigMap", "new") is None


@pytest.mark.rule("B22")
def test_helm_neither_removes_nor_changes_what_was_taken_over(release: Target, tmp_path: Path) -> None:
    assert release.apply(config(x="2"), adopt=True) == []
    web = release.get("ConfigMap", "web") or {}
    assert web["data"] == {"x": "2"}
    assert not [each for each in web["metadata"]["annotations"] if "helm" in each]
    assert MANAGED_BY not in web["metadata"]["labels"]

    assert "not found" in release.helm("uninstall", "shop").stderr
    assert "cannot be imported" in release.helm("upgrade", "--install", "shop", str(tmp_path / "shop")).stderr
    assert _data(release) == {"x": "2"}
    assert _data(release, "extra") == {"x": "1"}
    assert [each["metadata"]["annotations"][SET_ASIDE_FOR] for each in _records(release, "fleetform")] == [
        "/".join(KEY)
    ] * 2

    # The way back that the documentation names.
    release.kubectl("label", "secret", "-l", "owner=fleetform,name=shop", "owner=helm", "--overwrite")
    assert release.helm("status", "shop").returncode == 0


def test_records_in_config_maps_are_set_aside_too(
    target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HELM_DRIVER", "configmap")
    _install(target, tmp_path)
    assert target.apply(config(x="2"), config("extra"), adopt=True) == []
    assert "not found" in target.helm("uninstall", "shop").stderr
    assert _data(target) == {"x": "2"}


@pytest.mark.parametrize(("label", "after"), [("Helm", None), ("somebody", "somebody")])
def test_a_label_that_a_person_set_goes_only_if_it_gives_the_object_to_helm(
    release: Target, label: str, after: str | None
) -> None:
    """So Helm's manual has objects labelled that a release is to take over."""
    release.kubectl("label", "configmap", "web", f"{MANAGED_BY}-")
    release.kubectl("label", "configmap", "web", f"{MANAGED_BY}={label}")
    assert release.apply(config(x="2"), adopt=True) == []
    assert (release.get("ConfigMap", "web") or {})["metadata"]["labels"].get(MANAGED_BY) == after


def test_a_label_that_gives_no_object_to_helm_stays_where_no_release_is_named(target: Target) -> None:
    """Without the annotations Helm does not go by it."""
    target.apply(config("first"))
    target.client.create({**config(x="1"), "metadata": {"name": "web", "namespace": target.namespace}})
    target.kubectl("label", "configmap", "web", f"{MANAGED_BY}=Helm")
    assert target.apply(config(x="2"), adopt=True) == []
    web = target.get("ConfigMap", "web") or {}
    assert (web["data"], web["metadata"]["labels"][MANAGED_BY]) == ({"x": "2"}, "Helm")


def test_a_label_that_the_chart_sets_itself_stays(release: Target) -> None:
    wanted = config(x="2")
    wanted["metadata"]["labels"] = {MANAGED_BY: "Helm"}
    assert release.apply(wanted, adopt=True) == []
    assert (release.get("ConfigMap", "web") or {})["metadata"]["labels"][MANAGED_BY] == "Helm"


@pytest.mark.rule("B22")
def test_stopped_at_any_write_helm_can_remove_nothing_that_is_ours(target: Target, tmp_path: Path) -> None:
    objects = [config(x="2"), config("extra", x="2")]
    for writes in range(20):
        _install(target, tmp_path)
        stopping = ClusterApply(Stopping(target.client, writes))
        try:
            finished(stopping.apply(KEY, target.namespace, objects, ApplyOptions(adopt=True)))
            ended = True
        except OutsideError:
            ended = False
        ours = [name for name in ("web", "extra") if _is_ours(target, name)]
        target.helm("uninstall", "shop")
        assert [name for name in ours if _data(target, name) is None] == []
        assert target.apply(*objects, adopt=True) == []
        assert _records(target, "helm") == []
        assert (_data(target), _data(target, "extra")) == ({"x": "2"}, {"x": "2"})
        if ended:
            return
        target.remove()
        target.kubectl("delete", "secret", "-l", "owner=fleetform")
    raise AssertionError("it never came to its end")


CONNECTION = (
    BusyError("it does not answer"),
    UnauthorizedError("Unauthorized", 401),
    AccessError("the token cannot be read"),
    NotLeaderError(),
)


@pytest.mark.rule("B25")
@pytest.mark.parametrize("error", CONNECTION, ids=lambda each: type(each).__name__)
def test_what_is_wrong_with_the_connection_is_told_of_no_object(release: Target, error: OutsideError) -> None:
    """Whichever request meets it: asked what taking over would change, taking over, running hooks, removing."""
    hook = read_one(HOOK % ("before", "pre-install,pre-upgrade"))
    objects = [config(x="2"), config("new", x="1"), hook]

    def offered(applying: ClusterApply) -> None:
        finished(applying.apply(KEY, release.namespace, objects))

    def taken(applying: ClusterApply) -> None:
        assert finished(applying.apply(KEY, release.namespace, objects, ApplyOptions(adopt=True), "1")) == []

    def removed(applying: ClusterApply) -> None:
        assert finished(applying.remove(KEY, release.namespace)) == []

    met = [_times_met(release, error, work) for work in (offered, taken, removed)]
    assert all(met), met


def _times_met(target: Target, error: OutsideError, work: Callable[[ClusterApply], None]) -> int:
    """How many requests the work took until it came to its end, each of which met the error once before."""
    for requests in range(100):
        failing = Failing(target.client, requests, error)
        with suppress(type(error)):
            work(ClusterApply(failing))
            assert not failing.met, f"request {requests} met it, and nobody was told"
            return requests
    raise AssertionError("it never came to its end")


def _is_ours(target: Target, name: str) -> bool:
    return PLUGIN in ((target.get("ConfigMap", name) or {"metadata": {}})["metadata"].get("labels") or {})


def test_nothing_of_a_release_is_touched_while_a_part_of_it_cannot_be_taken_over(release: Target) -> None:
    release.apply(config("theirs"), key=OTHER)
    (problem,) = release.apply(config(x="2"), config("theirs"), adopt=True)
    assert "/".join(OTHER) in problem.message
    assert len(_records(release, "helm")) == 2
    assert _data(release) == {"x": "1", "legacy": "1"}


def test_a_release_that_helm_is_changing_is_left_to_it(release: Target) -> None:
    release.kubectl("label", "secret", "-l", "name=shop,version=2", "status=pending-upgrade", "--overwrite")
    (problem,) = release.apply(config(x="2"), adopt=True)
    assert "Helm is at work" in problem.message
    assert problem.refused
    assert len(_records(release, "helm")) == 2


def test_what_flux_would_apply_again_is_not_taken_from_it(release: Target) -> None:
    flux_kind(release, "helmreleases")
    labels = [f"helm.toolkit.fluxcd.io/{each}" for each in ("name=shop", f"namespace={release.namespace}")]
    release.kubectl("label", "configmap", "web", *labels)
    spec = {"interval": "1m", "chartRef": {"kind": "OCIRepository", "name": "shop"}}
    metadata = {"name": "shop", "namespace": release.namespace}
    made = {"apiVersion": FLUX_HELM, "kind": "HelmRelease", "metadata": metadata, "spec": spec}
    release.client.create(made)
    (problem,) = release.apply(config(x="2"), adopt=True)
    assert f"Flux's HelmRelease {release.namespace}/shop" in problem.message
    assert problem.hint.endswith(f"flux suspend helmrelease shop -n {release.namespace}")
    release.client.apply({**made, "spec": {**spec, "suspend": True}}, force=True)
    assert release.apply(config(x="2"), adopt=True) == []


def test_what_helm_installed_is_upgraded_and_not_installed_again(release: Target) -> None:
    hooks = [read_one(HOOK % (each, each)) for each in ("pre-install", "pre-upgrade")]
    release.client.create({**hooks[1], "metadata": {**hooks[1]["metadata"], "namespace": release.namespace}})
    assert release.apply(config(x="2"), *hooks, adopt=True, digest="one") == []
    assert release.get("ConfigMap", "pre-install") is None
    assert _is_ours(release, "pre-upgrade")
