"""Generated names fit Helm and stay apart."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetform.syntax.names import LONGEST, generated_name

_NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,60}[a-z0-9])?", fullmatch=True)


@pytest.mark.rule("S8")
def test_a_generated_plugin_is_named_after_preset_and_cluster() -> None:
    assert generated_name("web", "eu-1") == "web-eu-1"


def test_a_name_of_53_characters_stays_whole() -> None:
    assert generated_name("p" * 26, "c" * 26) == f"{'p' * 26}-{'c' * 26}"


@pytest.mark.rule("B23")
def test_a_longer_name_is_cut_with_a_hash() -> None:
    name = generated_name("p" * 26, "c" * 27)
    assert name == f"{'p' * 26}-{'c' * 17}-7fe9eb6e"
    assert len(name) == LONGEST == 53


def test_a_cut_leaves_no_dash_before_the_hash() -> None:
    assert re.fullmatch(r"p{43}-[0-9a-f]{8}", generated_name("p" * 43 + "-", "c" * 30))


def test_long_names_that_begin_alike_stay_apart() -> None:
    assert generated_name("p" * 60, "one") != generated_name("p" * 60, "two")


@pytest.mark.rule("B23")
@settings(max_examples=200, deadline=None)
@given(_NAMES, _NAMES)
def test_any_generated_name_is_one_that_kubernetes_takes(preset: str, cluster: str) -> None:
    name = generated_name(preset, cluster)
    assert len(name) <= LONGEST
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", name)
