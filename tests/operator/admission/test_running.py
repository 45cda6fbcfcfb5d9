"""The endpoint as an operator runs it: with certificates of its own, or with those that somebody mounts."""

from __future__ import annotations

import ssl
import subprocess
import sys
from http.client import HTTPSConnection
from pathlib import Path

import pytest

from fleetform.app.fleet import Fleet
from fleetform.operator.admission.manifests import Installed
from fleetform.operator.admission.running import RunningAdmission
from fleetform.outside.kubernetes.access import Access
from fleetform.outside.listening import Listening, listen
from support.api_servers import ApiServer
from support.asking import Asking, until
from support.certificates import write_certificate
from support.fleets import fleet_with

REVIEW = (
    b'{"request": {"uid": "1", "kind": {"group": "fleetform.dev", "version": "v1alpha1", "kind": "Cluster"},'
    b' "operation": "CREATE", "namespace": "acme", "name": "a", "object": {"apiVersion": "fleetform.dev/v1alpha1",'
    b' "kind": "Cluster", "metadata": {"name": "a", "namespace": "acme"}, "spec": {}}}}'
)
FLEETFORM = str(Path(sys.executable).with_name("fleetform"))
KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: a
contexts: [{name: a, context: {cluster: a, user: a}}]
clusters: [{name: a, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: a, user: {token: t}}]
"""
NOWHERE = Access("https://127.0.0.1:1")


def asked(
    listening: Listening,
    folder: Path,
    method: str,
    path: str,
    body: bytes = b"",
    shown: tuple[Path, Path] | None = None,
) -> tuple[int, bytes]:
    context = ssl.create_default_context(cafile=str(folder / "tls.crt"))
    if shown is not None:
        context.load_cert_chain(*shown)
    connection = HTTPSConnection("127.0.0.1", int(listening.address.rpartition(":")[2]), context=context, timeout=10)
    try:
        connection.request(method, path, body)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_with_a_mounted_certificate_no_api_server_is_needed(tmp_path: Path) -> None:
    write_certificate(tmp_path, "mounted")
    fleets: list[Fleet] = []
    listening = listen("127.0.0.1:0", secure=True)
    running = RunningAdmission(
        lambda: fleets[0] if fleets else None, NOWHERE, Installed(), listening, tmp_path, "mounted"
    )
    try:
        until(lambda: running.answers)
        assert running.is_alive
        assert b"has not read the fleet yet" in asked(listening, tmp_path, "POST", "/validate", REVIEW)[1]
        fleets.append(fleet_with())
        assert b"has not read the fleet yet" not in asked(listening, tmp_path, "POST", "/validate", REVIEW)[1]
        assert asked(listening, tmp_path, "POST", "/validate", b"{}")[0] == 400
        assert asked(listening, tmp_path, "POST", "/validate", b"x" * 9_000_000)[0] == 413
    finally:
        running.close()
    assert not running.answers


def test_who_must_show_a_certificate_and_has_none_gets_no_answer(tmp_path: Path) -> None:
    certificate, key = write_certificate(tmp_path, "mounted")
    listening = listen("127.0.0.1:0", secure=True)
    running = RunningAdmission(
        fleet_with, NOWHERE, Installed(), listening, tmp_path, "mounted", client_ca=str(certificate)
    )
    try:
        with pytest.raises((ssl.SSLError, OSError)):
            asked(listening, tmp_path, "POST", "/validate", REVIEW)
        assert asked(listening, tmp_path, "POST", "/validate", REVIEW, (certificate, key))[0] == 200
        (tmp_path / "other").mkdir()
        with pytest.raises((ssl.SSLError, OSError)):
            asked(listening, tmp_path, "POST", "/validate", REVIEW, write_certificate(tmp_path / "other", "another"))
    finally:
        running.close()


@pytest.mark.parametrize(("text", "said"), [(None, "no such file"), ("nothing", "it holds no certificate in PEM")])
def test_a_client_ca_that_cannot_be_read_is_refused_before_anything_is_asked(
    text: str | None, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "ca.pem"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    access = tmp_path / "kubeconfig"
    access.write_text(KUBECONFIG, encoding="utf-8")
    given = ["operator", "--kubeconfig", str(access), "--admission-client-ca", str(path), "--state-dir", str(tmp_path)]
    ran = subprocess.run([FLEETFORM, *given], capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 4
    assert f"--admission-client-ca {path}: {said}" in ran.stderr


def test_a_folder_without_a_certificate_is_told_as_that(hub: ApiServer, tmp_path: Path) -> None:
    access = tmp_path / "kubeconfig"
    access.write_text(hub.kubeconfig(), encoding="utf-8")
    given = ["operator", "--kubeconfig", str(access), "--admission", "127.0.0.1:0", "--certificates", str(tmp_path)]
    ran = subprocess.run([FLEETFORM, *given], capture_output=True, text=True, check=False, timeout=60, cwd=tmp_path)
    assert (ran.returncode, "Traceback" in ran.stderr) == (4, False)
    assert f"the certificate of the admission endpoint in {tmp_path} cannot be used: no such file" in ran.stderr


def test_an_error_of_ours_refuses_a_write_with_a_word_and_lets_a_deletion_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_certificate(tmp_path, "mounted")
    listening = listen("127.0.0.1:0", secure=True)
    running = RunningAdmission(fleet_with, NOWHERE, Installed(), listening, tmp_path, "mounted")
    kind = b'{"group": "fleetform.dev", "version": "v1alpha1", "kind": "PluginPreset"}'
    review = b'{"request": {"uid": "1", "kind": %s, "operation": "%s", "%s": {"metadata": 7}}}'
    try:
        _, refused = asked(listening, tmp_path, "POST", "/validate", review % (kind, b"CREATE", b"object"))
        assert b"Fleetform could not check this" in refused
        assert "TypeError" in capsys.readouterr().err
        _, passed = asked(listening, tmp_path, "POST", "/validate", review % (kind, b"DELETE", b"oldObject"))
        assert b'"allowed":true' in passed
    finally:
        running.close()


def test_a_secret_that_was_lost_is_made_again(asking: Asking, tmp_path: Path) -> None:
    """Replicas look by themselves; until another has looked, what it serves is still trusted."""
    secrets = asking.client.resource("v1", "Secret")
    listening = listen("127.0.0.1:0", secure=True)
    running = RunningAdmission(fleet_with, asking.client.access, asking.installed, listening, tmp_path, every=0.05)
    try:
        asking.client.delete(secrets, "fleetform-system", "fleetform-admission")
        until(lambda: asking.client.get(secrets, "fleetform-system", "fleetform-admission") is not None)
        asking.wait_until_asked()
        asking.replica.keys.look()
        asking.wait_until_asked()
    finally:
        running.close()
