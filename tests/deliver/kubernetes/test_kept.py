"""What stays on a cluster when its plugin goes, and who may have it then, on a real API server."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from fleetform.clusters.inventory import Inventory
from fleetform.clusters.ownership import LEFT_BY, OWNER, PLUGIN, label_of
from fleetform.deliver.kubernetes.apply import ApplyOptions, ClusterApply
from fleetform.outside.errors import OutsideError
from fleetform.outside.kubernetes.client import Client
from fleetform.outside.kubernetes.errors import DeniedError
from support.targets import KEY, OTHER, Stopping, Target, config, custom
from support.waiting import finished

WEB, DB = "/".join(KEY), "/".join(OTHER)


def kept(name: str = "kept", **data: str) -> dict[str, Any]:
    found = config(name, **data)
    found["metadata"]["annotations"] = {"helm.sh/resource-policy": "keep"}
    return found


def _marks(target: Target, name: str = "kept") -> tuple[str | None, str | None, str | None]:
    """The plugin that an object has as its label and in words, and the one that left it."""
    metadata = (target.get("ConfigMap", name) or {})["metadata"]
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    return labels.get(PLUGIN), annotations.get(OWNER), annotations.get(LEFT_BY)


def _as_left_by_an_earlier_release(target: Target, name: str = "kept") -> None:
    target.kubectl("label", "configmap", name, f"{PLUGIN}={label_of(KEY)}")
    target.kubectl("annotate", "configmap", name, f"{OWNER}={WEB}", f"{LEFT_BY}-")


@pytest.mark.rule("B22")
def test_what_is_kept_is_nobodys_once_its_plugin_is_gone_and_its_again_when_it_comes_back(target: Target) -> None:
    kind, thing = custom(f"{uuid4().hex[:8]}.example.com")
    assert target.apply(kind, thing, kept(x="1"), config()) == []
    assert target.remove() == []
    assert _marks(target) == (None, None, WEB)
    crd = target.get("CustomResourceDefinition", kind["metadata"]["name"], "apiextensions.k8s.io/v1", "") or {}
    assert PLUGIN not in crd["metadata"].get("labels", {})
    assert target.apply(kind, thing, kept(y="2"), config()) == []
    assert _marks(target) == (label_of(KEY), WEB, None)
    assert (target.get("ConfigMap", "kept") or {})["data"] == {"y": "2"}
    assert target.remove() == []


@pytest.mark.rule("B22")
def test_a_version_that_had_no_longer_what_is_kept_can_be_gone_back_from(target: Target) -> None:
    assert target.apply(kept(x="1"), config(), digest="one") == []
    assert target.apply(config(), digest="two") == []
    assert _marks(target) == (None, None, WEB)
    assert target.apply(kept(x="1"), config(), digest="one") == []
    assert _marks(target) == (label_of(KEY), WEB, None)


@pytest.mark.rule("B22")
@pytest.mark.parametrize("earlier_release", [False, True])
def test_another_plugin_takes_what_was_left_if_it_is_asked_to(target: Target, earlier_release: bool) -> None:
    assert target.apply(kept(x="1", legacy="1"), config()) == []
    assert target.remove() == []
    if earlier_release:
        _as_left_by_an_earlier_release(target)
    (problem,) = target.apply(kept(x="2"), key=OTHER)
    assert problem.refused
    assert problem.message == f"it is there already, and was left by plugin {WEB}, which no longer has it"
    assert problem.hint == (
        "delivery.kubernetes.adopt: true takes it over: it would change in .data.x and would lose .data.legacy"
    )
    assert target.apply(kept(x="2"), key=OTHER, adopt=True) == []
    assert _marks(target) == (label_of(OTHER), DB, None)
    assert (target.get("ConfigMap", "kept") or {})["data"] == {"x": "2"}
    # Now it is another's for the first one, too.
    (problem,) = target.apply(kept(x="1"), adopt=True)
    assert problem.message == f"it belongs to plugin {DB}"


@pytest.mark.rule("B22")
def test_a_plugin_has_nothing_that_its_inventory_does_not_name(target: Target) -> None:
    """It is there, and a version of it had the object no longer before that was taken off it."""
    assert target.apply(kept(x="1"), config()) == []
    assert target.apply(config()) == []
    _as_left_by_an_earlier_release(target)
    (problem,) = target.apply(kept(x="2"), key=OTHER)
    assert "which no longer has it" in problem.message
    assert target.apply(kept(x="2"), key=OTHER, adopt=True) == []
    assert target.apply(config()) == []
    assert target.get("ConfigMap", "web") is not None


@pytest.mark.rule("B22")
def test_where_inventories_cannot_be_seen_nobody_is_taken_for_gone(target: Target) -> None:
    assert target.apply(kept(), config()) == []
    assert target.remove() == []
    _as_left_by_an_earlier_release(target)
    client = target.as_account_of(target.namespace)
    options = ApplyOptions(adopt=True)
    (problem,) = finished(ClusterApply(client).apply(OTHER, target.namespace, [kept()], options))
    assert problem.message == f"it belongs to plugin {WEB}"
    assert f"fleetform.dev/inventory=true,{PLUGIN}={label_of(KEY)}" in problem.hint
    client.close()


@pytest.mark.rule("B22")
def test_of_what_is_retained_all_stays_and_is_nobodys(target: Target) -> None:
    assert target.apply(config(x="1"), kept()) == []
    assert list(finished(ClusterApply(target.client).remove(KEY, target.namespace, retain=True))) == []
    assert (_marks(target, "web"), _marks(target)) == ((None, None, WEB), (None, None, WEB))
    assert (target.get("ConfigMap", "web") or {})["data"] == {"x": "1"}
    assert Inventory(target.client, KEY, target.namespace).read().objects == {}
    assert target.apply(config(x="1"), key=OTHER, adopt=True) == []


@pytest.mark.rule("B22")
def test_what_helm_took_since_is_not_taken_back_unasked(target: Target) -> None:
    assert target.apply(kept()) == []
    assert target.remove() == []
    target.kubectl("annotate", "configmap", "kept", "meta.helm.sh/release-name=shop")
    (problem,) = target.apply(kept())
    assert "belongs to the Helm release" in problem.message


class Contended(Client):
    """A client before whose first merges somebody else writes."""

    def __init__(self, client: Client, times: int) -> None:
        super().__init__(client.access)
        self._others, self._left = client, times

    def merge(self, resource: Any, namespace: str, name: str, patch: Any, subresource: str = "") -> Any:
        if self._left:
            self._left -= 1
            self._others.merge(resource, namespace, name, {"data": {"written": str(self._left)}})
        return super().merge(resource, namespace, name, patch, subresource)


@pytest.mark.rule("B22")
def test_what_others_write_at_that_moment_stays(target: Target) -> None:
    assert target.apply(kept(x="1")) == []
    contended = Contended(target.client, 2)
    assert list(finished(ClusterApply(contended).remove(KEY, target.namespace))) == []
    assert _marks(target) == (None, None, WEB)
    assert (target.get("ConfigMap", "kept") or {})["data"] == {"x": "1", "written": "0"}
    contended.close()


class Refused(Client):
    """A client whose account may not change anything that is there."""

    def merge(self, *_: Any, **__: Any) -> Any:
        raise DeniedError("configmaps may not be patched", 403)


@pytest.mark.rule("B22")
def test_one_that_cannot_be_told_so_goes_all_the_same_and_another_may_have_what_it_left(target: Target) -> None:
    assert target.apply(kept(x="1"), config()) == []
    refused = Refused(target.client.access)
    assert list(finished(ClusterApply(refused).remove(KEY, target.namespace))) == []
    assert _marks(target) == (label_of(KEY), WEB, None)
    assert target.apply(kept(x="1"), key=OTHER, adopt=True) == []
    refused.close()


@pytest.mark.rule("B22")
def test_stopped_at_any_write_what_is_kept_ends_as_nobodys(target: Target) -> None:
    for writes in range(10):
        assert target.apply(kept("a"), config("b"), kept("c")) == []
        try:
            finished(ClusterApply(Stopping(target.client, writes)).remove(KEY, target.namespace))
            ended = True
        except OutsideError:
            ended = False
        assert target.remove() == []
        assert [_marks(target, name) for name in "ac"] == [(None, None, WEB)] * 2
        assert target.get("ConfigMap", "b") is None
        if ended:
            return
    raise AssertionError("it never came to its end")
