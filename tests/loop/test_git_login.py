"""Delivery into a repository that asks for a login: the real git, over HTTP, behind a whole control plane."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from fleetform.loop.control import PassReport
from fleetform.loop.destinations import login_of
from fleetform.loop.records import Destination
from fleetform.outside.errors import OutsideError
from fleetform.ports.store import StoreError
from fleetform.wiring.plane import Plane, open_plane
from support.fleets import BASE, fleet_of
from support.repositories import PLAIN_GIT, GitServer, Repository, http_backend

USER, PASSWORD = "robot", "correct-horse"
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: banner}\n"


def secret(**texts: str) -> str:
    lines = "".join(f"  {key}: {text}\n" for key, text in texts.items())
    return f"apiVersion: v1\nkind: Secret\nmetadata: {{name: login, namespace: acme}}\nstringData:\n{lines}"


def preset(url: str, ref: str | None) -> str:
    named = f", secretRef: {ref}" if ref is not None else ""
    return BASE["preset.yaml"].replace("spec:\n", f"spec:\n  delivery: {{git: {{url: '{url}'{named}}}}}\n", 1)


class Served:
    """A fleet whose preset is delivered into a repository that lets in one user, and its control plane."""

    def __init__(self, folder: Path, server: GitServer, repository: Repository) -> None:
        self.fleet, self.server, self.repository = folder / "fleet", server, repository
        self.database = str(folder / "fleet.db")
        (self.fleet / "manifests").mkdir(parents=True)
        (self.fleet / "manifests" / "banner.yaml").write_text(CONFIG_MAP)
        self.url = f"http://{server.host}/live.git"
        self.write(**{name.removesuffix(".yaml"): text for name, text in BASE.items()})

    def write(self, **files: str) -> None:
        for name, text in files.items():
            (self.fleet / f"{name}.yaml").write_text(text)

    def run(self) -> Plane:
        """One pass of a control plane of its own, which is closed again."""

        def failed(error: StoreError) -> None:
            raise error

        reports: list[PassReport] = []
        plane = open_plane([str(self.fleet)], self.database, reports.append, failed, print, print)
        try:
            plane.driver.run_once()
        finally:
            plane.close()
        return plane

    def failures(self, plane: Plane) -> set[str]:
        found = [each.failing for each in plane.control.image.deliveries.values()]
        return {each.message if each is not None else "" for each in found}

    def delivered(self) -> list[str]:
        names = self.repository.git("ls-tree", "-r", "--name-only", "main").split("\n")
        return [name for name in names if name.endswith(".yaml")]


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    if http_backend() is None:
        pytest.skip("git brings no http-backend here")
    monkeypatch.setenv("FLEETFORM_CACHE_DIR", str(tmp_path / "cache"))
    for name, value in PLAIN_GIT.items():
        monkeypatch.setenv(name, value)
    repository = Repository(tmp_path / "served" / "live.git", bare=True)
    repository.git("config", "http.receivepack", "true")
    repository.commit({"README": "x"})
    with GitServer(tmp_path / "served", login=(USER, PASSWORD)) as server:
        yield Served(tmp_path, server, repository)


EVERYWHERE = [f"{cluster}/web-{cluster}/configmap-banner.yaml" for cluster in ("eu-1", "eu-2", "us-1")]


@pytest.mark.rule("S49", "B18")
def test_the_login_of_a_repository_comes_from_the_secret_that_the_delivery_names(
    served: Served, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    served.write(preset=preset(served.url, "{name: login}"), secret=secret(username=USER, password=PASSWORD))
    assert served.failures(served.run()) == {""}
    assert served.delivered() == EVERYWHERE
    assert PASSWORD not in "".join(capfd.readouterr())
    kept = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert kept
    assert all(PASSWORD.encode() not in path.read_bytes() for path in kept)


def test_a_token_under_a_key_that_is_named_lets_in(served: Served) -> None:
    served.server.login = ("git", PASSWORD)
    served.write(preset=preset(served.url, "{name: login, key: mine}"), secret=secret(mine=PASSWORD))
    assert served.failures(served.run()) == {""}
    assert served.delivered() == EVERYWHERE


def test_without_the_secret_nothing_is_delivered_and_it_is_said_what_is_missing(served: Served) -> None:
    served.write(preset=preset(served.url, "{name: login}"))
    assert served.failures(served.run()) == {"there is no Secret login in the input"}
    assert served.delivered() == []


def test_a_wrong_password_is_said_and_not_shown_and_the_right_one_counts_at_once(served: Served) -> None:
    served.write(preset=preset(served.url, "{name: login}"), secret=secret(username=USER, password="wrong-one"))
    plane = served.run()
    (failure,) = served.failures(plane)
    assert failure.startswith(f"git cannot fetch {served.url}")
    assert "wrong-one" not in str(plane.control.image.deliveries)
    served.write(secret=secret(username=USER, password=PASSWORD))
    login = login_of(plane.control.fleet, Destination("git", served.url, secret="acme/login"))
    assert login is not None
    assert login.password == "wrong-one"
    plane = served.run()
    login = login_of(plane.control.fleet, Destination("git", served.url, secret="acme/login"))
    assert login is not None
    assert login.password == PASSWORD


def test_another_login_for_the_same_place_moves_nothing(served: Served) -> None:
    """What was delivered is not taken for files that were left behind elsewhere."""
    login = secret(username=USER, password=PASSWORD)
    served.write(preset=preset(served.url, "{name: login}"), secret=login)
    assert served.failures(served.run()) == {""}
    served.write(preset=preset(served.url, "{name: other}"), other=login.replace("login", "other"))
    assert served.failures(served.run()) == {""}
    assert served.delivered() == EVERYWHERE


@pytest.mark.rule("B18")
def test_a_secret_of_another_organization_is_not_found() -> None:
    elsewhere = secret(password=PASSWORD).replace("namespace: acme", "namespace: globex")
    fleet = fleet_of({**BASE, "secret.yaml": elsewhere})
    with pytest.raises(OutsideError) as caught:
        login_of(fleet, Destination("git", "https://git.example.com/x", secret="acme/login"))
    assert caught.value.message == "there is no Secret login in the input"


@pytest.mark.rule("B18")
def test_a_login_in_the_address_itself_is_warned_of() -> None:
    address = "https://robot:correct-horse@git.example.com/x"
    organization = dedent(
        f"""
        apiVersion: fleetform.dev/v1alpha1
        kind: Organization
        metadata: {{name: acme, namespace: acme}}
        spec: {{defaultDelivery: {{git: {{url: '{address}'}}}}}}
        """
    )
    for files in ({"preset.yaml": preset(address, None)}, {"organization.yaml": organization}):
        found = [each for each in fleet_of({**BASE, **files}).findings.all if each.code == "plain-secret"]
        assert [each.message for each in found] == ["the address holds credentials"]
        assert PASSWORD not in str(found)
