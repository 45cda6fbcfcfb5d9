"""How clusters are reached: what of a kubeconfig is taken, and what is refused."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from fleetform.outside.kubernetes.access import AccessError, access_from_kubeconfig, access_in_cluster
from fleetform.syntax.yaml_out import write_yaml

CA = b"-----BEGIN CERTIFICATE-----\n"


def kubeconfig(
    cluster: dict[str, Any] | None = None,
    user: dict[str, Any] | None = None,
    current: str = "eu",
    **more: Any,
) -> str:
    inline = {"server": "https://10.0.0.1:6443", "certificate-authority-data": b64encode(CA).decode()}
    return write_yaml(
        {
            "kind": "Config",
            "clusters": [{"name": "eu", "cluster": {**inline, **(cluster or {})}}],
            "users": [{"name": "me", "user": {"token": "s3cret"} if user is None else user}],
            "contexts": [{"name": "eu", "context": {"cluster": "eu", "user": "me"}}],
            "current-context": current,
            **more,
        }
    )


def test_a_kubeconfig_with_everything_in_it_is_taken() -> None:
    access = access_from_kubeconfig(kubeconfig({"tls-server-name": "api.eu"}, {"token": "s3cret", "as": "robot"}))
    assert (access.server, access.ca, access.token) == ("https://10.0.0.1:6443", CA, "s3cret")
    assert (access.server_name, access.user) == ("api.eu", "robot")


def test_a_context_may_be_named() -> None:
    contexts = [{"name": "other", "context": {"cluster": "eu", "user": "me"}}]
    access = access_from_kubeconfig(kubeconfig(current="gone", contexts=contexts), "other")
    assert access.server == "https://10.0.0.1:6443"


@pytest.mark.parametrize(
    ("cluster", "user", "named"),
    [
        ({}, {"exec": {"command": "steal"}}, "exec"),
        ({}, {"auth-provider": {"name": "gcp"}}, "auth-provider"),
        ({}, {"tokenFile": "/etc/passwd"}, "tokenFile"),
        ({}, {"client-certificate": "/etc/x"}, "client-certificate"),
        ({}, {"client-key": "/etc/x"}, "client-key"),
        ({}, {"username": "a", "password": "s3cret"}, "username"),
        ({"certificate-authority": "/etc/x"}, None, "certificate-authority"),
        ({"insecure-skip-tls-verify": True}, None, "insecure-skip-tls-verify"),
        ({"proxy-url": "http://elsewhere"}, None, "proxy-url"),
        ({"server": "http://10.0.0.1"}, None, "https"),
        ({"server": "https://me:s3cret@10.0.0.1"}, None, "login"),
        ({"certificate-authority-data": "%%%"}, None, "base64"),
    ],
)
def test_what_runs_programs_reads_files_or_trusts_anybody_is_refused_by_name(
    cluster: dict[str, Any], user: dict[str, Any] | None, named: str
) -> None:
    with pytest.raises(AccessError) as caught:
        access_from_kubeconfig(kubeconfig(cluster, user))
    assert named in caught.value.message
    assert caught.value.hint
    assert "s3cret" not in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize(
    "text",
    [
        "token: [s3cret",
        "- s3cret",
        kubeconfig(current=""),
        kubeconfig(contexts=[]),
        kubeconfig(clusters=[]),
        kubeconfig(users=[]),
    ],
)
def test_a_kubeconfig_that_cannot_be_used_says_so_without_quoting_it(text: str) -> None:
    with pytest.raises(AccessError) as caught:
        access_from_kubeconfig(text)
    assert "s3cret" not in f"{caught.value.message} {caught.value.hint}"


def test_an_access_does_not_show_its_secrets() -> None:
    assert "s3cret" not in repr(access_from_kubeconfig(kubeconfig()))


def test_a_pod_reaches_its_own_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(AccessError):
        access_in_cluster(str(tmp_path))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    with pytest.raises(AccessError):
        access_in_cluster(str(tmp_path))
    (tmp_path / "ca.crt").write_bytes(CA)
    access = access_in_cluster(str(tmp_path))
    assert (access.server, access.ca, access.token_file) == ("https://[fd00::1]:443", CA, str(tmp_path / "token"))
