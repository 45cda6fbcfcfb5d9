"""The endpoint as an operator runs it: with certificates of its own, or with those that somebody mounts."""

from __future__ import annotations

import ssl
from http.client import HTTPSConnection
from pathlib import Path

import pytest

from fleetform.app.fleet import Fleet
from fleetform.operator.admission.manifests import Installed
from fleetform.operator.admission.running import RunningAdmission
from fleetform.outside.kubernetes.access import Access
from fleetform.outside.listening import Listening, listen
from support.asking import Asking, until
from support.certificates import write_certificate
from support.fleets import fleet_with

REVIEW = (
    b'{"request": {"uid": "1", "kind": {"group": "fleetform.dev", "version": "v1alpha1", "kind": "Cluster"},'
    b' "operation": "CREATE", "namespace": "acme", "name": "a", "object": {"apiVersion": "fleetform.dev/v1alpha1",'
    b' "kind": "Cluster", "metadata": {"name": "a", "namespace": "acme"}, "spec": {}}}}'
)
NOWHERE = Access("https://127.0.0.1:1")


def asked(listening: Listening, folder: Path, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
    context = ssl.create_default_context(cafile=str(folder / "tls.crt"))
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
    certificate, _ = write_certificate(tmp_path, "mounted")
    listening = listen("127.0.0.1:0", secure=True)
    running = RunningAdmission(
        fleet_with, NOWHERE, Installed(), listening, tmp_path, "mounted", client_ca=str(certificate)
    )
    try:
        with pytest.raises((ssl.SSLError, OSError)):
            asked(listening, tmp_path, "POST", "/validate", REVIEW)
    finally:
        running.close()


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
