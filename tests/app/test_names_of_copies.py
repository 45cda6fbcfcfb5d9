"""Configs of Open Cluster Management under names that native manifests may bear: readable, and no two become one."""

from __future__ import annotations

import hashlib

import pytest

from fleetform.app.converting.ocm_to_native import _name_of_copy


def digest(namespace: str, name: str) -> str:
    return hashlib.sha256(f"{namespace}/{name}".encode()).hexdigest()[:8]


@pytest.mark.parametrize(
    ("namespace", "name", "plain"),
    [
        ("ops", "default", "ops-default"),
        ("", "default", "default"),
        ("ops", "a-b", "ops-a-b"),
        ("ops", "a.b", "ops.a.b".replace(".", "-", 1)),
        ("ops", "x" * 249, "ops-" + "x" * 249),
    ],
)
def test_names_that_are_fine_are_kept(namespace: str, name: str, plain: str) -> None:
    assert _name_of_copy(namespace, name) == plain


@pytest.mark.parametrize(
    ("namespace", "name", "readable"),
    [
        # a-b/c and a/b-c must not meet.
        ("a-b", "c", "a-b-c-"),
        ("ops", "Odd_Name", "ops-odd-name-"),
        ("ops", "-x.", "ops--x-"),
        ("", "___", ""),
        ("ops", "x" * 250, "ops-" + "x" * 196 + "-"),
        ("ops", "y" * 195 + "_" + "z" * 90, "ops-" + "y" * 195 + "-"),
    ],
)
def test_other_names_are_made_readable_and_bear_a_digest(namespace: str, name: str, readable: str) -> None:
    assert _name_of_copy(namespace, name) == readable + digest(namespace, name)
