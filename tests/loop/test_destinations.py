"""Where plugins are delivered, and how clusters are reached."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from fleetform.app.fleet import Fleet
from fleetform.loop.destinations import Destinations, Logins, destination_of, drift_of, login_of
from fleetform.loop.reaching import ClusterAccess
from fleetform.loop.records import Destination
from fleetform.outside.errors import OutsideError
from fleetform.outside.kubernetes.access import Access, AccessError
from support.fleets import BASE, fleet_of, plugin_on

ORGANIZATION = """
apiVersion: fleetform.dev/v1alpha1
kind: Organization
metadata: {name: acme}
spec: {defaultDelivery: %s}
"""


@pytest.mark.rule("S49")
@pytest.mark.parametrize(
    ("preset", "organization", "expected"),
    [
        (None, None, Destination("directory", "state/out/acme")),
        (None, "{directory: {path: ../all}}", Destination("directory", "all")),
        ("{directory: {path: ../own}}", None, Destination("directory", "presets/own")),
        ("{directory: {path: ../own}}", "{directory: {path: ../all}}", Destination("directory", "presets/own")),
        (
            "{git: {url: https://git.example.com/x}}",
            "{directory: {path: ../all}}",
            Destination("git", "https://git.example.com/x", "main"),
        ),
        (
            "{git: {url: ../u, branch: b, path: p, sign: true, secretRef: {name: key}}}",
            None,
            Destination("git", "presets/u", "b", "p", True, "acme/key"),
        ),
    ],
)
def test_its_owner_says_where_else_its_organization_else_a_folder_of_theirs(
    preset: str | None, organization: str | None, expected: Destination
) -> None:
    fleet = delivered(preset, organization)
    assert destination_of(fleet, plugin_on(fleet, "eu-1"), "state/out") == expected


def delivered(preset: str | None, organization: str | None = None, access: str = "", more: str = "") -> Fleet:
    """The base fleet, in which somebody says how plugins are delivered; access is that of the cluster eu-1."""
    files = {name: text for name, text in BASE.items() if name != "preset.yaml"}
    written = f"spec:\n  delivery: {preset}\n" if preset is not None else "spec:\n"
    files["presets/web/preset.yaml"] = BASE["preset.yaml"].replace("spec:\n", written, 1)
    if organization is not None:
        files["teams/acme.yaml"] = ORGANIZATION % organization
    if access:
        files["clusters.yaml"] = ""
        files["clusters/eu.yaml"] = (
            "apiVersion: fleetform.dev/v1alpha1\nkind: Cluster\n"
            f"metadata: {{name: eu-1, namespace: acme}}\nspec: {{access: {access}}}\n{more}"
        )
    return fleet_of(files)


STRAIGHT = Destination("kubernetes", "acme/eu-1")
REPOSITORY = Destination("git", "https://git.example.com/x", "main")


@pytest.mark.rule("S49")
@pytest.mark.parametrize(
    ("preset", "access", "expected", "in_trial", "from_anywhere"),
    [
        (None, "", "directory", "directory", STRAIGHT),
        (None, "{directory: ../stand-in}", "directory", "directory", None),
        ("{kubernetes: {}}", "", STRAIGHT, "directory", STRAIGHT),
        (
            "{kubernetes: {drift: Report, adopt: true}}",
            "",
            replace(STRAIGHT, drift="Report", adopt=True),
            "directory",
            replace(STRAIGHT, drift="Report", adopt=True),
        ),
        ("{kubernetes: {}}", "{directory: ../stand-in}", Destination("directory", "stand-in"), "directory", None),
        ("{git: {url: https://git.example.com/x}}", "", REPOSITORY, REPOSITORY, REPOSITORY),
        (
            "{git: {url: ../x}}",
            "",
            Destination("git", "presets/x", "main"),
            Destination("git", "presets/x", "main"),
            None,
        ),
        (
            "{directory: {path: own}}",
            "",
            Destination("directory", "presets/web/own"),
            Destination("directory", "presets/web/own"),
            None,
        ),
        (
            "{flux: {mode: Pull}}",
            "",
            replace(STRAIGHT, namespace="flux-system", through="flux"),
            None,
            replace(STRAIGHT, namespace="flux-system", through="flux"),
        ),
        (
            "{flux: {mode: Pull, adopt: true}}",
            "",
            replace(STRAIGHT, namespace="flux-system", adopt=True, through="flux"),
            None,
            replace(STRAIGHT, namespace="flux-system", adopt=True, through="flux"),
        ),
    ],
)
def test_a_trial_brings_nothing_to_clusters_and_folders_are_nobodys_elsewhere(
    preset: str | None,
    access: str,
    expected: Destination | str,
    in_trial: Destination | str | None,
    from_anywhere: Destination | None,
) -> None:
    fleet = delivered(preset, access=access)
    plugin = plugin_on(fleet, "eu-1")
    folder = Destination("directory", "state/out/acme")
    here = [destination_of(fleet, plugin, "state/out", trial=trial) for trial in (False, True)]
    assert here == [folder if each == "directory" else each for each in (expected, in_trial)]
    assert destination_of(fleet, plugin, None) == from_anywhere


@pytest.mark.rule("R3-5")
def test_objects_for_flux_go_to_the_management_cluster_or_to_the_cluster_itself() -> None:
    fleet = delivered("{flux: {mode: Hub}}")
    plugin = plugin_on(fleet, "eu-1")
    assert destination_of(fleet, plugin, "out") is None, "there is no management cluster here"
    on_hub = destination_of(fleet, plugin, "out", hub=True)
    assert on_hub is not None
    assert (on_hub.kind, on_hub.namespace) == ("kubernetes", "acme")
    assert on_hub.path.startswith("acme/")
    assert on_hub.path.endswith("eu-1")
    assert on_hub.path != "acme/eu-1"


@pytest.mark.parametrize(
    ("preset", "organization", "drift"),
    [
        (None, None, "Correct"),
        ("{directory: {path: x, drift: Report}}", None, "Report"),
        ("{git: {url: ../u, drift: Report}}", None, "Report"),
        ("{kubernetes: {drift: Report}}", None, "Report"),
        ("{kubernetes: {}}", None, "Correct"),
        (None, "{directory: {path: x, drift: Report}}", "Report"),
        ("{directory: {path: x}}", "{directory: {path: x, drift: Report}}", "Correct"),
        ("{flux: {mode: Pull}}", None, "Correct"),
    ],
)
def test_what_is_done_about_drift_is_said_where_the_delivery_is(
    preset: str | None, organization: str | None, drift: str
) -> None:
    fleet = delivered(preset, organization)
    plugin = plugin_on(fleet, "eu-1")
    assert drift_of(fleet, plugin.key) == drift
    assert drift_of(fleet, ("acme", "eu-1", "gone")) == "Report", "what nobody wants any more is left as it is"


def test_destinations_are_worked_out_for_those_that_are_asked_about() -> None:
    fleet = delivered(None)
    key = plugin_on(fleet, "eu-1").key
    found = Destinations(fleet, lambda fleet, plugin: STRAIGHT if plugin.key == key else None)
    assert (found[key], found.get(plugin_on(fleet, "eu-2").key)) == (STRAIGHT, None)
    assert (len(found), set(found)) == (len(fleet.decisions.plugins), set(fleet.decisions.plugins))


# ---- Logins

SECRET = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: acme}\nstringData: %s\n"


def test_the_login_of_a_repository_is_what_its_secret_says_now() -> None:
    named = replace(REPOSITORY, secret="acme/login")
    fleet = delivered(None, access="{context: x}", more=SECRET % ("login", "{username: ann, password: p}"))
    found = login_of(fleet, named)
    assert found is not None
    assert login_of(fleet, REPOSITORY) is None
    for without in (None, delivered(None)):
        with pytest.raises(OutsideError):
            login_of(without, named)
    logins = Logins(fleet)
    assert (logins(named), logins(REPOSITORY)) == ({"username": "ann", "password": "p"}, None)
    assert logins(replace(named, secret="acme/none")) is None
    assert logins(named) is logins(named)


# ---- Reaching clusters

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: one
clusters: [{name: c, cluster: {server: "https://%s.example.com"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: one, context: {cluster: c, user: u}}, {name: two, context: {cluster: c, user: u}}]
"""


def held(text: str, name: str = "access") -> str:
    data = f"{{kubeconfig: {b64encode(text.encode()).decode()}}}"
    return f"---\napiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, namespace: acme}}\ndata: {data}\n"


BY_SECRET = "{kubeconfig: {secret: {name: access, key: kubeconfig}}}"


def reached(access: str, more: str = "", **how: object) -> Access | AccessError:
    fleet = delivered(None, access=access, more=more)
    return ClusterAccess(lambda: fleet, **how).of(("acme", "eu-1"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("access", "more", "message"),
    [
        ("{directory: x}", "", "its Cluster does not say how it is reached"),
        (BY_SECRET, "", "no Secret access with its kubeconfig can be read"),
        (BY_SECRET, SECRET % ("access", "{other: x}"), "the Secret access has no kubeconfig"),
        ("{context: one}", "", "its context one is of no kubeconfig"),
    ],
)
def test_a_cluster_that_cannot_be_reached_says_why(access: str, more: str, message: str) -> None:
    found = reached(access, more)
    assert isinstance(found, AccessError)
    assert found.message == message
    assert found.hint


def test_a_cluster_is_reached_by_its_secret_or_by_a_context_of_this_machine(tmp_path: Path) -> None:
    assert reached(BY_SECRET, held(KUBECONFIG % "s")) == Access("https://s.example.com", token="t")
    file = tmp_path / "config"
    file.write_text(KUBECONFIG % "f")
    assert reached("{context: two}", kubeconfig=str(file)) == Access("https://f.example.com", token="t")
    missing = reached("{context: two}", kubeconfig=str(tmp_path / "none"))
    assert isinstance(missing, AccessError)
    assert missing.message.endswith("none cannot be read")


def test_requests_are_made_as_the_account_of_the_organization() -> None:
    found = reached(BY_SECRET, held(KUBECONFIG % "s"), accounts_in="accounts")
    assert isinstance(found, Access)
    assert found.user == "system:serviceaccount:accounts:acme"
    assert found.groups == (
        "system:serviceaccounts",
        "system:serviceaccounts:accounts",
        "system:authenticated",
    )
    plain = reached(BY_SECRET, held(KUBECONFIG % "s"))
    assert isinstance(plain, Access)
    assert (plain.user, plain.groups) == ("", ())


def test_a_cluster_that_is_gone_is_said_to_be() -> None:
    fleet = delivered(None)
    here: list[Callable[[], Fleet | None]] = [lambda: None, lambda: fleet]
    for each in here:
        found = ClusterAccess(each).of(("acme", "gone"))
        assert isinstance(found, AccessError)
        assert found.message == "there is no Cluster gone any more"


def test_an_access_is_read_again_only_when_what_it_was_read_from_is_another(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text(KUBECONFIG % "one")
    by_context = delivered(None, access="{context: one}")
    by_secret = delivered(None, access=BY_SECRET, more=held(KUBECONFIG % "s"))
    now = [by_context]
    access = ClusterAccess(lambda: now[0], str(file))
    first = access.of(("acme", "eu-1"))
    assert access.of(("acme", "eu-1")) is first
    file.write_text(KUBECONFIG % "another")
    os.utime(file, (1, 1))
    second = access.of(("acme", "eu-1"))
    assert isinstance(second, Access)
    assert second.server == "https://another.example.com"
    now[0] = by_secret
    third = access.of(("acme", "eu-1"))
    assert isinstance(third, Access)
    assert third.server == "https://s.example.com"
    assert access.of(("acme", "eu-1")) is third
    now[0] = delivered(None, access=BY_SECRET, more=held(KUBECONFIG % "t"))
    fourth = access.of(("acme", "eu-1"))
    assert isinstance(fourth, Access)
    assert fourth.server == "https://t.example.com"
