"""Which paths a glob means."""

from __future__ import annotations

import pytest

from fleetform.syntax.globs import matches_any


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("x.yaml", "x.yaml"),
        ("./x.yaml", "x.yaml"),
        ("x.yaml", "./x.yaml"),
        ("*.yaml", "x.yaml"),
        ("*.yaml", ".yaml"),
        ("*", ".hidden"),
        ("*/plugindefinition.yaml", "kafka/plugindefinition.yaml"),
        ("**/x.yaml", "x.yaml"),
        ("**/x.yaml", "a/x.yaml"),
        ("**/x.yaml", "a/b/x.yaml"),
        ("a/**/x.yaml", "a/x.yaml"),
        ("a/**/x.yaml", "a/b/c/x.yaml"),
        ("a/**", "a/b"),
        ("a/**", "a/b/c"),
        ("**", "a/b/c"),
        ("a**z", "ab/cz"),
        ("**/*/x.yaml", "a/b/x.yaml"),
        ("?.yaml", "x.yaml"),
        ("[a-c].yaml", "b.yaml"),
        ("[!a-c].yaml", "d.yaml"),
        ("[^a-c].yaml", "d.yaml"),
        ("[]].yaml", "].yaml"),
        ("[!]].yaml", "a.yaml"),
        ("[a-].yaml", "-.yaml"),
        ("[[&&~~||--].yaml", "&.yaml"),
        ("[\\].yaml", "\\.yaml"),
        ("[x.yaml", "[x.yaml"),
        ("[]", "[]"),
        ("a+b(c).yaml", "a+b(c).yaml"),
        ("cert-*", "cert-manager"),
        ("*", "a\nb"),
    ],
)
def test_a_glob_matches(glob: str, path: str) -> None:
    assert matches_any(path, [glob])


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("x.yaml", "a/x.yaml"),
        ("x.yaml", "x.yaml\n"),
        ("x.yaml", "xyaml"),
        ("*.yaml", "a/x.yaml"),
        ("a/*", "a/b/c"),
        ("a?b", "a/b"),
        ("a[/]b", "a/b"),
        ("a[!x]b", "a/b"),
        ("a[!-0]b", "a/b"),
        ("**/x.yaml", "ax.yaml"),
        ("a/**/x.yaml", "ax.yaml"),
        ("a/**", "a"),
        ("*/x.yaml", "x.yaml"),
        ("[a-c].yaml", "d.yaml"),
        ("[!a-c].yaml", "b.yaml"),
        ("[c-a].yaml", "b.yaml"),
        ("X.yaml", "x.yaml"),
        ("", "x"),
    ],
)
def test_a_glob_does_not_match(glob: str, path: str) -> None:
    assert not matches_any(path, [glob])


def test_one_of_several_globs_is_enough() -> None:
    assert matches_any("b.yml", ["a.*", "b.*"])
    assert not matches_any("c.yml", ["a.*", "b.*"])
    assert not matches_any("c.yml", [])
