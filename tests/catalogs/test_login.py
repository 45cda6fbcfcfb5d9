"""Credentials: out of Secrets of the catalog's own organization, and into no output and no file."""

from __future__ import annotations

import base64
import json
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleetform.catalogs.login import credentials_of
from fleetform.model.kinds.base import SecretRef
from fleetform.model.kinds.definition import CatalogGit, CatalogSource, OciRepository
from fleetform.outside.credentials import Credentials
from fleetform.outside.errors import OutsideError
from support.command import Result
from support.repositories import FleetCommand, GitServer, Repository, catalog, definition, http_backend
from support.servers import HelmServer, OciServer, basic, packed_chart

CANARY = "c4naryInTheCoalMine"
USER = "miner"


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> FleetCommand:
    return FleetCommand(tmp_path, capsys, monkeypatch)


# ---- Shapes of Secrets


def of_git(secret: dict[str, str] | None, key: str | None = None) -> Credentials | None:
    source = CatalogSource(git=CatalogGit("https://example.org/x"), secret_ref=SecretRef("login", key))
    return credentials_of(source, lambda name: secret if name == "login" else None)


def of_oci(secret: dict[str, str]) -> Credentials | None:
    source = CatalogSource(oci=OciRepository("oci://example.org:5000/a/b"), secret_ref=SecretRef("login"))
    return credentials_of(source, lambda _: secret)


def docker(auths: object) -> dict[str, str]:
    return {".dockerconfigjson": json.dumps({"auths": auths})}


@pytest.mark.parametrize(
    ("secret", "key", "credentials"),
    [
        ({"username": "u", "password": "p"}, None, Credentials("u", "p")),
        ({"token": "t"}, None, Credentials(token="t")),
        ({"bearerToken": "t"}, None, Credentials(token="t")),
        ({"mine": " t\n", "token": "other"}, "mine", Credentials(token="t")),
        ({"ssh-privatekey": "k"}, None, Credentials(private_key="k")),
        ({"identity": "k", "known_hosts": "h"}, None, Credentials(private_key="k", known_hosts="h")),
    ],
)
def test_a_secret_is_read_in_the_shapes_that_people_know(
    secret: dict[str, str], key: str | None, credentials: Credentials
) -> None:
    assert of_git(secret, key) == credentials


@pytest.mark.parametrize(
    "entry",
    [
        {"username": "u", "password": "p"},
        {"auth": base64.b64encode(b"u:p").decode()},
        {"username": "other", "auth": base64.b64encode(b"u:p").decode()},
    ],
)
def test_a_registry_is_entered_as_docker_does(entry: object) -> None:
    assert of_oci(docker({"example.org:5000": entry, "example.org": {"username": "x"}})) == Credentials("u", "p")


@pytest.mark.parametrize("name", ["https://example.org:5000", "https://example.org:5000/v2/", "example.org:5000/a"])
def test_docker_and_kubernetes_write_a_registry_as_an_address_too(name: str) -> None:
    assert of_oci(docker({name: {"username": "u", "password": "p"}})) == Credentials("u", "p")


def test_a_source_without_a_secret_needs_none() -> None:
    assert credentials_of(CatalogSource(git=CatalogGit("x")), lambda _: None) is None


def test_a_secret_that_is_not_there_is_named() -> None:
    with pytest.raises(OutsideError, match="there is no Secret login in the input") as caught:
        of_git(None)
    assert caught.value.hint


@pytest.mark.parametrize("secret", [{}, {"pasword": CANARY}, docker({"example.org:5000": {"username": "u"}})])
def test_a_secret_with_nothing_of_use_says_what_it_should_hold(secret: dict[str, str]) -> None:
    with pytest.raises(OutsideError, match="the Secret login has no credentials in it") as caught:
        of_git(secret)
    assert CANARY not in f"{caught.value} {caught.value.hint}"
    assert "username and password" in caught.value.hint


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"auths": []}', '{"auths": {"example.org:5000": []}}', f'{{"auths": "{CANARY}"}}']
)
def test_a_docker_config_that_is_none_is_not_shown(text: str) -> None:
    with pytest.raises(OutsideError) as caught:
        of_oci({".dockerconfigjson": text})
    assert CANARY not in f"{caught.value} {caught.value.hint} {caught.value.__cause__}"


def test_credentials_do_not_show() -> None:
    assert CANARY not in repr(Credentials(USER, CANARY, CANARY, CANARY, CANARY))


# ---- Secrets of the input


def secret(fields: dict[str, str], how: str = "stringData", namespace: str = "acme") -> str:
    """A Secret, with its fields as text or in base64."""
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in fields.items()}
    written = json.dumps(fields if how == "stringData" else encoded)
    return f"apiVersion: v1\nkind: Secret\nmetadata: {{name: login, namespace: {namespace}}}\n{how}: {written}\n"


def said(run: FleetCommand) -> Iterator[Result]:
    """All that a catalog is shown by."""
    yield run("catalog", "fetch")
    yield run("catalog", "fetch", "-v", "-o", "json")
    yield run("validate", "-v")
    yield run("validate", "-o", "json")
    yield run("validate", "-o", "markdown")
    for output in ("table", "wide", "json", "yaml"):
        yield run("get", "catalogs", "-v", "-o", output)
    yield run("get", "definitions", "-o", "json")
    yield run("get", "revisions", "-o", "yaml")


def assert_hidden(run: FleetCommand, *canaries: str) -> None:
    """Neither what is printed nor what is kept holds a canary."""
    encoded = [base64.b64encode(each.encode()).decode() for each in canaries]
    basics = [basic(USER, each).removeprefix("Basic ") for each in canaries]
    for result in said(run):
        assert result.code in (0, 4), result
        for each in (*canaries, *encoded, *basics):
            assert each not in result.out + result.err
    kept = [path.read_bytes() for path in run.cache.rglob("*") if path.is_file()]
    assert kept
    assert not [each for each in (*canaries, *encoded, *basics) for content in kept if each.encode() in content]


@pytest.fixture
def helm() -> Iterator[HelmServer]:
    with HelmServer(login=(USER, CANARY)) as started:
        started.add("web", "1.0.0")
        yield started


@pytest.mark.parametrize("how", ["stringData", "data"])
def test_a_helm_repository_is_entered_with_user_and_password(run: FleetCommand, helm: HelmServer, how: str) -> None:
    run.write(
        catalog=catalog(f"{{helm: {{repository: '{helm.repository}'}}, secretRef: {{name: login}}}}"),
        secret=secret({"username": USER, "password": CANARY}, how),
    )
    run.fetch()
    assert run.offered() == ["web 1.0.0"]
    assert_hidden(run, CANARY)


def test_base64_may_be_broken_into_lines(run: FleetCommand, helm: HelmServer) -> None:
    encoded = base64.b64encode(CANARY.encode()).decode()
    run.write(
        catalog=catalog(f"{{helm: {{repository: '{helm.repository}'}}, secretRef: {{name: login}}}}"),
        secret="apiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: acme}\nstringData: {username: miner}\n"
        f"data:\n  password: |\n    {encoded[:8]}\n    {encoded[8:]}\n",
    )
    run.fetch()


@pytest.mark.parametrize(
    "field",
    [
        "x: y",
        "data: {password: 7}",
        "data: {password: not base64}",
        "data: [x]",
        "stringData: x",
        "data: {password: ä}",
    ],
)
def test_a_secret_of_another_shape_holds_nothing(run: FleetCommand, helm: HelmServer, field: str) -> None:
    run.write(
        catalog=catalog(f"{{helm: {{repository: '{helm.repository}'}}, secretRef: {{name: login}}}}"),
        secret=f"apiVersion: v1\nkind: Secret\nmetadata: {{name: login, namespace: acme}}\n{field}\n",
    )
    run.fetch(code=4)
    assert run.source()["error"] == "the Secret login has no credentials in it"


def test_a_wrong_password_is_an_error_without_it(run: FleetCommand, helm: HelmServer) -> None:
    run.write(
        catalog=catalog(f"{{helm: {{repository: '{helm.repository}'}}, secretRef: {{name: login}}}}"),
        secret=secret({"username": USER, "password": f"{CANARY}2"}),
    )
    run.fetch(code=4)
    assert "refuses access (401)" in run.source()["error"]
    assert_hidden(run, f"{CANARY}2")


@pytest.mark.parametrize("tokens", [False, True])
def test_a_registry_is_entered_with_a_docker_config(run: FleetCommand, tokens: bool) -> None:
    with OciServer(login=(USER, CANARY), tokens=tokens) as server:
        server.push_chart("charts/web", "1.0.0", packed_chart("web", "1.0.0", "replicas: 1\n"))
        auths = {server.host: {"auth": base64.b64encode(f"{USER}:{CANARY}".encode()).decode()}}
        run.write(
            catalog=catalog(
                f"{{oci: {{repository: '{server.repository('charts/web')}'}}, secretRef: {{name: login}}}}"
            ),
            secret=secret({".dockerconfigjson": json.dumps({"auths": auths})}, "data"),
        )
        run.fetch()
        assert run.offered() == ["web 1.0.0"]
        assert_hidden(run, CANARY)


def test_a_secret_that_is_missing_is_a_clear_error(run: FleetCommand, helm: HelmServer) -> None:
    run.write(catalog=catalog(f"{{helm: {{repository: '{helm.repository}'}}, secretRef: {{name: login}}}}"))
    assert "there is no Secret login in the input" in run.fetch(code=4).out
    (message,) = run.findings("catalog-unavailable")
    assert "there is no Secret login in the input" in message
    assert helm.asked == []


@pytest.mark.rule("B15")
@pytest.mark.parametrize("namespace", ["globex", "fleetform-system"])
def test_a_secret_of_another_organization_is_not_found(run: FleetCommand, helm: HelmServer, namespace: str) -> None:
    run.write(
        catalog=catalog(f"{{helm: {{repository: '{helm.repository}'}}, secretRef: {{name: login}}}}"),
        secret=secret({"username": USER, "password": CANARY}, namespace=namespace),
    )
    run.fetch(code=4)
    assert run.source()["error"] == "there is no Secret login in the input"
    assert helm.asked == []


@pytest.mark.rule("B15")
def test_what_one_organization_read_with_its_secret_another_does_not_see(run: FleetCommand, helm: HelmServer) -> None:
    source = f"{{helm: {{repository: '{helm.repository}'}}, secretRef: {{name: login}}}}"
    run.write(
        ours=catalog(source),
        theirs=catalog(source, namespace="globex"),
        secret=secret({"username": USER, "password": CANARY}),
    )
    run.fetch(code=4)
    assert [each["error"] for each in run.sources()] == [None, "there is no Secret login in the input"]
    assert [each["metadata"]["namespace"] for each in run.items("definitions")] == ["acme"]


# ---- Addresses with a password in them


@pytest.mark.parametrize(
    "source",
    [
        "git: {{url: 'http://{login}@{host}/x.git?private_token={token}'}}",
        "helm: {{repository: 'http://{login}@{host}/charts?token={token}'}}",
        "oci: {{repository: 'oci://{login}@{host}/charts/web?token={token}'}}",
    ],
)
def test_a_password_in_an_address_is_masked_everywhere_and_warned_about(
    run: FleetCommand, helm: HelmServer, source: str
) -> None:
    written = source.format(login=f"{USER}:{CANARY}", host=helm.host, token="")
    run.write(catalog=catalog(f"{{{written}}}"))
    assert run.findings("plain-secret") == ["the address holds credentials"]
    assert_hidden(run, CANARY)


@pytest.mark.parametrize(
    "source", ["git: {url: 'http://%s/x.git?t=%s'}", "helm: {repository: 'http://%s/charts?t=%s'}"]
)
def test_a_token_in_the_query_of_an_address_is_masked_too(run: FleetCommand, helm: HelmServer, source: str) -> None:
    run.write(catalog=catalog(f"{{{source % (helm.host, CANARY)}}}"))
    assert_hidden(run, CANARY)


@pytest.mark.parametrize("url", ["http://miner:a@%s@%s/x.git", "miner:%s@%s/x.git"])
def test_an_address_that_is_written_wrong_is_masked_too(run: FleetCommand, helm: HelmServer, url: str) -> None:
    run.write(catalog=catalog(f"{{git: {{url: '{url % (CANARY, helm.host)}'}}}}"))
    assert_hidden(run, CANARY)


def test_a_user_alone_in_an_ssh_address_is_no_secret(run: FleetCommand) -> None:
    run.write(catalog=catalog("{git: {url: ssh://git@example.org/x}}", "{git: {url: 'git@example.org:x'}}"))
    assert run.findings("plain-secret") == []


# ---- Git over HTTP and SSH


@pytest.fixture
def git_server(tmp_path: Path) -> Iterator[GitServer]:
    if http_backend() is None:
        pytest.skip("git brings no http-backend here")
    Repository(tmp_path / "served" / "x.git", bare=True).commit({"web.yaml": definition("web", "1.0.0")})
    with GitServer(tmp_path / "served", login=(USER, CANARY)) as started:
        yield started


def test_git_over_http_is_entered_with_user_and_password(run: FleetCommand, git_server: GitServer) -> None:
    run.write(
        catalog=catalog(f"{{git: {{url: 'http://{git_server.host}/x.git'}}, secretRef: {{name: login}}}}"),
        secret=secret({"username": USER, "password": CANARY}),
    )
    run.fetch()
    assert run.offered() == ["web 1.0.0"]
    assert_hidden(run, CANARY)


def test_git_over_http_takes_a_token_as_password(run: FleetCommand, git_server: GitServer) -> None:
    git_server.login = ("git", CANARY)
    run.write(
        catalog=catalog(f"{{git: {{url: 'http://{git_server.host}/x.git'}}, secretRef: {{name: login, key: mine}}}}"),
        secret=secret({"mine": f"{CANARY}\n"}),
    )
    run.fetch()
    assert run.offered() == ["web 1.0.0"]


@pytest.mark.parametrize("fields", [{"username": USER, "password": f"wrong{CANARY}"}, None])
def test_git_over_http_that_does_not_let_us_in_asks_nobody_and_shows_nothing(
    run: FleetCommand, git_server: GitServer, fields: dict[str, str] | None
) -> None:
    ref = ", secretRef: {name: login}" if fields else ""
    run.write(catalog=catalog(f"{{git: {{url: 'http://{git_server.host}/x.git'}}{ref}}}"))
    if fields:
        run.write(secret=secret(fields))
    run.fetch(code=4)
    assert f"git cannot fetch http://{git_server.host}/x.git" in run.source()["error"]
    assert_hidden(run, f"wrong{CANARY}")


def test_git_over_http_with_the_password_in_its_address_does_not_show_it(
    run: FleetCommand, git_server: GitServer
) -> None:
    url = f"http://{USER}:{CANARY}@{git_server.host}"
    run.write(catalog=catalog(f"{{git: {{url: '{url}/x.git'}}}}", f"{{git: {{url: '{url}/none.git'}}}}"))
    run.fetch(code=4)
    assert [each["error"] is None for each in run.sources()] == [True, False]
    assert_hidden(run, CANARY)


@pytest.fixture
def fake_ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program ssh that keeps what it was given, and runs the command here."""
    program, seen = tmp_path / "bin" / "ssh", tmp_path / "seen"
    seen.mkdir()
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\n"
        f'for each in "$@"; do echo "$each"; done > {shlex.quote(str(seen))}/arguments\n'
        'while [ $# -gt 1 ]; do case "$1" in\n'
        f'  -i) cp -p "$2" {shlex.quote(str(seen))}/key;;\n'
        f'  -oUserKnownHostsFile=*) cp -p "${{1#*=}}" {shlex.quote(str(seen))}/hosts;;\n'
        'esac; shift; done\neval "$1"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("GIT_SSH_COMMAND", raising=False)
    return seen


@pytest.mark.parametrize("url", ["git@example.org:{path}", "ssh://git@example.org{path}"])
def test_git_over_ssh_is_entered_with_a_private_key(
    run: FleetCommand, tmp_path: Path, fake_ssh: Path, url: str
) -> None:
    repository = Repository(tmp_path / "repository")
    repository.commit({"web.yaml": definition("web", "1.0.0")})
    run.write(
        catalog=catalog(f"{{git: {{url: '{url.format(path=repository.folder)}'}}, secretRef: {{name: login}}}}"),
        secret=secret({"ssh-privatekey": f"BEGIN {CANARY}", "known_hosts": "example.org ssh-ed25519 AAAA"}, "data"),
    )
    run.fetch()
    assert run.offered() == ["web 1.0.0"]
    assert (fake_ssh / "key").read_text() == f"BEGIN {CANARY}\n"
    assert (fake_ssh / "key").stat().st_mode & 0o777 == 0o600
    assert (fake_ssh / "hosts").read_text() == "example.org ssh-ed25519 AAAA\n"
    arguments = (fake_ssh / "arguments").read_text().split("\n")
    assert {"-oBatchMode=yes", "-oIdentitiesOnly=yes", "git@example.org"} <= {*arguments}
    assert not Path(arguments[arguments.index("-i") + 1]).exists()
    assert_hidden(run, CANARY)
