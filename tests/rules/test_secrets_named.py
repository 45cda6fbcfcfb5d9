"""Secrets by which people are told and deliveries get in: one that is not in the input is said before it is needed."""

from __future__ import annotations

import pytest

from support.fleets import fleet_with


def organization(spec: str) -> str:
    return (
        "apiVersion: fleetform.dev/v1alpha1\nkind: Organization\nmetadata: {name: acme, namespace: acme}\n"
        f"spec: {{{spec}}}\n"
    )


def secret(name: str, key: str) -> str:
    return f"apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, namespace: acme}}\nstringData: {{{key}: x}}\n"


def said(spec: str, **files: str) -> list[tuple[str, str]]:
    found = fleet_with(organization=organization(spec), **files).findings.all
    return [(each.code, each.message) for each in found if each.code in ("unknown-name", "missing-field")]


HOOK = "notifications: [{webhook: {url: 'https://hooks.example.com/a', secretRef: {name: hook}}}]"
SLACK = "notifications: [{slack: {channel: ops, secretRef: {name: hook}}}]"
GIT = "defaultDelivery: {git: {url: 'https://git.example.com/x', secretRef: {name: hook}}}"


@pytest.mark.rule("R2-25")
@pytest.mark.parametrize("spec", [HOOK, SLACK])
def test_a_secret_that_is_not_there_is_warned_of(spec: str) -> None:
    lost = "nothing is sent there"
    assert said(spec) == [("unknown-name", f"there is no Secret hook in acme: {lost}")]
    elsewhere = secret("hook", "secret").replace("namespace: acme", "namespace: globex")
    assert said(spec, elsewhere=elsewhere) == [("unknown-name", f"there is no Secret hook in acme: {lost}")]


def test_so_is_that_of_a_delivery() -> None:
    assert said(GIT) == [("unknown-name", "there is no Secret hook in acme: nothing is delivered")]
    assert said(GIT, secret=secret("hook", "password")) == []


@pytest.mark.rule("R2-25")
def test_a_secret_without_the_key_is_warned_of() -> None:
    assert said(HOOK, secret=secret("hook", "token")) == [
        ("unknown-name", "the Secret hook has no secret: nothing is sent there")
    ]
    assert said(HOOK, secret=secret("hook", "secret")) == []
    assert said(SLACK, secret=secret("hook", "url")) == said(SLACK, secret=secret("hook", "token")) == []
    named = HOOK.replace("name: hook", "name: hook, key: mine")
    assert said(named, secret=secret("hook", "mine")) == []
    assert said(named, secret=secret("hook", "secret")) != []


@pytest.mark.rule("R2-25")
def test_slack_without_a_secret_reaches_nobody() -> None:
    assert said("notifications: [{slack: {channel: ops}}]") == [
        ("missing-field", "Slack is reached by a Secret, and none is named: nothing is sent there")
    ]
    assert said("notifications: [{webhook: {url: 'https://hooks.example.com/a'}}]") == []
