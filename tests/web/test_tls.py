"""TLS: a certificate that is renewed is taken without a restart, and nothing goes over the network in the open."""

from __future__ import annotations

import signal
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509

from fleetform.outside.certificates import Certificate, CertificateWatch
from support.certificates import write_certificate
from support.command import Runner
from web.test_serve_listen import Server


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[tuple[int, ssl.SSLContext]]:
    """A server that does nothing but shake hands."""
    write_certificate(tmp_path, "first")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    Certificate(str(tmp_path / "tls.crt"), str(tmp_path / "tls.key")).load(context)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(20)

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                    with context.wrap_socket(connection, server_side=True):
                        pass
                except ssl.SSLError:
                    continue
                except OSError:
                    return

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1], context
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def name_at(port: int) -> str:
    text = ssl.get_server_certificate(("127.0.0.1", port), timeout=20)
    return x509.load_pem_x509_certificate(text.encode()).subject.rfc4514_string()


def test_a_renewed_certificate_is_used_and_a_broken_one_is_not(
    tmp_path: Path, listening: tuple[int, ssl.SSLContext]
) -> None:
    port, context = listening
    told: list[str] = []
    files = Certificate(str(tmp_path / "tls.crt"), str(tmp_path / "tls.key"))
    watch = CertificateWatch(files, context, told.append, every=3600)
    assert name_at(port) == "CN=first"
    write_certificate(tmp_path, "second")
    watch.look()
    assert name_at(port) == "CN=second"
    (tmp_path / "tls.key").write_text("half of a k")
    watch.look()
    assert (name_at(port), len(told)) == ("CN=second", 1)
    write_certificate(tmp_path, "third")
    watch.look()
    assert name_at(port) == "CN=third"
    watch.close()


@pytest.mark.parametrize(
    ("flags", "part"),
    [
        (("--listen", "0.0.0.0:0"), "--behind-proxy"),
        (("--listen", "0", "--tls-cert", "tls.crt"), "belong together"),
        (("--listen", "0", "--tls-cert", "tls.crt", "--tls-key", "none.key"), "--tls-cert and --tls-key"),
        (("--token-file", "tokens.yaml"), "Nobody can ask without --listen"),
        (("--listen", "0", "--oidc-issuer", "https://idp.example"), "--oidc-client-id"),
        (("--listen", "0", "--token-file", "none.yaml"), "none.yaml cannot be read"),
        (("--listen", "0", "--oidc-issuer", "http://idp.example", "--oidc-client-id", "x"), "not an https address"),
    ],
)
def test_what_would_not_be_safe_is_refused_at_once(run: Runner, flags: tuple[str, ...], part: str) -> None:
    before = signal.getsignal(signal.SIGTERM)
    write_certificate(run.folder, "first")
    found = run("serve", *flags)
    signal.signal(signal.SIGTERM, before)
    assert (found.code, part in found.err) == (2, True), found.err


def test_the_command_line_speaks_tls_to_a_server_that_does(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate, key = write_certificate(run.folder, "fleet")
    (run.folder / "manifests").mkdir()
    (run.folder / "manifests" / "web.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    server = Server(run.folder, "--tls-cert", str(certificate), "--tls-key", str(key))
    try:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(server.folder / "config"))
        assert server.url.startswith("https://")
        assert "cluster/eu-1" in run("get", "clusters", "--server", server.url, "-o", "name").out
    finally:
        server.process.kill()
        server.process.wait()
