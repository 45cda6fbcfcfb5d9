"""What is known of a source: the first content of a version stays, and what changed, vanished or broke is said."""

from __future__ import annotations

from typing import Any

import pytest

from fleetform.catalogs.listing import ListedDefinition, SourceListing
from fleetform.catalogs.merge import Merged, merge
from fleetform.catalogs.records import SourceState
from support.repositories import definition

NOW = "2026-11-01T12:00:00Z"
LATER = "2026-11-01T13:00:00Z"
NEVER_READ = SourceState("a source")


def held(
    version: str, revision: str = "r1", text: str | None = None, default: int = 1, **more: Any
) -> ListedDefinition:
    """A file with a version of web, at a revision of the source."""
    return ListedDefinition("web.yaml", revision, text or definition("web", version, default), **more)


def once(*found: ListedDefinition, **more: Any) -> SourceState:
    """What is known after a first reading."""
    return merge(NEVER_READ, SourceListing("r1", list(found), **more), NOW).state


def again(before: SourceState, *found: ListedDefinition, **more: Any) -> SourceState:
    return merge(before, SourceListing("r2", list(found), **more), LATER).state


def offered(state: SourceState) -> list[str]:
    return [f"{each.name} {each.version}" for each in state.versions if not each.gone]


def gone(state: SourceState) -> list[str]:
    return [f"{each.name} {each.version}" for each in state.versions if each.gone]


def test_a_version_is_remembered_with_its_place_and_its_text() -> None:
    text = f"# A comment.\n---\n{definition('web', 'v1.2.0')}"
    state, texts = merge(NEVER_READ, SourceListing("r1", [held("", text=text, published=NOW, mark="m")]), NOW)
    (version,) = state.versions
    assert (version.name, version.version, version.file, version.revision) == ("web", "1.2.0", "web.yaml", "r1")
    assert (version.first_line, version.published, version.marks) == (2, NOW, ("m",))
    assert texts == {version.text: text}
    assert (state.read, state.tried, state.failed, state.revision) == (NOW, NOW, None, "r1")


def test_a_good_reading_ends_a_failure() -> None:
    failing = SourceState("a source", read=NOW, tried=NOW, failed=NOW, error="it is gone", hint="look for it")
    state = again(failing, held("1.0.0"))
    assert (state.failed, state.error, state.hint, state.read) == (None, "", "", LATER)


@pytest.mark.rule("R2-36")
def test_the_first_content_stays_and_both_places_are_named() -> None:
    state = again(once(held("1.0.0", "r1", default=1)), held("1.0.0", "r2", default=2))
    (version,) = state.versions
    assert (version.revision, version.tree["spec"]["options"][0]["default"]) == ("r1", 1)
    assert state.changed == ("web 1.0.0 changed under one version at web.yaml@r2; what it was at web.yaml@r1 stays",)


@pytest.mark.rule("R2-36")
def test_of_one_reading_the_earliest_content_stays() -> None:
    state = once(held("1.0.0", "r1", default=1), held("1.0.0", "r2", default=2))
    assert [each.revision for each in state.versions] == ["r1"]
    assert len(state.changed) == 1


@pytest.mark.rule("R2-36")
def test_a_change_is_still_said_once_the_old_content_is_back() -> None:
    changed = again(once(held("1.0.0", "r1", default=1)), held("1.0.0", "r2", default=2))
    assert again(changed, held("1.0.0", "r3", default=1)).changed == changed.changed


@pytest.mark.rule("R2-36")
def test_one_change_is_said_once_though_the_source_moves_on() -> None:
    state = once(held("1.0.0", "r1", default=1))
    for revision in ("r2", "r3", "r4"):
        state = again(state, held("1.0.0", revision, default=2))
    assert len(state.changed) == 1


@pytest.mark.parametrize("field", ["description", "displayName", "icon", "docsURL"])
def test_what_is_for_people_is_no_content(field: str) -> None:
    other = definition("web", "1.0.0", more=f"{field}: other\n")
    state = again(once(held("1.0.0")), held("", "r2", text=f"# Moved.\n\n{other}"))
    assert (state.changed, [each.revision for each in state.versions]) == ((), ["r1"])


def test_the_text_of_a_version_that_is_known_is_not_kept_again() -> None:
    before = once(held("1.0.0"))
    merged: Merged = merge(before, SourceListing("r2", [held("1.0.0", "r2", default=2), held("1.1.0", "r2")]), LATER)
    assert len(merged.texts) == 1


def test_a_reading_of_the_whole_source_says_what_is_gone() -> None:
    before = once(held("1.0.0"), held("1.1.0"))
    state = again(before, held("1.1.0"), whole=True)
    assert (offered(state), gone(state)) == (["web 1.1.0"], ["web 1.0.0"])


def test_what_belongs_to_a_part_that_did_not_change_stays() -> None:
    marks = {"one": "d1", "two": "d2"}
    before = once(held("1.0.0", mark="one"), held("1.1.0", mark="two"), marks=marks)
    assert offered(again(before, marks=marks)) == ["web 1.0.0", "web 1.1.0"]
    assert gone(again(before, marks={"two": "d2"})) == ["web 1.0.0"]


def test_what_came_back_is_offered_as_it_first_was() -> None:
    before = again(once(held("1.0.0", "r1", default=1)), whole=True)
    assert gone(before) == ["web 1.0.0"]
    state = again(before, held("1.0.0", "r3", default=3), whole=True)
    assert offered(state) == ["web 1.0.0"]
    assert [each.revision for each in state.versions] == ["r1"]
    assert len(state.changed) == 1


@pytest.mark.rule("R2-35")
def test_the_first_digest_is_the_record_and_the_last_is_what_is_found() -> None:
    state = again(once(held("1.0.0", digest="sha256:a")), held("1.0.0", "r2", digest="sha256:b"))
    assert [(each.digest, each.found) for each in state.versions] == [("sha256:a", "sha256:b")]
    state = again(state, held("1.0.0", "r3", digest="sha256:a"))
    assert [(each.digest, each.found) for each in state.versions] == [("sha256:a", "sha256:a")]


def test_a_file_may_hold_several_definitions_among_other_things() -> None:
    other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
    text = "---\n".join((definition("web", "1.0.0"), other, definition("db", "2.0.0")))
    state = once(held("", text=text))
    assert (offered(state), state.all_problems) == (["web 1.0.0", "db 2.0.0"], ())
    assert [each.first_line for each in state.versions] == [1, 12]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kind: PluginDefinition\na: [\n", "web.yaml@r1: line "),
        (definition("web", "soon"), "soon"),
        (definition("web", "1.0.0", more="colour: red\n"), "colour"),
        (definition("Web!", "1.0.0"), "Web!"),
        ("apiVersion: example.org/v1\nkind: PluginDefinition\nmetadata: {name: web}\n", "not a definition"),
        ("apiVersion: fleetform.dev/v1alpha1\nkind: PluginDefinition\n", "web.yaml@r1: "),
        ("kind: List\nitems: [a]\n", "must be a map"),
    ],
)
def test_what_cannot_be_read_is_a_problem_with_its_place_and_hides_nothing_else(text: str, said: str) -> None:
    state = once(held("", text=text), ListedDefinition("db.yaml", "r1", definition("db", "1.0.0")))
    assert offered(state) == ["db 1.0.0"]
    (problem,) = state.all_problems
    assert problem.startswith("web.yaml@r1: ")
    assert said in problem


def test_what_is_past_and_broken_is_no_problem() -> None:
    state = once(held("", text="kind: PluginDefinition\na: [\n", past=True), held("1.0.0", "r2"))
    assert (offered(state), state.all_problems) == (["web 1.0.0"], ())


def test_a_problem_goes_with_what_caused_it() -> None:
    broken = once(held("", text="kind: PluginDefinition\na: [\n"))
    assert len(broken.all_problems) == 1
    assert again(broken, held("1.0.0", "r2")).all_problems == ()


def test_on_a_line_a_version_that_goes_down_is_a_problem_and_nowhere_else() -> None:
    found = (held("1.1.0", "r1", past=True), held("1.0.0", "r2"))
    (said,) = once(*found, is_line=True).all_problems
    assert said.startswith("web went down from 1.1.0 to 1.0.0; both are offered")
    assert once(*found).all_problems == ()


def test_versions_go_down_in_the_order_of_versions() -> None:
    assert once(held("1.9.0", past=True), held("1.10.0"), is_line=True).all_problems == ()
    assert len(once(held("1.0.0", past=True), held("1.0.0-rc.1"), is_line=True).all_problems) == 1


def test_two_definitions_with_the_name_and_the_version_of_one_are_a_change() -> None:
    state = once(
        ListedDefinition("a.yaml", "r1", definition("web", "1.0.0", 1)),
        ListedDefinition("b.yaml", "r1", definition("web", "1.0.0", 2)),
    )
    assert len(state.changed) == 1
    assert [each.file for each in state.versions] == ["a.yaml"]


def test_two_files_that_contradict_each_other_are_both_named() -> None:
    state = once(
        ListedDefinition("a.yaml", "r1", definition("web", "1.0.0", 1)),
        ListedDefinition("b.yaml", "r1", definition("web", "1.0.0", 2)),
    )
    (said,) = state.changed
    assert "a.yaml" in said
    assert "b.yaml" in said
