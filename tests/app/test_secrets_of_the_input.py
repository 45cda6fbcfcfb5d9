"""Secrets that stand in the input: which texts they hold, which objects they are, and how they are told apart."""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64encode
from typing import Any

import pytest

from fleetform.app.reading.secret_values import SecretDigests, secret_value
from fleetform.app.reading.secrets import secret_named, secret_object, secret_texts
from fleetform.model.kinds.base import SecretKey
from fleetform.model.results.decisions import Secret, SecretOnCluster
from support.fleets import fleet_with


def packed(text: str | bytes) -> str:
    return b64encode(text.encode() if isinstance(text, str) else text).decode()


@pytest.mark.parametrize(
    ("tree", "texts"),
    [
        ({}, {}),
        (None, {}),
        ([], {}),
        ({"data": None, "stringData": []}, {}),
        ({"stringData": {"a": "x"}}, {"a": "x"}),
        ({"stringData": {"a": 1, "b": "x"}}, {"b": "x"}),
        ({"data": {"a": packed("x"), "b": packed("é")}}, {"a": "x", "b": "é"}),
        # What people wrote over several lines is base64, too.
        ({"data": {"a": f" {packed('long text')[:4]}\n {packed('long text')[4:]}"}}, {"a": "long text"}),
        # What is not base64, or no text, is left out, and the rest is there.
        ({"data": {"a": "!!", "b": packed("x"), "c": packed(b"\xff"), "d": "eA", "e": "eA==$"}}, {"b": "x"}),
        ({"data": {"a": packed("x")}, "stringData": {"a": "y"}}, {"a": "y"}),
    ],
)
def test_a_secret_holds_these_texts(tree: Any, texts: dict[str, str]) -> None:
    assert secret_texts(tree) == texts


FLEET = f"""
apiVersion: v1
kind: Secret
metadata: {{name: keys, namespace: acme}}
data: {{a: {packed("x")}}}
---
apiVersion: v1
kind: Secret
metadata: {{name: keys, namespace: beta}}
data: {{a: {packed("y")}}}
---
apiVersion: example.com/v1
kind: Secret
metadata: {{name: theirs, namespace: acme}}
data: {{a: {packed("z")}}}
---
apiVersion: fleetform.dev/v1alpha1
kind: PluginPreset
metadata: {{name: other, namespace: acme}}
spec:
  plugin:
    pluginDefinition: web
    optionValues: [{{name: a, valueFrom: {{secret: {{name: keys, key: a}}}}}}]
  clusterSelector: {{}}
"""


def test_a_secret_is_found_by_organization_and_name_and_only_kubernetes_own() -> None:
    fleet = fleet_with(secrets=FLEET)
    objects = list(fleet.snapshot.objects)
    assert secret_object(fleet.snapshot, "acme", "keys") is not None
    assert secret_object(fleet.snapshot, "acme", "theirs") is None
    assert secret_named(objects, "acme", "none") is None
    values = [secret_value(fleet.snapshot, *each) for each in (("acme", "keys", "a"), ("acme", "keys", "b"))]
    assert values == ["x", None]
    assert secret_value(fleet.snapshot, "acme", "none", "a") is None


def test_secrets_are_told_apart_by_digests_that_only_the_key_makes() -> None:
    digests = SecretDigests("key", fleet_with(secrets=FLEET).snapshot)
    expected = hmac.new(b"key", b'"x"', hashlib.sha256).hexdigest()
    assert digests("acme", Secret(ref=SecretKey("keys", "a"))) == expected
    assert digests("acme", Secret(None, plain="x")) == expected
    assert digests("acme", Secret(None, plain="other")) != expected
    assert digests("acme", Secret(ref=SecretKey("keys", "none"))) is None
    # Nobody knows what it holds: it is written as null, or its cluster has not told yet.
    assert digests("acme", Secret(None)) is None
    assert digests("acme", Secret(SecretOnCluster("keys", "a"))) is None
    assert digests("acme", Secret(SecretOnCluster("keys", "a", digest="told"))) == "told"
    # A text that came from a Secret is told apart as it came out, not as the Secret holds it.
    assert digests("acme", Secret(SecretKey("keys", "a"), plain="other")) == digests("acme", Secret(None, "other"))
    assert SecretDigests("other", fleet_with(secrets=FLEET).snapshot)("acme", Secret(None, plain="x")) != expected
