"""Catalogs from git: which versions a repository offers, and what its people may do to it meanwhile."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleetform.outside.mirrors import Change, Commit, Mirror
from support.repositories import FleetCommand, Repository, catalog, definition

SAID_AT_EVERY_COMMIT = "merge._kept puts the tip's commit into the message, so every new commit adds a warning"


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> FleetCommand:
    return FleetCommand(tmp_path, capsys, monkeypatch)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


@pytest.fixture
def history(repository: Repository) -> list[str]:
    """The commits of web 1.0.0, 1.1.0 and 2.0.0, each in place of the one before."""
    return [repository.commit({"web.yaml": definition("web", version)}) for version in ("1.0.0", "1.1.0", "2.0.0")]


def read(run: FleetCommand, git: str = "url: ../repository", more: str = "", code: int = 0) -> None:
    """Fetch a catalog of one git source; git and more are flow-style YAML."""
    run.write(catalog=catalog(f"{{git: {{{git}}}{more}}}"))
    run.fetch(code=code)


def place_of_default(run: FleetCommand, *arguments: str) -> str:
    """Where the default of replicas stands."""
    (option,) = run("explain", "web", "replicas", "-c", "eu-1", "-o", "json", *arguments).json["options"]
    (default,) = [each for each in option["hidden"] if each["layer"] == "default"]
    place = default["object"]["place"]
    return f"{place['file']}:{place['line']}"


# ---- History


def test_every_version_that_the_main_line_held_is_offered(run: FleetCommand, history: list[str]) -> None:
    read(run)
    assert run.offered() == ["web 1.0.0", "web 1.1.0", "web 2.0.0"]
    assert run.source()["revision"] == history[-1]


def test_explain_shows_the_commit_that_a_version_came_with(run: FleetCommand, history: list[str]) -> None:
    read(run)
    assert place_of_default(run) == f"catalog:acme/extensions/web.yaml@{history[2][:12]}:6"
    run.write(preset=(run.folder / "preset.yaml").read_text().replace("{name: web}\n", "{name: web, version: ^1}\n"))
    assert place_of_default(run) == f"catalog:acme/extensions/web.yaml@{history[1][:12]}:6"
    shown = run("explain", "web", "replicas", "-c", "eu-1")
    assert f"default of 1.1.0    catalog:acme/extensions/web.yaml@{history[1][:12]}:6" in shown.out


def test_of_a_merged_branch_only_what_the_merge_brought_was_on_the_main_line(
    run: FleetCommand, repository: Repository
) -> None:
    start = repository.commit({"web.yaml": definition("web", "1.0.0")})
    repository.commit({"web.yaml": definition("web", "1.1.0-draft")}, "feature", onto=start)
    feature = repository.commit({"web.yaml": definition("web", "1.1.0")}, "feature")
    repository.commit({"db.yaml": definition("db", "1.0.0")})
    merge = repository.commit({"web.yaml": definition("web", "1.1.0")}, merging=feature)
    read(run)
    assert run.offered() == ["db 1.0.0", "web 1.0.0", "web 1.1.0"]
    assert merge[:12] in place_of_default(run)


@pytest.mark.parametrize("url", ["../repository", "{folder}/repository", "file://{folder}/repository"])
def test_a_repository_is_named_by_path_or_address(
    run: FleetCommand, repository: Repository, tmp_path: Path, url: str
) -> None:
    repository.commit({"web.yaml": definition("web", "1.0.0")})
    read(run, f"url: {url.format(folder=tmp_path)}")
    assert run.offered() == ["web 1.0.0"]


def test_a_path_is_relative_to_the_file_that_names_it(run: FleetCommand, repository: Repository) -> None:
    repository.commit({"web.yaml": definition("web", "1.0.0")})
    run.write(platform__catalogs__all=catalog("{git: {url: ../../../repository}}"))
    run.fetch()
    assert run.offered() == ["web 1.0.0"]


def test_a_bare_repository_is_as_good(run: FleetCommand, tmp_path: Path) -> None:
    Repository(tmp_path / "bare.git", bare=True).commit({"web.yaml": definition("web", "1.0.0")})
    read(run, "url: ../bare.git")
    assert run.offered() == ["web 1.0.0"]


@pytest.mark.parametrize(
    ("ref", "offered"),
    [
        ("branch: next", ["web 1.0.0", "web 1.1.0", "web 3.0.0"]),
        ("tag: v1", ["web 1.0.0", "web 1.1.0"]),
        ("commit: {commit}", ["web 1.0.0"]),
        ("commit: {short}", ["web 1.0.0"]),
    ],
)
def test_a_ref_says_up_to_where_the_history_is_read(
    run: FleetCommand, repository: Repository, history: list[str], ref: str, offered: list[str]
) -> None:
    repository.tag("v1", history[1], "one")
    repository.commit({"web.yaml": definition("web", "3.0.0")}, "next", onto=history[1])
    read(run, f"url: ../repository, ref: {{{ref.format(commit=history[0], short=history[0][:9])}}}")
    assert run.offered() == offered


@pytest.mark.parametrize("branch", ["master", "trunk"])
def test_without_a_ref_the_only_branch_or_the_usual_one_is_read(
    run: FleetCommand, repository: Repository, branch: str
) -> None:
    repository.commit({"web.yaml": definition("web", "1.0.0")}, branch)
    read(run)
    assert run.offered() == ["web 1.0.0"]


def test_of_several_branches_without_a_usual_name_one_must_be_named(run: FleetCommand, repository: Repository) -> None:
    for branch in ("blue", "green"):
        repository.commit({"web.yaml": definition("web", "1.0.0")}, branch)
    read(run, code=4)
    assert run.source()["error"] == f"{repository.folder} has no branch main or master"


@pytest.mark.parametrize("ref", ["branch: gone", "tag: gone", "commit: 0123456789abcdef0123456789abcdef01234567"])
@pytest.mark.usefixtures("history")
def test_a_ref_that_is_not_there_is_an_error_that_names_it(run: FleetCommand, ref: str) -> None:
    read(run, f"url: ../repository, ref: {{{ref}}}", code=4)
    assert f"repository has no {ref.partition(': ')[2]}" in run.source()["error"]


@pytest.mark.usefixtures("history")
def test_a_ref_that_is_not_there_is_said_in_one_line(run: FleetCommand) -> None:
    read(run, "url: ../repository, ref: {branch: gone}", code=4)
    assert run.source()["error"].endswith("repository has no gone")


def test_an_empty_repository_is_an_error(run: FleetCommand, repository: Repository) -> None:
    read(run, code=4)
    assert "has no branch" in run.source()["error"]
    repository.commit({"web.yaml": definition("web", "1.0.0")})
    run.fetch()
    assert run.source()["error"] is None


# ---- Files


def test_only_the_folder_that_path_names_is_read(run: FleetCommand, repository: Repository) -> None:
    repository.commit(
        {
            "defs/web.yaml": definition("web", "1.0.0"),
            "defs/deep/db.yaml": definition("db", "1.0.0"),
            "defs-old/web.yaml": definition("web", "0.1.0"),
            "other.yaml": definition("other", "1.0.0"),
        }
    )
    read(run, "url: ../repository, path: ./defs/")
    assert run.offered() == ["db 1.0.0", "web 1.0.0"]
    assert place_of_default(run).startswith("catalog:acme/extensions/web.yaml@")


def test_a_path_is_a_name_and_no_pattern(run: FleetCommand, repository: Repository) -> None:
    repository.commit({"d[ef]s/web.yaml": definition("web", "1.0.0"), "des/db.yaml": definition("db", "1.0.0")})
    read(run, "url: ../repository, path: 'd[ef]s'")
    assert run.offered() == ["web 1.0.0"]


def test_include_chooses_files_below_the_path(run: FleetCommand, repository: Repository) -> None:
    files = ("web/plugindefinition.yaml", "web/draft.yaml", "deep/er/plugindefinition.yaml", "plugindefinition.yaml")
    repository.commit({f"defs/{file}": definition(f"d{number}", "1.0.0") for number, file in enumerate(files)})
    read(run, "url: ../repository, path: defs", ", include: ['*/plugindefinition.yaml']")
    assert run.offered() == ["d0 1.0.0"]
    read(run, "url: ../repository, path: defs", ", include: ['**/plugindefinition.yaml']")
    assert run.offered() == ["d0 1.0.0", "d2 1.0.0", "d3 1.0.0"]


def test_without_include_files_that_hold_no_definition_do_not_matter(run: FleetCommand, repository: Repository) -> None:
    repository.commit(
        {
            "web.yaml": definition("web", "1.0.0"),
            "chart/templates/x.yaml": "a: {{ .Values.x }}\n  b: [\n",
            "broken.json": "{",
            "notes.md": definition("notes", "1.0.0"),
            "binary.yaml": b"\xff\x00",
        }
    )
    read(run)
    assert run.offered() == ["web 1.0.0"]
    assert run.findings("catalog-problem") == []


def test_with_include_every_file_that_counts_must_be_readable(run: FleetCommand, repository: Repository) -> None:
    commit = repository.commit({"web.yaml": definition("web", "1.0.0"), "broken.yaml": "a: [\n", "x/c.yaml": "b: [\n"})
    read(run, "url: ../repository", ", include: ['*.yaml']")
    (message,) = run.findings("catalog-problem")
    assert message.startswith(f"git ../repository: broken.yaml@{commit[:12]}: line ")


def test_a_file_may_hold_several_documents_a_list_or_json(run: FleetCommand, repository: Repository) -> None:
    listed = '{"kind": "List", "apiVersion": "v1", "items": [%s]}'
    kind = '"apiVersion": "fleetform.dev/v1alpha1", "kind": "PluginDefinition"'
    as_json = f'{{{kind}, "metadata": {{"name": "%s"}}, "spec": {{"version": "1.0.0"}}}}'
    repository.commit(
        {
            "several.yaml": "---\n".join((definition("web", "1.0.0"), "kind: ConfigMap\n", definition("web", "1.1.0"))),
            "list.yaml": listed % (as_json % "listed"),
            "plain.json": as_json % "plain",
        }
    )
    read(run)
    assert run.offered() == ["listed 1.0.0", "plain 1.0.0", "web 1.0.0", "web 1.1.0"]
    assert place_of_default(run).endswith(":16")


def test_names_of_files_may_be_odd_and_what_is_no_file_is_none(run: FleetCommand, repository: Repository) -> None:
    commit = repository.commit({"ä folder/a b.yaml": definition("web", "1.0.0")})
    link = repository.git("hash-object", "-w", "--stdin", stdin=definition("link", "1.0.0").encode())
    stream = (
        f"commit refs/heads/main\ncommitter A <a@example.org> 1790000000 +0000\ndata 0\nfrom {commit}\n"
        f"M 120000 {link} link.yaml\nM 100755 {link} runs.yaml\nM 160000 {commit} module.yaml\n"
    )
    repository.git("fast-import", "--quiet", stdin=stream.encode())
    read(run)
    assert run.offered() == ["link 1.0.0", "web 1.0.0"]


def test_definitions_of_greenhouse_become_the_catalogs_own(run: FleetCommand, repository: Repository) -> None:
    spec = "spec: {version: 1.0.0, options: [{name: replicas, type: int, required: false}]}\n"
    kinds = {"PluginDefinition": "{name: web, namespace: greenhouse}", "ClusterPluginDefinition": "{name: wide}"}
    files = {
        f"{kind}.yaml": f"apiVersion: greenhouse.sap/v1alpha1\nkind: {kind}\nmetadata: {metadata}\n{spec}"
        for kind, metadata in kinds.items()
    }
    repository.commit(files)
    read(run)
    found = {each["metadata"]["name"]: each["metadata"]["namespace"] for each in run.items("definitions")}
    assert found == {"web": "acme", "wide": "acme"}


# ---- Fetching again


@pytest.fixture
def asked_since(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """From which commit on the history was read, reading by reading."""
    since: list[str | None] = []
    changes = Mirror.changes

    def spied(self: Mirror, tip: str, before: str | None, folder: str) -> Iterator[Change]:
        since.append(before)
        return changes(self, tip, before, folder)

    monkeypatch.setattr(Mirror, "changes", spied)
    return since


def test_only_new_commits_are_read(
    run: FleetCommand, repository: Repository, history: list[str], asked_since: list[str | None]
) -> None:
    read(run)
    (mirror,) = (run.cache / "catalogs-1" / "git").iterdir()
    made = os.stat(mirror).st_ino
    run.fetch()
    repository.commit({"web.yaml": definition("web", "2.1.0")})
    run.fetch()
    assert asked_since == [None, history[-1]]
    assert [(each, os.stat(each).st_ino) for each in (run.cache / "catalogs-1" / "git").iterdir()] == [(mirror, made)]
    assert "web 2.1.0" in run.offered()


def test_what_was_offered_stays_so_when_the_line_goes_on(run: FleetCommand, repository: Repository) -> None:
    for version in ("1.0.0", "1.1.0", "1.2.0"):
        repository.commit({"web.yaml": definition("web", version)})
        read(run)
    assert run.offered() == ["web 1.0.0", "web 1.1.0", "web 1.2.0"]


def test_reading_at_once_or_bit_by_bit_answers_the_same_places(run: FleetCommand, repository: Repository) -> None:
    first = repository.commit({"web.yaml": definition("web", "1.0.0")})
    read(run)
    repository.commit({"web.yaml": definition("web", "1.0.0"), "other.txt": "x"})
    run.fetch()
    assert first[:12] in place_of_default(run)


def test_a_deleted_file_leaves_its_versions(run: FleetCommand, repository: Repository) -> None:
    repository.commit({"web.yaml": definition("web", "1.0.0"), "db.yaml": definition("db", "1.0.0")})
    repository.commit({"web.yaml": None})
    read(run)
    assert run.offered() == ["db 1.0.0", "web 1.0.0"]


def test_a_file_that_is_deleted_between_two_looks_leaves_its_versions(
    run: FleetCommand, repository: Repository
) -> None:
    repository.commit({"web.yaml": definition("web", "1.0.0"), "db.yaml": definition("db", "1.0.0")})
    read(run)
    repository.commit({"web.yaml": None})
    run.fetch()
    assert run.offered() == ["db 1.0.0", "web 1.0.0"]


def test_a_line_that_was_turned_back_and_goes_on_keeps_what_it_held(run: FleetCommand, repository: Repository) -> None:
    repository.commit({"web.yaml": definition("web", "1.0.0")})
    repository.commit({"web.yaml": definition("web", "1.1.0")})
    repository.commit({"web.yaml": definition("web", "1.0.0")})
    repository.commit({"web.yaml": definition("web", "1.2.0")})
    read(run)
    assert run.offered() == ["web 1.0.0", "web 1.1.0", "web 1.2.0"]
    assert run.findings("catalog-problem", "changed-without-bump") == []


def test_versions_that_were_rewritten_away_are_no_longer_offered(
    run: FleetCommand, repository: Repository, history: list[str]
) -> None:
    read(run)
    repository.branch("main", history[0])
    repository.commit({"web.yaml": definition("web", "1.2.0")})
    run.fetch()
    assert run.revisions() == {"web-1.0.0": True, "web-1.1.0": False, "web-1.2.0": True, "web-2.0.0": False}
    assert (run.source()["versions"], run.source()["gone"]) == (2, 2)


def test_a_new_root_is_read_as_a_whole(run: FleetCommand, repository: Repository, history: list[str]) -> None:
    read(run)
    repository.commit({"web.yaml": definition("web", history[0] and "9.0.0")}, root=True)
    run.fetch()
    assert run.offered() == ["web 9.0.0"]


def test_a_plugin_that_runs_a_version_that_is_gone_keeps_it(
    run: FleetCommand, repository: Repository, history: list[str]
) -> None:
    read(run)
    repository.branch("main", history[1])
    run.fetch()
    state = run.running("2.0.0")
    assert [each["status"]["version"] for each in run.items("plugins", *state)] == ["2.0.0"] * 3
    gone = {each["metadata"]["name"]: each["status"] for each in run.items("revisions", *state)}["web-2.0.0"]
    assert (gone["offered"], gone["plugins"]) == (False, 3)
    assert "no longer offered" in run("get", "revisions", "-o", "wide", *state).out
    assert [each["status"]["version"] for each in run.items("plugins")] == ["1.1.0"] * 3


def test_a_plugin_that_asks_for_a_version_that_is_gone_keeps_it_and_is_blocked(
    run: FleetCommand, repository: Repository, history: list[str]
) -> None:
    read(run)
    repository.branch("main", history[1])
    run.fetch()
    run.write(preset=(run.folder / "preset.yaml").read_text().replace("{name: web}\n", "{name: web, version: 2.0.0}\n"))
    (plugin,) = run.items("plugins", "-c", "eu-1", *run.running("2.0.0"))
    assert (plugin["status"]["version"], [each["gate"] for each in plugin["status"]["blocked"]]) == (
        "2.0.0",
        ["version"],
    )


def test_versions_that_come_back_are_offered_again(
    run: FleetCommand, repository: Repository, history: list[str]
) -> None:
    read(run)
    repository.branch("main", history[0])
    run.fetch()
    assert run.offered() == ["web 1.0.0"]
    repository.branch("main", history[2])
    run.fetch()
    assert run.offered() == ["web 1.0.0", "web 1.1.0", "web 2.0.0"]


# ---- Changes without a bump, and versions that go down


@pytest.mark.rule("R2-36")
def test_a_change_without_a_bump_keeps_the_old_revision_and_says_so(run: FleetCommand, repository: Repository) -> None:
    one = repository.commit({"web.yaml": definition("web", "1.0.0", default=1)})
    read(run)
    other = repository.commit({"web.yaml": definition("web", "1.0.0", default=5)})
    fetched = run.fetch()
    (said,) = run.findings("changed-without-bump")
    assert "web 1.0.0" in said
    assert one[:12] in said
    assert other[:12] in said
    assert said.removeprefix("git ../repository: ") in fetched.out
    assert place_of_default(run) == f"catalog:acme/extensions/web.yaml@{one[:12]}:6"
    (option,) = run("explain", "web", "replicas", "-c", "eu-1", "-o", "json").json["options"]
    assert [each["value"] for each in option["hidden"]] == [1]


@pytest.mark.rule("R2-36")
def test_a_change_without_a_bump_that_lies_in_the_past_is_said_too(run: FleetCommand, repository: Repository) -> None:
    one = repository.commit({"web.yaml": definition("web", "1.0.0", default=1)})
    other = repository.commit({"web.yaml": definition("web", "1.0.0", default=5)})
    repository.commit({"web.yaml": definition("web", "1.1.0", default=5)})
    read(run)
    (said,) = run.findings("changed-without-bump")
    assert one[:12] in said
    assert other[:12] in said


@pytest.mark.rule("R2-36")
def test_one_change_without_a_bump_is_said_once_however_many_commits_follow(
    run: FleetCommand, repository: Repository
) -> None:
    repository.commit({"web.yaml": definition("web", "1.0.0", default=1)})
    repository.commit({"web.yaml": definition("web", "1.0.0", default=5)})
    for text in ("one", "two"):
        repository.commit({"notes.txt": text})
        read(run)
    assert len(run.findings("changed-without-bump")) == 1


@pytest.mark.rule("R2-36")
def test_what_is_for_people_only_may_change(run: FleetCommand, repository: Repository) -> None:
    repository.commit({"web.yaml": definition("web", "1.0.0", more="description: one\n")})
    read(run)
    repository.commit({"web.yaml": "# Moved.\n" + definition("web", "1.0.0", more="description: two\nicon: x\n")})
    run.fetch()
    assert run.findings("changed-without-bump") == []
    assert run.offered() == ["web 1.0.0"]


@pytest.mark.rule("R2-43")
def test_another_spelling_of_a_version_is_no_change(run: FleetCommand, repository: Repository) -> None:
    repository.commit({"web.yaml": definition("web", "1.0.0")})
    repository.commit({"web.yaml": definition("web", "v1.0.0")})
    read(run)
    assert run.offered() == ["web 1.0.0"]
    assert run.findings("changed-without-bump") == []


def test_a_version_that_went_down_is_a_warning_and_both_are_offered(run: FleetCommand, repository: Repository) -> None:
    repository.commit({"web.yaml": definition("web", "1.1.0")})
    repository.commit({"web.yaml": definition("web", "1.0.0")})
    read(run)
    (said,) = run.findings("catalog-problem")
    assert "web went down from 1.1.0 to 1.0.0" in said
    assert run.offered() == ["web 1.0.0", "web 1.1.0"]
    repository.commit({"web.yaml": definition("web", "1.2.0")})
    run.fetch()
    assert run.findings("catalog-problem") == []


def test_a_version_that_goes_down_between_two_looks_is_a_warning_too(run: FleetCommand, repository: Repository) -> None:
    repository.commit({"web.yaml": definition("web", "1.1.0")})
    read(run)
    repository.commit({"web.yaml": definition("web", "1.0.0")})
    run.fetch()
    (said,) = run.findings("catalog-problem")
    assert "web went down from 1.1.0 to 1.0.0" in said


# ---- Broken YAML


BROKEN = definition("web", "1.1.0") + "  description: [\n"


def test_what_broke_at_the_tip_is_a_warning_that_names_file_commit_and_line(
    run: FleetCommand, repository: Repository
) -> None:
    repository.commit({"web.yaml": definition("web", "1.0.0"), "db.yaml": definition("db", "1.0.0")})
    broken = repository.commit({"web.yaml": BROKEN})
    read(run)
    assert run.offered() == ["db 1.0.0", "web 1.0.0"]
    (said,) = run.findings("catalog-problem")
    assert said.startswith(f"git ../repository: web.yaml@{broken[:12]}: line ")
    repository.commit({"web.yaml": definition("web", "1.1.0")})
    run.fetch()
    assert run.findings("catalog-problem") == []


def test_what_breaks_between_two_looks_leaves_the_versions_before_it(run: FleetCommand, repository: Repository) -> None:
    repository.commit({"web.yaml": definition("web", "1.0.0")})
    read(run)
    repository.commit({"web.yaml": BROKEN})
    run.fetch()
    assert run.offered() == ["web 1.0.0"]


def test_a_definition_that_is_none_is_a_warning_with_the_reason(run: FleetCommand, repository: Repository) -> None:
    repository.commit(
        {"web.yaml": definition("web", "newest"), "db.yaml": definition("db", "1.0.0", more="colour: x\n")}
    )
    read(run)
    said = run.findings("catalog-problem")
    assert [("db.yaml@" in each, "colour" in each) for each in said] == [(True, True), (False, False)]
    assert [("web.yaml@" in each, "newest" in each) for each in said] == [(False, False), (True, True)]


def test_what_was_broken_in_the_past_does_not_matter(run: FleetCommand, repository: Repository) -> None:
    repository.commit({"web.yaml": BROKEN, "gone.yaml": BROKEN})
    repository.commit({"web.yaml": definition("web", "1.1.0"), "gone.yaml": None})
    read(run)
    assert run.offered() == ["web 1.1.0"]
    assert run.findings("catalog-problem") == []


# ---- Tags


@pytest.fixture
def tagged(repository: Repository, history: list[str]) -> Repository:
    """The history with tags on 1.0.0 and 2.0.0, the second with a message."""
    repository.tag("v1.0.0", history[0])
    repository.tag("v2.0.0", history[2], "two")
    return repository


TAGS = "url: ../repository, versions: Tags"


@pytest.mark.usefixtures("tagged")
def test_with_tags_the_versions_at_tags_are_offered(run: FleetCommand) -> None:
    read(run, TAGS)
    assert run.offered() == ["web 1.0.0", "web 2.0.0"]
    assert re.fullmatch(r"catalog:acme/extensions/web.yaml@v2.0.0:[0-9a-f]{12}:6", place_of_default(run))
    assert run.source()["revision"] == "2 tags"


def test_a_tag_that_leads_to_no_commit_is_left_alone(run: FleetCommand, tagged: Repository) -> None:
    tagged.tag("readme", tagged.git("hash-object", "-w", "--stdin", stdin=b"x"))
    read(run, TAGS)
    assert run.offered() == ["web 1.0.0", "web 2.0.0"]


@pytest.mark.rule("R2-35", "R2-36")
def test_a_tag_that_moved_keeps_the_old_content_and_says_so(run: FleetCommand, tagged: Repository) -> None:
    read(run, TAGS)
    tagged.tag("v2.0.0", tagged.commit({"web.yaml": definition("web", "2.0.0", default=7)}))
    run.fetch()
    (said,) = run.findings("changed-without-bump")
    assert "web 2.0.0 changed under one version at web.yaml@v2.0.0" in said
    (option,) = run("explain", "web", "replicas", "-c", "eu-1", "-o", "json").json["options"]
    assert [each["value"] for each in option["hidden"]] == [1]


@pytest.mark.rule("R2-35", "R2-36")
def test_of_a_tag_that_moved_both_commits_are_named(run: FleetCommand, tagged: Repository, history: list[str]) -> None:
    read(run, TAGS)
    moved = tagged.commit({"web.yaml": definition("web", "2.0.0", default=7)})
    tagged.tag("v2.0.0", moved)
    run.fetch()
    (said,) = run.findings("changed-without-bump")
    assert history[2][:12] in said
    assert moved[:12] in said


def test_the_version_of_a_deleted_tag_is_gone(run: FleetCommand, tagged: Repository) -> None:
    read(run, TAGS)
    tagged.drop_tag("v2.0.0")
    run.fetch()
    assert run.revisions() == {"web-1.0.0": True, "web-2.0.0": False}


def test_a_version_that_its_tag_left_behind_is_gone(run: FleetCommand, tagged: Repository) -> None:
    read(run, TAGS)
    tagged.tag("v2.0.0", tagged.commit({"web.yaml": definition("web", "2.0.1")}))
    run.fetch()
    assert run.revisions() == {"web-1.0.0": True, "web-2.0.0": False, "web-2.0.1": True}


def test_tags_that_are_known_are_not_read_again(
    run: FleetCommand, tagged: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    read(run, TAGS)
    files, looked = Mirror.files, list[str]()

    def spied(self: Mirror, commit: Commit, folder: str) -> list[Change]:
        looked.append(commit.name)
        return files(self, commit, folder)

    monkeypatch.setattr(Mirror, "files", spied)
    tagged.tag("v3.0.0", tagged.commit({"web.yaml": definition("web", "3.0.0")}))
    run.fetch()
    assert len(looked) == 1
    assert run.offered() == ["web 1.0.0", "web 2.0.0", "web 3.0.0"]


def test_a_version_that_another_tag_still_holds_is_not_gone(run: FleetCommand, tagged: Repository) -> None:
    tagged.tag("also", "v2.0.0")
    tagged.tag("zz", tagged.commit({"notes.txt": "x"}))
    read(run, TAGS)
    tagged.drop_tag("zz")
    run.fetch()
    assert run.offered() == ["web 1.0.0", "web 2.0.0"]


def test_what_is_broken_at_a_tag_is_said_as_long_as_the_tag_is_there(run: FleetCommand, tagged: Repository) -> None:
    tagged.tag("broken", tagged.commit({"web.yaml": BROKEN}))
    read(run, TAGS)
    assert len(run.findings("catalog-problem")) == 1
    run.fetch()
    assert len(run.findings("catalog-problem")) == 1


@pytest.mark.usefixtures("tagged")
def test_a_ref_beside_tags_is_an_error(run: FleetCommand) -> None:
    run.write(catalog=catalog("{git: {url: ../repository, versions: Tags, ref: {branch: main}}}"))
    assert "ref has no effect" in run("validate").out


# ---- Head


def test_with_head_only_what_is_there_now_is_offered(run: FleetCommand, repository: Repository) -> None:
    repository.commit({"web.yaml": definition("web", "1.0.0"), "old/web.yaml": definition("web", "0.9.0")})
    repository.commit({"web.yaml": definition("web", "1.1.0")})
    read(run, "url: ../repository, versions: Head")
    assert run.offered() == ["web 0.9.0", "web 1.1.0"]
    repository.commit({"web.yaml": definition("web", "1.2.0"), "old/web.yaml": None})
    run.fetch()
    assert run.revisions() == {"web-0.9.0": False, "web-1.1.0": False, "web-1.2.0": True}


# ---- Hostile repositories and addresses


@pytest.mark.parametrize(
    "url",
    [
        "ext::sh -c touch% {made}",
        "ext::sh -c touch% {made} ://x",
        "a@ext::sh -c touch% {made}",
        "--upload-pack=touch {made}",
        "-u://touch {made}",
        "ssh://-oProxyCommand=touch%20{made}/x",
        "fd::17",
        "ftp://example.org/x",
    ],
)
def test_an_address_that_would_run_something_is_refused(run: FleetCommand, tmp_path: Path, url: str) -> None:
    made = tmp_path / "made"
    read(run, f"url: '{url.format(made=made)}'", code=4)
    assert run.source()["error"]
    assert not made.exists()


@pytest.mark.parametrize("ref", ["branch: --output={made}", "commit: --output={made}", "tag: --output={made}"])
@pytest.mark.usefixtures("history")
def test_a_ref_that_looks_like_an_option_is_a_name(run: FleetCommand, tmp_path: Path, ref: str) -> None:
    made = tmp_path / "made"
    read(run, f"url: ../repository, ref: {{{ref.format(made=made)}}}", code=4)
    assert not made.exists()


def test_a_path_that_looks_like_an_option_is_a_name(run: FleetCommand, repository: Repository) -> None:
    repository.commit({"--name-only/web.yaml": definition("web", "1.0.0")})
    read(run, "url: ../repository, path: --name-only")
    assert run.offered() == ["web 1.0.0"]


@pytest.mark.parametrize(
    "name",
    [
        r'"a\nb.yaml"',
        r'"\n/web.yaml"',
        r'"a\tb \"c\".yaml"',
        r'"a\001b.yaml"',
        r'"a\377b.yaml"',
    ],
)
def test_a_file_may_have_any_name(run: FleetCommand, repository: Repository, name: str) -> None:
    repository.commit({"db.yaml": definition("db", "1.0.0"), name: definition("web", "1.0.0")})
    read(run)
    assert run.offered() == ["db 1.0.0", "web 1.0.0"]


@pytest.mark.parametrize("seconds", [253_402_300_800, 99_999_999_999_999_999])
def test_a_commit_of_the_far_future_is_no_crash(run: FleetCommand, repository: Repository, seconds: int) -> None:
    first, text = repository.commit({"web.yaml": definition("web", "1.0.0")}), definition("db", "1.0.0")
    stream = (
        f"commit refs/heads/main\ncommitter A <a@example.org> {seconds} +0000\ndata 0\nfrom {first}\n"
        f"M 100644 inline db.yaml\ndata {len(text)}\n{text}\n"
    )
    repository.git("fast-import", "--quiet", stdin=stream.encode())
    run.write(catalog=catalog("{git: {url: ../repository}}", "{git: {url: ../nowhere}}"))
    run.fetch(code=4)
    assert "web 1.0.0" in run.offered()


def test_a_tag_with_the_name_of_the_branch_changes_nothing(run: FleetCommand, repository: Repository) -> None:
    repository.commit({"web.yaml": definition("web", "1.0.0")})
    repository.tag("main")
    read(run)


def test_a_shallow_clone_is_read_or_said_to_be_one(
    run: FleetCommand, repository: Repository, history: list[str], tmp_path: Path
) -> None:
    repository.git("clone", "--quiet", "--depth=1", repository.url, str(tmp_path / "clone"))
    run.write(catalog=catalog("{git: {url: ../clone}}"))
    run("catalog", "fetch")
    said = run.source()
    assert said["revision"] == history[-1] or "shallow" in said["error"].replace(str(tmp_path), "")


def test_the_users_configuration_of_git_changes_nothing(
    run: FleetCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, history: list[str]
) -> None:
    settings = "[log]\nshowRoot=false\nfollow=true\ndiffMerges=off\n[diff]\nrenames=copies\n[color]\nui=always\n"
    (tmp_path / "config").write_text(settings)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    read(run)
    assert len(run.offered()) == len(history)


@pytest.mark.parametrize(
    "git", [r'url: "a\0b"', r'url: ../repository, path: "a\0b"', r'url: ../repository, ref: {branch: "a\0b"}']
)
@pytest.mark.usefixtures("history")
def test_a_zero_byte_is_an_error_and_no_crash(run: FleetCommand, git: str) -> None:
    run.write(catalog=catalog(f"{{git: {{{git}}}}}"))
    assert run("catalog", "fetch").code in (1, 2, 4)


def test_a_copy_that_was_damaged_is_made_anew(run: FleetCommand, repository: Repository) -> None:
    repository.commit({"web.yaml": definition("web", "1.0.0")})
    read(run)
    (mirror,) = (run.cache / "catalogs-1" / "git").iterdir()
    (mirror / "HEAD").unlink()
    run.fetch()
    assert run.source()["error"] is None
