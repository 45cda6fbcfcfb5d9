"""Secrets on their way to a real API server: by reference in all that is stored, as they are on the cluster alone."""

from __future__ import annotations

from base64 import b64decode
from hashlib import sha256
from textwrap import dedent
from typing import Any

import pytest

from fleetform.syntax.yaml_out import write_yaml
from support.kit import tools
from support.workloads import MANIFESTS, OPTIONS, TOKEN, Workloads


def token_on(fleet: Workloads) -> str:
    live = fleet.get("c1", "Secret")
    assert live is not None
    return b64decode(live["data"]["token"]).decode()


def stored(fleet: Workloads) -> bytes:
    """All bytes of the database but the accepted files."""
    control = fleet.opened().control
    store = control._around.store
    digests = [digest for state in control.image.states.values() for digest in (state.files, state.sealed)]
    blobs = [store.blob(digest) or b"" for digest in digests]
    events = repr(list(store.events("acme", "c1", limit=50))).encode()
    return b"".join(blobs) + repr(control.image.states).encode() + repr(control.image.deliveries).encode() + events


@pytest.mark.rule("S5", "B18")
def test_a_secret_is_on_the_cluster_and_nowhere_else(fleet: Workloads) -> None:
    fleet.settle()
    assert token_on(fleet) == "tell-nobody"
    assert b"tell-nobody" not in stored(fleet)
    assert b"<secret web/token>" in stored(fleet)


@pytest.mark.rule("B18", "R0-16")
def test_another_value_in_the_secret_is_a_change_that_rolls_out(fleet: Workloads) -> None:
    fleet.installed()
    before = fleet.state("c1").admitted.input_hash
    fleet.keep_secret("web", token="another")
    fleet.settle()
    assert fleet.state("c1").admitted.input_hash != before
    assert token_on(fleet) == "another"
    fleet.restart()
    fleet.wait()
    assert not fleet.wait(60).wrote


@pytest.mark.rule("S5", "R2-38")
def test_a_way_back_has_its_secrets_again_though_the_files_no_longer_say_so(fleet: Workloads) -> None:
    fleet.installed()
    fleet.offer("1.1.0", MANIFESTS, options=OPTIONS)
    fleet.settle()
    assert fleet.get("c1", "Secret") is None
    fleet.become("c1", healthy=False)
    for seconds in (6, 70, 130, 250):
        fleet.wait(seconds)
    assert fleet.versions() == {"c1": "1.0.1"}
    assert token_on(fleet) == "tell-nobody"


@pytest.mark.rule("B18")
def test_one_that_is_written_in_plain_text_is_refused(fleet: Workloads) -> None:
    fleet.write_preset(optionValues=[{"name": "TOKEN", "value": "in-the-open"}])
    fleet.settle()
    assert fleet.versions() == {"c1": None}
    assert fleet.state("c1").render_failed
    assert b"in-the-open" not in stored(fleet)


def test_a_secret_that_is_gone_is_named(fleet: Workloads) -> None:
    fleet.settle()
    fleet.become("c1")
    fleet.wait()
    fleet.look_for_drift()
    client = fleet.clients["c1"]
    client.delete(client.resource("v1", "Secret"), fleet.namespace, "web")
    (fleet.folder / "fleet" / "kept-web.yaml").unlink()
    fleet.wait(700)
    fleet.opened().control._around.beside._ways[0].looks.clear()  # type: ignore[attr-defined]
    fleet.look_for_drift()
    fleet.settle()
    assert fleet.trouble("c1").message == "there is no Secret web with a key token"


@pytest.mark.rule("S5")
def test_a_charts_secrets_are_what_its_templates_make_of_them(
    fleet: Workloads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLEETFORM_HELM", str(tools() / "helm"))
    chart = fleet.folder / "chart"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: web\nversion: 1.0.0\n", encoding="utf-8")
    manifest: Any = dedent(
        """
        apiVersion: v1
        kind: Secret
        metadata: {name: web}
        data: {token: {{ printf "user:%s" .Values.token | b64enc }}}
        ---
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: web, annotations: {checksum: {{ .Values.token | sha256sum | trunc 8 | quote }}}}
        data: {version: "2.0.0"}
        """
    )
    (chart / "templates" / "web.yaml").write_text(manifest, encoding="utf-8")
    source = {"helm": {"repository": "..", "chart": "chart", "version": "1.0.0"}}
    fleet.offer("2.0.0", "", options=[{"name": "token", "type": "secret"}], source=source)
    fleet.write_preset(optionValues=[{**TOKEN, "name": "token"}])
    fleet.settle()
    assert token_on(fleet) == "user:tell-nobody"
    live = fleet.get("c1", "ConfigMap")
    assert live is not None
    assert live["metadata"]["annotations"]["checksum"] == sha256(b"tell-nobody").hexdigest()[:8]
    assert b"tell-nobody" not in stored(fleet)


@pytest.mark.rule("S5", "B18")
def test_a_template_of_an_add_on_gets_its_secrets_on_the_cluster(fleet: Workloads) -> None:
    group = "addon.open-cluster-management.io"
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "web"}, "stringData": {"token": "{{TOKEN}}"}}
    version = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}, "data": {"version": "2.0.0"}}
    template = {
        "apiVersion": f"{group}/v1alpha1",
        "kind": "AddOnTemplate",
        "metadata": {"name": "agent", "namespace": "acme"},
        "spec": {"addonName": "web", "agentSpec": {"workload": {"manifests": [secret, version]}}},
    }
    fleet.write("template.yaml", write_yaml(template))
    configs = [{"group": group, "resource": "addontemplates", "default": {"name": "agent", "namespace": "acme"}}]
    fleet.offer("2.0.0", "", options=OPTIONS, source=None, configs=configs)
    fleet.settle()
    assert fleet.versions() == {"c1": "2.0.0"}
    assert token_on(fleet) == "tell-nobody"
    assert b"tell-nobody" not in stored(fleet)
