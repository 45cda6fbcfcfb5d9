"""What people see with kubectl: a control plane beside a real API server, which holds its fleet."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from textwrap import dedent
from typing import Any
from uuid import uuid4

import pytest

from fleetform.model.kinds import API_VERSION
from fleetform.model.objects import Ref
from fleetform.operator.status.events import Events, Told, from_store
from fleetform.operator.status.seen import Cache
from fleetform.operator.status.showing import FOLLOWED, StatusWriter
from fleetform.outside.errors import OutsideError
from fleetform.outside.kubernetes.client import Client
from fleetform.outside.kubernetes.errors import BusyError
from fleetform.ports.store import Event
from support.api_objects import ApiObjects
from support.management import Management
from support.plane import Files, Plane

SECONDS = 60.0
FLEET = """
apiVersion: fleetform.dev/v1alpha1
kind: Cluster
metadata: {name: eu-1, labels: {tier: gold}}
---
apiVersion: fleetform.dev/v1alpha1
kind: Cluster
metadata: {name: eu-2, labels: {tier: dev}}
---
apiVersion: fleetform.dev/v1alpha1
kind: PluginDefinition
metadata: {name: web}
spec:
  version: 1.0.0
  source: {manifests: {path: ./manifests}}
  options:
  - {name: replicas, type: int, default: 1}
  - {name: token, type: secret}
---
apiVersion: fleetform.dev/v1alpha1
kind: PluginPreset
metadata: {name: web}
spec:
  clusterSelector: {}
  rolloutPolicy: standard
  plugin: {pluginDefinition: {name: web}, optionValues: [{name: replicas, value: 2}]}
---
apiVersion: fleetform.dev/v1alpha1
kind: PluginOverride
metadata: {name: more}
spec:
  pluginDefinitionNames: [web]
  overrides: [{path: replicas, value: 3}]
---
apiVersion: fleetform.dev/v1alpha1
kind: RolloutPolicy
metadata: {name: standard}
spec:
  stages:
  - {name: dev, clusterSelector: {matchLabels: {tier: dev}}}
  - {name: gold, remainder: true, approvals: {required: 1}}
"""


class Operator:
    """A control plane whose source is the API server, and which shows its passes there."""

    def __init__(self, management: Management, namespace: str) -> None:
        self.management, self.namespace = management, namespace
        self.client = Client(management.client.access)
        self.failures: list[str] = []
        self.may_fail = False
        self.plane = Plane(ApiObjects(management.client, namespace))
        self.begin()

    def begin(self, organization: str = "") -> None:
        """A new process, for the organization of the namespace unless for another."""
        following = Client(self.management.client.access, connections=len(FOLLOWED) + 2)
        self.cache = Cache(following, FOLLOWED, self._failed)
        self.cache.start()
        whose = organization or self.namespace
        self.writer = StatusWriter(self.client, self.cache, self._now, organization=whose, failed=self._failed)
        self.writer.start()

    def _now(self) -> datetime:
        return self.plane.clock.now()

    def _failed(self, what: str, error: OutsideError) -> None:
        # A server that has only just learned of a kind is asked again.
        if "(re)initializing" not in str(error):
            self.failures.append(f"{what}: {error}")

    def show(self, **span: float) -> int:
        """Passes until nothing is due; how many requests it took to show that."""
        self.until(self._has_seen_all)
        before = self.writer.writes
        until = self.plane.clock.at + timedelta(**span)
        while True:
            report = self.plane.control.run_pass()
            self.writer.show(report, self.plane.control.fleet, self.plane.control.image)
            if report.wrote:
                continue
            if self.plane.clock.at == until:
                break
            due = report.next_look
            self.plane.clock.at = until if due is None or due > until else due
        self.rest()
        return self.writer.writes - before

    def _has_seen_all(self) -> bool:
        """A first list may be older than what was applied; what is missing in it comes a little later."""
        if not isinstance(self.plane.files, ApiObjects):
            return True
        names = [each.removesuffix(".yaml").split("/", 2) for each in self.plane.files.read().files]
        refs = [Ref(*each) for each in names if each[0] != "Approval"]
        return all(self.cache.get(ref) is not None for ref in refs)

    def rest(self) -> None:
        assert self.writer.wait(SECONDS)
        assert self.may_fail or not self.failures, self.failures

    def rest_until(self, look: Callable[[], Any], wanted: dict[str, Any]) -> None:
        """Until an object is as it should be: the cache hears of what others do when it does."""

        def is_so() -> bool:
            found = look()
            return found is not None and all(found.get(key) == each for key, each in wanted.items())

        self.until(is_so)
        self.rest()

    def until(self, holds: Callable[[], bool]) -> None:
        end = time.monotonic() + SECONDS
        while not holds():
            assert time.monotonic() < end
            time.sleep(0.02)

    def get(self, kind: str, name: str) -> dict[str, Any] | None:
        return self.client.get(self.client.resource(API_VERSION, kind), self.namespace, name)

    def status(self, kind: str, name: str) -> dict[str, Any]:
        found = self.get(kind, name)
        assert found is not None
        return dict(found["status"])

    def apply(self, manifests: str) -> None:
        given = dedent(manifests)
        done = self.management.kubectl(
            "apply", "--server-side", "--force-conflicts", "-n", self.namespace, "-f", "-", given=given
        )
        assert done.returncode == 0, done.stderr

    def kubectl(self, *arguments: str) -> str:
        done = self.management.kubectl(*arguments, "-n", self.namespace)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def end(self) -> None:
        self.writer.stop()
        self.cache.stop()
        self.client.close()


@pytest.fixture
def operator(management: Management) -> Iterator[Operator]:
    namespace = f"status-{uuid4().hex[:8]}"
    management.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    found = Operator(management, namespace)
    found.apply(FLEET)
    yield found
    found.end()


def conditions(status: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {each["type"]: (each["status"], each["reason"]) for each in status["conditions"]}


def test_a_person_can_do_with_kubectl_what_a_status_says(operator: Operator) -> None:
    operator.show()
    told = conditions_told(operator.status("Plugin", "web-eu-1"))["UpToDate"]
    spec = re.search(r"with spec: ({.*}), NAME as (kubectl auth whoami) prints it", told)
    assert spec is not None, told
    name = operator.management.kubectl(*spec[2].split()[1:], "-o", "jsonpath={.status.userInfo.username}").stdout
    head = "apiVersion: fleetform.dev/v1alpha1\nkind: Approval\nmetadata: {name: web-gold}\nspec: "
    operator.apply(head + spec[1].replace("NAME", name))
    operator.until(lambda: any(each.startswith("Approval/") for each in operator.plane.files.read().files))
    operator.show()
    assert operator.status("Plugin", "web-eu-1")["running"] == "1.0.0"


def conditions_told(status: dict[str, Any]) -> dict[str, str]:
    return {each["type"]: each["message"] for each in status["conditions"]}


def spec_of(operator: Operator, kind: str, name: str) -> dict[str, Any]:
    found = operator.get(kind, name)
    assert found is not None
    return dict(found["spec"])


def table(text: str) -> list[str]:
    """Lines of a table without ages, and with one space between cells."""
    return [" ".join(line.split()[:-1]) for line in text.splitlines()]


@pytest.mark.rule("R2-18", "R0-18", "B33")
def test_kubectl_reads_well(operator: Operator) -> None:
    operator.show()
    rollout = operator.status("PluginPreset", "web")["rollout"]["name"]
    assert table(operator.kubectl("get", "plugins")) == [
        "NAME CLUSTER DEFINITION VERSION TARGET STATUS READY WAITS FOR UNTIL",
        "web-eu-1 eu-1 web 1.0.0 Waiting False approval",
        "web-eu-2 eu-2 web 1.0.0 1.0.0 UpToDate True",
    ]
    assert table(operator.kubectl("get", "rollouts")) == [
        "NAME PRESET PHASE STAGE FROM TO HEALTHY OF FAILED WAITS FOR",
        f"{rollout} web Progressing gold 1.0.0 1 2 0 approval",
    ]
    assert table(operator.kubectl("get", "pluginpresets")) == [
        "NAME TOTAL UPDATED READY WAITING BLOCKED FAILED UNREACHABLE ROLLOUT VALID",
        f"web 2 1 1 1 0 0 0 {rollout} True",
    ]
    assert table(operator.kubectl("get", "pluginoverrides"))[1] == "more 2 2 True"
    assert table(operator.kubectl("get", "ffrev"))[1].startswith("web-1.0.0 1.0.0 1 2")
    told = " ".join(operator.kubectl("describe", "plugin", "web-eu-1").split())
    assert f"0 of 1 people have approved stage gold (create an Approval in {operator.namespace} with spec: " in told
    assert f"rollout: {rollout}, stage: gold" in told
    assert "Rank: 2 Won: replicas" in told
    chosen = operator.kubectl("get", "plugins", "--field-selector", "status.state=Waiting", "-o", "name")
    assert chosen == "plugin.fleetform.dev/web-eu-1\n"


@pytest.mark.rule("R0-19")
def test_what_was_shown_is_not_written_again(operator: Operator) -> None:
    assert operator.show() > 0
    assert operator.show() == 0
    # Nor when time goes by and nothing comes of it, nor by a process that has written nothing yet.
    assert operator.show(hours=2) == 0
    operator.writer.stop()
    operator.cache.stop()
    operator.plane.restart()
    operator.begin()
    assert operator.show() == 0


@pytest.mark.rule("B1")
def test_a_plugin_tells_what_it_runs_what_it_may_run_and_what_it_should_run(operator: Operator) -> None:
    operator.show()
    waits, runs = operator.status("Plugin", "web-eu-1"), operator.status("Plugin", "web-eu-2")
    assert (runs["running"], runs["wanted"]) == ("1.0.0", "1.0.0")
    assert runs["target"] == runs["admitted"] == runs["lastHealthy"]
    assert waits["target"].startswith("h1:")
    assert "admitted" not in waits
    assert "lastHealthy" not in waits
    assert conditions(runs) == {
        "Ready": ("True", "Healthy"), "UpToDate": ("True", "UpToDate"), "Resolved": ("True", "Resolved"),
    }  # fmt: skip
    assert conditions(waits) == {
        "Ready": ("False", "NotInstalled"), "UpToDate": ("False", "Approval"), "Resolved": ("True", "Resolved"),
    }  # fmt: skip
    assert waits["rollout"]["stage"] == "gold"
    (gate,) = waits["waiting"]
    assert gate["gate"] == "approval"


def test_since_when_a_condition_holds_does_not_change_while_it_holds(operator: Operator) -> None:
    operator.show()
    before = {each["type"]: each["lastTransitionTime"] for each in operator.status("Plugin", "web-eu-2")["conditions"]}
    operator.show(minutes=10)
    operator.plane.health.says["eu-2"] = "Failed"
    operator.plane.health.messages["eu-2"] = "no pod is ready"
    operator.apply(FLEET.replace("value: 2", "value: 4").replace("value: 3", "value: 5"))
    operator.show(minutes=30)
    after = {each["type"]: each for each in operator.status("Plugin", "web-eu-2")["conditions"]}
    assert after["Resolved"]["lastTransitionTime"] == before["Resolved"]
    assert after["Ready"]["lastTransitionTime"] > before["Ready"]
    assert (after["Ready"]["status"], after["Ready"]["reason"]) == ("False", "Failed")
    assert "no pod is ready" in after["Ready"]["message"]
    assert after["Stalled"]["status"] == "True"


def test_a_generated_plugin_that_somebody_edits_is_put_back(operator: Operator) -> None:
    operator.show()
    plugins = operator.client.resource(API_VERSION, "Plugin")
    made = operator.get("Plugin", "web-eu-1")
    assert made is not None
    others = Client(operator.management.client.access, "somebody")
    others.merge(
        plugins,
        operator.namespace,
        "web-eu-1",
        {"metadata": {"labels": {"fleetform.dev/preset": None}}, "spec": {"clusterName": "eu-2", "suspend": True}},
    )
    others.merge(plugins, operator.namespace, "web-eu-1", {"status": {"state": "UpToDate"}}, subresource="status")
    operator.rest_until(lambda: operator.get("Plugin", "web-eu-1"), {"spec": made["spec"]})
    found = operator.get("Plugin", "web-eu-1")
    assert found is not None
    assert found["metadata"]["labels"] == made["metadata"]["labels"]
    assert found["status"]["state"] == "Waiting"
    operator.client.delete(plugins, operator.namespace, "web-eu-1")
    operator.rest_until(lambda: operator.get("Plugin", "web-eu-1"), {"spec": made["spec"]})


@pytest.mark.rule("B4")
def test_what_a_person_writes_into_a_generated_plugin_is_theirs(operator: Operator) -> None:
    operator.show()
    plugin = {"apiVersion": API_VERSION, "kind": "Plugin", "metadata": {"name": "web-eu-2"}}
    plugin["metadata"]["namespace"] = operator.namespace  # type: ignore[index]
    person = Client(operator.management.client.access, "a-person")
    person.apply({**plugin, "spec": {"optionValues": [{"name": "replicas", "value": 7}]}})
    operator.show()
    assert operator.show() == 0
    found = operator.get("Plugin", "web-eu-2")
    assert found is not None
    assert found["spec"]["optionValues"] == [{"name": "replicas", "value": 7}]
    assert "ownerReferences" not in found["metadata"]
    assert conditions(found["status"])["Valid"] == ("True", "Valid")
    # It stays when the preset goes, and says that it has no effect.
    operator.kubectl("delete", "pluginpreset", "web")
    operator.show(minutes=5)
    assert spec_of(operator, "Plugin", "web-eu-2")["optionValues"]
    assert operator.get("Plugin", "web-eu-1") is None


def test_what_is_lost_of_what_fleetform_writes_is_written_again(operator: Operator) -> None:
    """So that only its state has to be backed up; and of that nothing stands in objects of ours."""
    operator.show()
    kinds = ("Plugin", "PluginDefinitionRevision", "Rollout")

    def names() -> dict[str, set[str]]:
        resources = [operator.client.resource(API_VERSION, kind) for kind in (*kinds, "PluginState")]
        found = {each.kind: operator.client.items(each, operator.namespace) for each in resources}
        return {kind: {each["metadata"]["name"] for each in items} for kind, items in found.items()}

    before = names()
    assert all(before[kind] for kind in kinds)
    assert not before["PluginState"]
    for kind in kinds:
        operator.kubectl("delete", f"{kind.lower()}s.fleetform.dev", "--all")
    operator.until(lambda: names() == before)


def test_when_a_preset_goes_its_plugins_do_once_they_are_deleted(operator: Operator) -> None:
    operator.apply(
        FLEET.replace("spec:\n  clusterSelector: {}", "spec:\n  deletionPolicy: Delete\n  clusterSelector: {}")
    )
    operator.show()
    by_hand = """
        apiVersion: fleetform.dev/v1alpha1
        kind: Plugin
        metadata: {name: by-hand}
        spec: {pluginDefinition: {name: web}, clusterName: eu-1, releaseName: other}
        """
    operator.apply(by_hand)
    operator.show()
    assert operator.status("Plugin", "by-hand")["observedGeneration"] == 1
    operator.kubectl("delete", "pluginpreset", "web")
    operator.show()
    assert operator.kubectl("get", "plugins", "-o", "name") == "plugin.fleetform.dev/by-hand\n"


@pytest.mark.rule("B15")
def test_only_objects_of_the_own_organization_are_written(operator: Operator) -> None:
    """Others are another control plane's to write, though this one may see them."""
    other = f"{operator.namespace}-other"
    operator.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}})
    operator.management.kubectl("apply", "--server-side", "-n", other, "-f", "-", given=FLEET)
    operator.plane.files = ApiObjects(operator.management.client, operator.namespace, other)
    operator.plane.restart()
    operator.show()
    assert operator.status("PluginPreset", "web")["plugins"]["total"] == 2
    theirs = operator.client.get(operator.client.resource(API_VERSION, "PluginPreset"), other, "web")
    assert theirs is not None
    assert "status" not in theirs
    assert operator.management.kubectl("get", "plugins", "-n", other, "-o", "name").stdout == ""


def test_no_secret_is_shown(operator: Operator) -> None:
    given = FLEET.replace("type: secret}", "type: secret, default: hunter2}")
    operator.apply(given.replace("value: 2}]", "value: 2}, {name: token, value: hunter2}]"))
    operator.show()
    for kind in ("plugins", "rollouts", "plugindefinitionrevisions", "clusters"):
        assert "hunter2" not in operator.kubectl("get", kind, "-o", "yaml")


@pytest.mark.rule("S64")
def test_an_object_says_what_is_wrong_with_it_and_holds_up_no_other(operator: Operator) -> None:
    operator.show()
    operator.apply(
        """
        apiVersion: fleetform.dev/v1alpha1
        kind: PluginOverride
        metadata: {name: wrong}
        spec: {pluginDefinitionNames: [web], overrides: [{path: replicas, value: many}]}
        """
    )
    operator.show()
    (valid,) = operator.status("PluginOverride", "wrong")["conditions"]
    assert (valid["type"], valid["status"], valid["reason"]) == ("Valid", "False", "WrongType")
    assert "replicas" in valid["message"]
    # What was accepted before goes on, and other objects are taken.
    assert operator.status("Plugin", "web-eu-2")["state"] == "UpToDate"
    operator.apply(
        """
        apiVersion: fleetform.dev/v1alpha1
        kind: Cluster
        metadata: {name: eu-3, labels: {tier: dev}}
        """
    )
    operator.show()
    assert operator.status("Plugin", "web-eu-3")["running"] == "1.0.0"
    operator.writer.wait_for_events()
    ((type_, reason, note),) = events_of(operator, "PluginOverride", "wrong")
    assert (type_, reason) == ("Warning", "Invalid")
    assert "replicas" in note
    operator.apply(
        """
        apiVersion: fleetform.dev/v1alpha1
        kind: PluginOverride
        metadata: {name: wrong}
        spec: {pluginDefinitionNames: [web], overrides: [{path: replicas, value: 9}]}
        """
    )
    operator.show()
    assert conditions(operator.status("PluginOverride", "wrong"))["Valid"][0] == "True"


def test_before_anything_is_accepted_objects_say_why(operator: Operator) -> None:
    # Made by a process of which nothing is known any more: while not all is known, nothing is taken away.
    labels = {"app.kubernetes.io/managed-by": "fleetform", "fleetform.dev/preset": "gone"}
    left = {"name": "left", "namespace": operator.namespace, "labels": labels}
    spec = {"presetRef": {"name": "gone"}, "clusterName": "eu-1"}
    operator.client.apply({"apiVersion": API_VERSION, "kind": "Plugin", "metadata": left, "spec": spec})
    operator.apply(FLEET.replace("value: 2", "value: many"))
    operator.show()
    assert operator.get("Plugin", "left") is not None
    # The clusters were accepted, the preset was not.
    assert conditions(operator.status("Cluster", "eu-1"))["Valid"] == ("True", "Valid")
    assert conditions(operator.status("PluginPreset", "web"))["Valid"] == ("False", "WrongType")
    operator.apply(FLEET)
    operator.show()
    assert conditions(operator.status("PluginPreset", "web"))["Valid"] == ("True", "Valid")
    assert operator.status("PluginPreset", "web")["plugins"]["total"] == 2
    assert operator.get("Plugin", "left") is None


def events_of(operator: Operator, kind: str, name: str) -> list[tuple[str, str, str]]:
    """Type, reason and note of what is told of an object."""
    operator.writer.wait_for_events()
    resource = operator.client.resource("events.k8s.io/v1", "Event")
    every = operator.client.items(resource, operator.namespace)
    found = [each for each in every if (each["regarding"]["kind"], each["regarding"]["name"]) == (kind, name)]
    return [(each["type"], each["reason"], each["note"]) for each in found]


def test_what_happens_is_told_as_events(operator: Operator) -> None:
    operator.show()
    started = {each[:2] for each in events_of(operator, "Plugin", "web-eu-2")}
    assert started == {("Normal", "Started"), ("Normal", "Healthy")}
    rollout = operator.status("PluginPreset", "web")["rollout"]["name"]
    ((_, reason, note),) = events_of(operator, "Rollout", rollout)
    assert reason == "ApprovalNeeded"
    assert "fleetform" not in note
    assert f"create an Approval in {operator.namespace} with spec: {{rollout: {rollout}, stage: gold" in note
    told = operator.kubectl("describe", "plugin", "web-eu-2")
    assert "Events:" in told
    assert "1.0.0 is healthy" in told
    # Nothing happened, so nothing is told.
    operator.show(hours=1)
    assert len(events_of(operator, "Plugin", "web-eu-2")) == 2


def test_what_repeats_becomes_a_series(operator: Operator) -> None:
    operator.show()
    events = Events(operator.client, operator.cache, "test")
    events.start()
    at = operator.plane.clock.at
    preset = Ref("PluginPreset", operator.namespace, "web")
    events.tell(Told(preset, "Failed", "n" * 5000, at + timedelta(seconds=each)) for each in range(5))
    events.tell([Told(preset, "Failed", "n" * 5000, at + timedelta(minutes=2))])
    events.wait()
    events.stop()
    resource = operator.client.resource("events.k8s.io/v1", "Event")
    (found,) = [
        each
        for each in operator.client.items(resource, operator.namespace)
        if each["regarding"]["kind"] == "PluginPreset"
    ]
    assert found["type"] == "Warning"
    assert found["series"]["count"] == 6
    assert len(found["note"].encode()) <= 1024
    assert found["regarding"]["uid"]


def test_many_alike_are_told_once_on_their_rollout() -> None:
    at = datetime(2026, 11, 1, 12)
    happened = [
        Event(at, "acme", f"c-{number}", f"web-c-{number}", "Healthy", "1.0.0", rollout="web-1") for number in range(30)
    ]
    happened.append(Event(at, "acme", "c-1", "web-c-1", "Failed", "1.0.0", rollout="web-1", reason="no pod is ready"))
    told = list(from_store(happened, lambda key: Ref("Plugin", key[0], key[2])))
    assert [(each.regarding.name, each.reason) for each in told] == [("web-1", "Healthy"), ("web-c-1", "Failed")]
    assert told[0].note == "30 clusters: 1.0.0 is healthy"


def test_two_writers_that_disagree_do_not_write_for_ever(operator: Operator) -> None:
    operator.show()
    others = Client(operator.management.client.access, "somebody")
    plugin = {"apiVersion": API_VERSION, "kind": "Plugin"}
    metadata = {"name": "web-eu-2", "namespace": operator.namespace}
    before = operator.writer.writes
    others.apply({**plugin, "metadata": metadata, "status": {"failure": "theirs"}}, subresource="status")
    operator.until(lambda: operator.writer.writes > before)
    operator.rest()
    assert operator.writer.writes == before + 1
    assert operator.show() == 0


class Failing(Client):
    """A client whose first requests are not answered."""

    left = 3

    def raw(self, method: str, *arguments: Any, **more: Any) -> bytes:
        if method == "PATCH" and self.left:
            self.left -= 1
            raise BusyError("the server does not answer")
        return super().raw(method, *arguments, **more)


def test_what_could_not_be_written_is_written_later(operator: Operator) -> None:
    operator.client = Failing(operator.management.client.access)
    operator.writer.stop()
    operator.cache.stop()
    operator.begin()
    operator.may_fail = True
    operator.show()
    assert any("does not answer" in each for each in operator.failures)
    assert operator.status("Plugin", "web-eu-2")["state"] == "UpToDate"
    assert operator.status("Rollout", operator.status("PluginPreset", "web")["rollout"]["name"])["phase"]


def test_a_replica_that_no_longer_leads_writes_nothing(operator: Operator) -> None:
    operator.client = Client(operator.management.client.access, may_write=lambda: False)
    operator.writer.stop()
    operator.cache.stop()
    operator.begin()
    operator.show()
    assert operator.get("Plugin", "web-eu-2") is None


@pytest.mark.rule("R0-19")
def test_hundreds_of_plugins_are_told_once_each(operator: Operator) -> None:
    clusters, presets = 28, 4
    head = "apiVersion: fleetform.dev/v1alpha1\nkind: "
    many = [f"{head}Cluster\nmetadata: {{name: c-{number}}}\n" for number in range(clusters)]
    many += [
        f"{head}PluginPreset\nmetadata: {{name: p-{number}}}\nspec:\n  clusterSelector: {{}}\n"
        f"  plugin: {{pluginDefinition: {{name: web}}, releaseName: r-{number}}}\n"
        for number in range(presets)
    ]
    operator.apply("---\n".join(many))
    operator.show()
    # Two clusters were there before, and their preset selects the new ones too.
    plugins = (clusters + 2) * (presets + 1)
    assert len(operator.kubectl("get", "plugins", "-o", "name").splitlines()) == plugins
    assert operator.show() == 0
    # An edit is told on every plugin that it reaches, with one request each.
    operator.apply(FLEET.replace("value: 3", "value: 4"))
    before = operator.writer.writes
    operator.show()
    assert plugins <= operator.writer.writes - before <= 4 * plugins


ADD_ONS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: managedclusteraddons.addon.open-cluster-management.io}
spec:
  group: addon.open-cluster-management.io
  scope: Namespaced
  names: {kind: ManagedClusterAddOn, plural: managedclusteraddons, singular: managedclusteraddon}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status:
            type: object
            properties:
              supportedConfigs: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}
              configReferences:
                type: array
                items:
                  type: object
                  required: [lastObservedGeneration]
                  properties:
                    group: {type: string}
                    resource: {type: string}
                    namespace: {type: string}
                    name: {type: string}
                    lastObservedGeneration: {type: integer}
                    desiredConfig: &config
                      type: object
                      properties: {namespace: {type: string}, name: {type: string}, specHash: {type: string}}
                    lastAppliedConfig: *config
"""
HUB = """
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: NAMESPACE}
---
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ClusterManagementAddOn
metadata: {name: logs}
spec:
  supportedConfigs:
  - {group: r1.io, resource: r1s, defaultConfig: {name: n1, namespace: default}}
  installStrategy: {type: Manual}
---
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ManagedClusterAddOn
metadata: {name: logs, namespace: NAMESPACE}
spec:
  configs: [{group: r1.io, resource: r1s, namespace: default, name: n2}]
---
apiVersion: r1.io/v1
kind: R1
metadata: {name: n2, namespace: default, generation: 7}
spec: {level: debug}
"""


@pytest.mark.rule("R1-10")
def test_an_add_on_tells_its_configs_as_open_cluster_management_does(operator: Operator) -> None:
    # The other system is installed while the operator runs.
    operator.writer.stop()
    operator.cache.stop()
    operator.begin("default")
    operator.management.kubectl("apply", "--server-side", "-f", "-", given=ADD_ONS)
    waited = operator.management.kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
    assert waited.returncode == 0, waited.stderr
    # A kind is established a little before it is listed among those that are served.
    operator.until(lambda: "ManagedClusterAddOn" in operator.client.kinds("addon.open-cluster-management.io/v1alpha1"))
    hub = HUB.replace("NAMESPACE", operator.namespace)
    operator.plane.files = Files({"hub.yaml": hub})
    operator.plane.restart()
    add_on = {
        "apiVersion": "addon.open-cluster-management.io/v1alpha1",
        "kind": "ManagedClusterAddOn",
        "metadata": {"name": "logs", "namespace": operator.namespace},
    }
    operator.client.apply({**add_on, "spec": {}})
    others = Client(operator.management.client.access, "the-add-on")
    supported = {"supportedConfigs": [{"group": "r1.io", "resource": "r1s"}]}
    others.apply({**add_on, "status": supported}, subresource="status")
    operator.show()
    resource = operator.client.resource("addon.open-cluster-management.io/v1alpha1", "ManagedClusterAddOn")

    def status() -> dict[str, Any]:
        found = operator.client.get(resource, operator.namespace, "logs")
        return {} if found is None else found["status"]

    # A kind that was installed meanwhile is looked for with every pass until it is served.
    operator.until(lambda: operator.show() >= 0 and "configReferences" in status())
    (reference,) = status()["configReferences"]
    config = {"namespace": "default", "name": "n2", "specHash": reference["desiredConfig"]["specHash"]}
    assert reference == {
        "group": "r1.io", "resource": "r1s", "namespace": "default", "name": "n2", "lastObservedGeneration": 7,
        "desiredConfig": config,
    }  # fmt: skip
    assert len(config["specHash"]) == 64
    assert status()["supportedConfigs"] == supported["supportedConfigs"]
    assert operator.show() == 0
