"""Where plugins are delivered."""

from __future__ import annotations

import pytest

from fleetform.loop.destinations import destination_of
from fleetform.loop.records import Destination
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
    files = {name: text for name, text in BASE.items() if name != "preset.yaml"}
    written = f"spec:\n  delivery: {preset}\n" if preset is not None else "spec:\n"
    files["presets/web/preset.yaml"] = BASE["preset.yaml"].replace("spec:\n", written, 1)
    if organization is not None:
        files["teams/acme.yaml"] = ORGANIZATION % organization
    fleet = fleet_of(files)
    assert destination_of(fleet, plugin_on(fleet, "eu-1"), "state/out") == expected
