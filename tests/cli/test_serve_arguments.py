"""fleetform serve and operator: an argument that cannot be used is said before anything is made or changed."""

from __future__ import annotations

import shutil
import socket

import pytest

from support.command import Runner
from support.fleets import BASE

WRONG = {
    "an address to listen at": (("--listen", "nonsense"), "Write 127.0.0.1:8080 or 8080"),
    "an address of all networks without TLS": (("--listen", "0.0.0.0:0"), "--behind-proxy"),
    "a certificate": (("--listen", "0", "--tls-cert", "no.pem", "--tls-key", "no.key"), "--tls-cert and --tls-key"),
    "a certificate without its key": (("--listen", "0", "--tls-cert", "no.pem"), "belong together"),
    "a certificate for nobody": (("--tls-cert", "no.pem", "--tls-key", "no.key"), "--tls-cert and --tls-key go with"),
    "a proxy before nothing": (("--behind-proxy",), "--behind-proxy goes with --listen"),
    "a file of tokens": (("--listen", "0", "--token-file", "no.yaml"), "no.yaml"),
    "tokens for nobody": (("--token-file", "no.yaml"), "Nobody can ask without --listen"),
    "an issuer": (("--listen", "0", "--oidc-issuer", "http://far.example", "--oidc-client-id", "x"), "far.example"),
    "a secret of webhooks": (("--listen", "0", "--webhook-secret-file", "no.txt"), "no.txt cannot be read"),
    "webhooks for nobody": (("--webhook-secret-file", "no.txt"), "goes with --listen"),
    "an address of metrics": (("--metrics", "nonsense"), "Write 127.0.0.1:9464 or 9464"),
    "an interval": (("--interval", "soon"), "Write 30s, 5m or 14d"),
    "no interval at all": (("--interval", "0s"), "Write 1s or more"),
    "a trial": (("--fast-forward", "soon"), "Write 30s, 5m or 14d"),
    "two ways to end": (("--once", "--fast-forward", "1d"), "give one"),
    "one pass that listens": (("--once", "--listen", "8080"), "drop --once"),
    "a repository of no revision": (("--repository", "https://git.example/x.git"), "-f git:main"),
    "a folder of health commands": (("--health-dir", "nowhere"), "--health-dir: there is no folder nowhere"),
    "a folder of plugins": (("--plugin-dir", "nowhere"), "--plugin-dir: there is no folder nowhere"),
    "an output folder that is a file": (("--output-dir", "preset.yaml"), "--output-dir: preset.yaml is no folder"),
    "a source that is not there": (("-f", "nowhere"), "-f: there is no nowhere"),
    "a part of the fleet": (("-c", "eu-1", "--once"), "serve runs the whole fleet: drop -c"),
    "a selection": (("-l", "tier=dev", "--once"), "serve runs the whole fleet: drop -l"),
    "what other verbs know": (("--strict", "--once"), "serve does not know --strict"),
    "a database without a name": (("--state", "sqlite:", "--once"), "give --state sqlite:PATH"),
    "a state that is no database": (("--state", "state.json", "--once"), "give --state sqlite:PATH"),
}


@pytest.mark.parametrize(("arguments", "said"), WRONG.values(), ids=WRONG.keys())
def test_what_cannot_be_used_is_said_and_nothing_is_made(
    run: Runner, arguments: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(run.folder / "config"))
    before = sorted(run.folder.iterdir())
    found = run("serve", *arguments)
    assert found.code == 2
    assert said in found.err
    assert sorted(run.folder.iterdir()) == before


@pytest.mark.parametrize("flag", ["--listen", "--metrics"])
def test_an_address_that_somebody_else_has_is_found_before_there_is_a_database(run: Runner, flag: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        found = run("serve", flag, f"127.0.0.1:{taken.getsockname()[1]}")
    assert (found.code, "Address already in use" in found.err) == (4, True)
    assert not (run.folder / ".fleetform").exists()


def test_a_source_that_is_gone_does_not_keep_a_fleet_from_going_on(run: Runner) -> None:
    run.write(**{f"fleet__{name.removesuffix('.yaml')}": text for name, text in BASE.items()})
    assert run("serve", "-f", "fleet", "--once").code == 0
    shutil.rmtree(run.folder / "fleet")
    found = run("serve", "-f", "fleet", "--once")
    assert found.code == 2
    assert "the fleet stays as it was" in found.err


@pytest.mark.parametrize(
    ("given", "dropped"),
    [
        (("-n", "acme"), "drop -n"),
        (("-f", ".", "-c", "eu-1"), "drop -f and -c"),
        (("--server", "http://127.0.0.1:8080"), "drop --server"),
        (("--at", "2026-11-01T12:00:00Z", "--strict"), "drop --at and --strict"),
    ],
)
def test_an_operator_refuses_what_it_would_not_heed(run: Runner, given: tuple[str, ...], dropped: str) -> None:
    found = run("operator", "--kubeconfig", "nowhere", *given)
    assert found.code == 2
    assert f"operator works for every organization, on what the API server holds: {dropped}." in found.err


@pytest.mark.parametrize(
    ("verb", "refused"),
    [
        ("serve", ["-c", "-l", "--strict", "--partial", "--confined", "--fetch", "--server"]),
        ("operator", ["-f", "-n", "-c", "-l", "--at", "--state", "--server", "--strict", "--confined", "--fetch"]),
    ],
)
def test_help_does_not_offer_what_a_verb_refuses(run: Runner, verb: str, refused: list[str]) -> None:
    offered = {word.rstrip(",") for word in run(verb, "--help").out.split("Examples:")[0].split()}
    assert offered.isdisjoint(refused)
    assert {"-q", "-p"} <= offered
