"""The feed that update bots read: one file for each definition, with the versions that may still be used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.fleets import CLUSTERS
from support.repositories import START, FleetCommand, Repository, catalog, definition


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> FleetCommand:
    return FleetCommand(tmp_path, capsys, monkeypatch)


def versions_of(name: str, *versions: str, namespace: str = "acme", annotations: str = "", more: str = "") -> str:
    metadata = f"{{name: {name}, namespace: {namespace}{annotations}}}"
    return "---\n".join(definition(name, each, more=more).replace(f"{{name: {name}}}", metadata) for each in versions)


def policy(support: str, namespace: str = "acme") -> str:
    """A LifecyclePolicy with one rule on web, in flow-style YAML."""
    return (
        "apiVersion: fleetform.dev/v1alpha1\nkind: LifecyclePolicy\n"
        f"metadata: {{name: default, namespace: {namespace}}}\nspec: {{support: [{{definition: web, {support}}}]}}\n"
    )


def feed(run: FleetCommand, *arguments: str) -> dict[str, Any]:
    """The files that were written, by name."""
    result = run("catalog", "feed", "--output-dir", "../public/feed", *arguments)
    assert result.code == 0, result
    written = sorted((run.folder.parent / "public" / "feed").iterdir())
    return {each.name: json.loads(each.read_text()) for each in written}


def versions(run: FleetCommand, *arguments: str) -> list[str]:
    """The versions of web in the feed."""
    return [each["version"] for each in feed(run, *arguments)["web.json"]["releases"]]


@pytest.mark.rule("R2-46")
def test_every_definition_has_a_file_and_versions_come_oldest_first(run: FleetCommand) -> None:
    run.write(definitions=versions_of("web", "1.10.0", "1.9.0", "2.0.0", "2.0.0-rc.1"), db=versions_of("db", "1.0.0"))
    result = run("catalog", "feed", "--output-dir", "../out")
    assert (result.code, result.out, result.err) == (0, "../out/db.json\n../out/web.json\n", "2 files written\n")
    assert versions(run) == ["1.9.0", "1.10.0", "2.0.0-rc.1", "2.0.0"]


@pytest.mark.rule("R2-46")
def test_versions_are_written_as_they_are_compared(run: FleetCommand) -> None:
    run.write(definitions=versions_of("web", "v1.0.0"))
    assert versions(run) == ["1.0.0"]


@pytest.mark.rule("R2-46")
@pytest.mark.parametrize(
    ("support", "left"),
    [
        ("yanked: [1.1.0]", ["1.0.0", "2.0.0"]),
        ("floor: 1.1.0", ["1.1.0", "2.0.0"]),
        ("ends: [{version: ^1, at: 2026-11-01}]", ["2.0.0"]),
        ("ends: [{version: ^1, at: 2026-12-01}]", ["1.0.0", "1.1.0", "2.0.0"]),
        ("yanked: [1.0.0, 1.1.0, 2.0.0]", []),
    ],
)
@pytest.mark.parametrize("namespace", ["acme", "fleetform-system"])
def test_versions_that_a_policy_refuses_are_left_out(
    run: FleetCommand, support: str, left: list[str], namespace: str
) -> None:
    run.write(definitions=versions_of("web", "1.0.0", "1.1.0", "2.0.0"), policy=policy(support, namespace))
    assert versions(run) == left


@pytest.mark.rule("R2-46")
def test_an_end_counts_as_of_the_time_that_is_asked_for(run: FleetCommand) -> None:
    run.write(definitions=versions_of("web", "1.0.0", "2.0.0"), policy=policy("ends: [{version: ^1, at: 2026-12-01}]"))
    assert versions(run, "--at", "2026-12-02") == ["2.0.0"]


def state(run: FleetCommand, **stamp: str) -> tuple[str, str]:
    """The flag for a state that stamped web 1.0.0."""
    version = {"organization": "acme", "definition": "web", "version": "1.0.0", **stamp}
    path = run.folder.parent / "state.json"
    path.write_text(json.dumps({"kind": "State", "version": 1, "stamps": [], "announced": [version]}))
    return "--state", str(path)


@pytest.mark.rule("R2-46")
def test_a_version_whose_stamped_end_has_come_is_left_out(run: FleetCommand) -> None:
    run.write(definitions=versions_of("web", "1.0.0", "2.0.0"))
    assert versions(run, *state(run, endsAt="2026-10-01T00:00:00Z")) == ["2.0.0"]


@pytest.mark.rule("R2-46")
def test_over_all_organizations_each_ones_own_policy_counts(run: FleetCommand) -> None:
    run.write(definitions=versions_of("web", "1.0.0", "1.1.0"), policy=policy("yanked: [1.1.0]"))
    assert versions(run, "-A") == ["1.0.0"]


@pytest.mark.rule("R2-46")
def test_times_are_those_of_the_commits_that_brought_the_versions(run: FleetCommand, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "repository")
    for version in ("1.0.0", "1.1.0"):
        repository.commit({"web.yaml": definition("web", version, more="docsURL: https://example.org/changes\n")})
    repository.commit({"notes.txt": "x"})
    run.write(catalog=catalog("{git: {url: ../repository}}"))
    assert START == 1_790_000_000
    assert feed(run, "--fetch") == {
        "web.json": {
            "releases": [
                {
                    "version": "1.0.0",
                    "releaseTimestamp": "2026-09-21T14:13:20Z",
                    "changelogUrl": "https://example.org/changes",
                },
                {
                    "version": "1.1.0",
                    "releaseTimestamp": "2026-09-21T14:14:20Z",
                    "changelogUrl": "https://example.org/changes",
                },
            ]
        }
    }


@pytest.mark.rule("R2-46")
def test_without_a_commit_the_annotation_says_when_and_else_nothing_does(run: FleetCommand) -> None:
    stamped = ", annotations: {fleetform.dev/announced: '2026-10-01T02:00:00+02:00'}"
    run.write(
        a=versions_of("web", "1.0.0", annotations=stamped),
        b=versions_of("web", "1.1.0"),
    )
    assert feed(run)["web.json"]["releases"] == [
        {"version": "1.0.0", "releaseTimestamp": "2026-10-01T00:00:00Z"},
        {"version": "1.1.0"},
    ]


@pytest.mark.rule("R2-46")
def test_a_stamp_of_an_earlier_pass_says_when(run: FleetCommand) -> None:
    run.write(definitions=versions_of("web", "1.0.0"))
    found = feed(run, *state(run, announcedAt="2026-10-05T00:00:00Z"))
    assert found["web.json"]["releases"] == [{"version": "1.0.0", "releaseTimestamp": "2026-10-05T00:00:00Z"}]


@pytest.mark.rule("R2-46")
def test_an_organizations_own_definition_hides_the_platforms(run: FleetCommand) -> None:
    run.write(
        ours=versions_of("web", "1.0.0"),
        platform="---\n".join(versions_of(name, "9.0.0", namespace="fleetform-system") for name in ("web", "db")),
        theirs=versions_of("other", "1.0.0", namespace="globex"),
    )
    found = feed(run, "-n", "acme")
    assert {name: each["releases"][0]["version"] for name, each in found.items()} == {
        "db.json": "9.0.0",
        "web.json": "1.0.0",
    }


@pytest.mark.rule("R2-46")
@pytest.mark.parametrize("other", ["globex", "fleetform-system"])
def test_two_definitions_of_one_name_over_all_organizations_are_ambiguous(run: FleetCommand, other: str) -> None:
    run.write(ours=versions_of("web", "1.0.0"), theirs=versions_of("web", "1.0.0", namespace=other))
    result = run("catalog", "feed", "-A", "--output-dir", "public")
    assert result.code == 2
    assert all(word in result.err for word in ("acme", other, "web", "-n"))
    assert not (run.folder / "public").exists()


@pytest.mark.rule("R2-46")
def test_a_dry_run_names_the_files_and_writes_none(run: FleetCommand) -> None:
    run.write(definitions=versions_of("web", "1.0.0"))
    result = run("catalog", "feed", "--output-dir", "public", "--dry-run")
    assert (result.code, result.out, result.err) == (0, "public/web.json\n", "1 file would be written\n")
    assert not (run.folder / "public").exists()


@pytest.mark.rule("R2-46")
def test_the_same_fleet_writes_the_same_bytes(run: FleetCommand) -> None:
    run.write(definitions=versions_of("web", "1.0.0", "1.1.0"))
    feed(run)
    file = run.folder.parent / "public" / "feed" / "web.json"
    before = file.read_bytes()
    feed(run)
    assert file.read_bytes() == before
    assert before.endswith(b"}\n")


@pytest.mark.rule("R2-46")
def test_a_feed_inside_the_fleets_folder_is_no_input(run: FleetCommand) -> None:
    run.write(definitions=versions_of("web", "1.0.0"))
    for _ in range(2):
        assert run("catalog", "feed", "--output-dir", "public/feed").code == 0


def test_what_a_catalog_no_longer_holds_is_not_fed(run: FleetCommand, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "repository")
    repository.commit({"web.yaml": definition("web", "1.0.0"), "db.yaml": definition("db", "1.0.0")})
    run.write(catalog=catalog("{git: {url: ../repository, versions: Head}}"))
    run.fetch()
    repository.commit({"web.yaml": definition("web", "1.1.0"), "db.yaml": None})
    run.fetch()
    assert list(feed(run)) == ["web.json"]
    assert versions(run) == ["1.1.0"]


def test_an_invalid_fleet_feeds_nobody(run: FleetCommand) -> None:
    run.write(definitions=versions_of("web", "1.0.0"), broken="a: [\n")
    assert run("catalog", "feed", "--output-dir", "public").code == 2
    assert not (run.folder / "public").exists()


def test_an_organization_that_is_not_there_is_not_found(run: FleetCommand) -> None:
    run.write(definitions=versions_of("web", "1.0.0"), clusters=CLUSTERS)
    assert run("catalog", "feed", "-n", "globex", "--output-dir", "public").code == 1
