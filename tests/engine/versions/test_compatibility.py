"""What a change of definitions must keep (R2-10): which versions are compared, and what is said of them."""

from __future__ import annotations

import pytest

from fleetform.engine.versions.compatibility import compare_definitions
from support.fleets import fleet_of

HOST, SIZE = "{name: host, type: string}", "{name: size, type: int}"


def definitions(*versions: tuple[str, str]) -> str:
    return "---\n".join(
        "apiVersion: fleetform.dev/v1alpha1\nkind: PluginDefinition\nmetadata: {name: web, namespace: acme}\n"
        f"spec: {{version: {version}, source: {{manifests: {{path: ./m}}}}, options: [{options}]}}\n"
        for version, options in versions
    )


def found(before: str, after: str) -> list[tuple[str, str]]:
    one, other = (fleet_of(each).decisions.index.definitions.revisions for each in (before, after))
    return [(each.code, each.message) for each in compare_definitions(one, other)]


BOTH = f"{HOST}, {SIZE}"


@pytest.mark.rule("R2-10")
def test_a_release_is_compared_with_the_release_before_it_whatever_candidates_there_were() -> None:
    before = definitions(("1.0.0", BOTH))
    after = definitions(("1.0.0", BOTH), ("1.1.0-rc.1", HOST), ("1.1.0", HOST))
    said = found(before, after)
    assert [message for _, message in said] == [
        "web 1.0.0 → 1.1.0-rc.1 removes the option size",
        "web 1.0.0 → 1.1.0 removes the option size",
    ]


@pytest.mark.rule("R2-10")
def test_a_candidate_is_compared_with_the_candidate_before_it() -> None:
    before = definitions(("1.0.0", BOTH), ("1.1.0-rc.1", HOST))
    assert found(before, definitions(("1.0.0", BOTH), ("1.1.0-rc.1", HOST), ("1.1.0-rc.2", HOST))) == []
    assert found(before, definitions(("1.0.0", BOTH), ("1.1.0-rc.1", HOST), ("2.0.0", HOST))) == []


@pytest.mark.rule("R2-10")
@pytest.mark.parametrize(
    ("after", "code", "message"),
    [
        (definitions(("1.1.0", HOST)), "changed-without-bump", "web 1.1.0 changed, and its version did not"),
        (definitions(("1.0.0", BOTH)), "version-went-down", "web went down from 1.1.0 to 1.0.0"),
        (definitions(("v1.1.0", HOST)), "changed-without-bump", "web 1.1.0 changed, and its version did not"),
    ],
)
def test_a_version_stays_what_it_is_and_never_goes_down(after: str, code: str, message: str) -> None:
    assert (code, message) in found(definitions(("1.1.0", BOTH)), after)


def test_a_definition_that_is_gone_is_told_and_the_others_are_still_compared() -> None:
    gone = definitions(("1.0.0", HOST)).replace("name: web", "name: app")
    before = "---\n".join([gone, definitions(("1.0.0", BOTH))])
    assert [code for code, _ in found(before, definitions(("1.0.0", HOST)))] == [
        "vanished-definition",
        "changed-without-bump",
    ]
