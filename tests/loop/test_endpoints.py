"""Where notifications go: what an endpoint needs of its Secret, and what is said where that is missing."""

from __future__ import annotations

import pytest

from fleetform.loop.endpoints import endpoint, endpoints_of
from fleetform.ports.notify import Endpoint
from support.fleets import documents, fleet_of

ORGANIZATION = """\
apiVersion: fleetform.dev/v1alpha1
kind: Organization
metadata: {name: acme, namespace: acme}
spec: {notifications: [TARGET]}
"""
SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: hook, namespace: acme}\nstringData: {DATA}\n"
URL = "https://hooks.example.com/a"


@pytest.mark.parametrize(
    ("target", "data", "expected"),
    [
        (f'{{webhook: {{url: "{URL}"}}}}', "a: b", ("webhook", URL, "", ())),
        (
            f'{{webhook: {{url: "{URL}", secretRef: {{name: hook}}}}}}',
            "secret: s, previous: p",
            ("webhook", URL, "", (("previous", "p"), ("secret", "s"))),
        ),
        (
            f'{{webhook: {{url: "{URL}", secretRef: {{name: hook, key: other}}}}}}',
            "secret: s, other: o",
            ("webhook", URL, "", (("secret", "o"),)),
        ),
        (
            f'{{webhook: {{url: "{URL}", secretRef: {{name: hook}}}}}}',
            "other: o",
            "the Secret hook has no key `secret`",
        ),
        (
            f'{{webhook: {{url: "{URL}", secretRef: {{name: hook, key: gone}}}}}}',
            "secret: s",
            "the Secret hook has no key `gone`",
        ),
        (f'{{webhook: {{url: "{URL}", secretRef: {{name: gone}}}}}}', "a: b", "there is no Secret gone in the input"),
        ("{slack: {secretRef: {name: hook}}}", "url: u", ("slack", "", "", (("url", "u"),))),
        (
            "{slack: {channel: ops, secretRef: {name: hook}}}",
            "token: t",
            ("slack", "", "ops", (("token", "t"),)),
        ),
        (
            "{slack: {channel: ops, secretRef: {name: hook, key: bot}}}",
            "bot: b",
            ("slack", "", "ops", (("token", "b"),)),
        ),
        (
            "{slack: {secretRef: {name: hook}}}",
            "token: t",
            "Slack needs a Secret with `url`, or one with `token` beside a channel",
        ),
        ("{slack: {channel: ops}}", "a: b", "Slack needs a Secret with `url`, or one with `token` beside a channel"),
    ],
)
def test_an_endpoint_takes_what_it_needs_of_its_secret(target: str, data: str, expected: object) -> None:
    fleet = fleet_of(documents(ORGANIZATION.replace("TARGET", target), SECRET.replace("DATA", data)))
    [wanted] = endpoints_of(fleet, "acme")
    found = endpoint(fleet, "acme", wanted.id)
    if isinstance(found, Endpoint):
        assert (found.id, found.organization) == (wanted.id, "acme")
        assert (found.kind, found.url, found.channel, found.secrets) == expected
    else:
        assert found == expected
    assert endpoint(fleet, "acme", "another") is None
    assert endpoint(fleet, "other", wanted.id) is None
