"""Catalogs through the command line: what is read, kept, offered and said, whatever the source does."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from fleetform.catalogs.cache import CatalogCache
from fleetform.catalogs.records import SourceState
from fleetform.syntax.times import time_text
from support.fleets import CLUSTERS, PRESET
from support.repositories import FleetCommand, Repository, catalog, definition
from support.servers import HelmServer, OciServer, packed, packed_chart

SLEEPLESS = "fleetform.outside.http._PAUSES"


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> FleetCommand:
    # A server that is gone is not waited for.
    monkeypatch.setattr(SLEEPLESS, (0.0, 0.0))
    return FleetCommand(tmp_path, capsys, monkeypatch)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "repository")
    made.commit({"web.yaml": definition("web", "1.0.0")})
    return made


@pytest.fixture
def helm() -> Iterator[HelmServer]:
    with HelmServer() as started:
        yield started


@pytest.fixture
def registry() -> Iterator[OciServer]:
    with OciServer() as started:
        yield started


GIT = catalog("{git: {url: ../repository}}")


# ---- A source that cannot be read


@pytest.mark.rule("R2-34")
def test_what_was_never_read_is_a_warning_and_nothing_is_contacted(run: FleetCommand, repository: Repository) -> None:
    run.write(catalog=GIT)
    assert len(run.findings("catalog-unread")) == 1
    assert run("get", "catalogs").out.split("\n")[1].split() == [
        "extensions",
        "0",
        "0",
        "git",
        "../repository",
        "never",
        "unread",
    ]
    assert not run.cache.exists()
    assert run("validate", "--fetch").code == 0
    assert run.offered() == ["web 1.0.0"]
    assert repository.folder.exists()


@pytest.mark.rule("R2-34")
def test_a_source_that_is_gone_keeps_its_last_good_state_and_says_since_when(
    run: FleetCommand, repository: Repository
) -> None:
    run.write(catalog=GIT)
    run.fetch()
    read, elsewhere = time_text(run.now), repository.folder.parent / "elsewhere"
    repository.folder.rename(elsewhere)
    run.now += timedelta(hours=1)
    failed = time_text(run.now)
    assert f"unavailable since {failed}: git cannot fetch" in run.fetch(code=4).out
    run.now += timedelta(hours=1)
    run.fetch(code=4)
    source = run.source()
    assert (source["readAt"], source["failedSince"], source["versions"]) == (read, failed, 1)
    assert f"unavailable since {failed}" in run("get", "catalogs").out
    assert run.offered() == ["web 1.0.0"]
    (message,) = run.findings("catalog-unavailable")
    assert f"cannot be read since {failed}" in message
    assert f"what was read at {read} is used" in message
    elsewhere.rename(repository.folder)
    run.fetch()
    assert (run.source()["failedSince"], run.source()["error"]) == (None, None)
    assert run.findings("catalog-unavailable") == []


@pytest.mark.rule("R2-34")
def test_a_plugin_goes_on_while_its_catalog_is_gone(run: FleetCommand, repository: Repository) -> None:
    run.write(catalog=GIT)
    run.fetch()
    before = run.items("plugins")
    repository.folder.rename(repository.folder.parent / "elsewhere")
    run.fetch(code=4)
    assert run.items("plugins") == before


@pytest.mark.rule("R2-34")
@pytest.mark.usefixtures("repository")
def test_one_source_that_fails_does_not_keep_others_from_being_read(run: FleetCommand) -> None:
    run.write(catalog=catalog("{git: {url: ../nowhere}}", "{git: {url: ../repository}}"))
    run.fetch(code=4)
    assert [each["error"] is None for each in run.sources()] == [False, True]
    assert run.offered() == ["web 1.0.0"]


@pytest.mark.rule("R2-34")
def test_a_failure_is_told_as_data_too(run: FleetCommand) -> None:
    run.write(catalog=GIT)
    result = run("catalog", "fetch", "-o", "json")
    assert result.code == 4
    assert result.json["items"][0]["status"]["sources"][0]["error"].startswith("git cannot fetch")


def test_strict_makes_a_source_that_is_gone_an_error(run: FleetCommand) -> None:
    run.write(catalog=GIT)
    run.fetch(code=4)
    assert run("validate").code == 0
    assert run("validate", "--strict").code == 1


# ---- What `catalog fetch` takes


@pytest.mark.usefixtures("repository")
def test_catalogs_can_be_fetched_by_name(run: FleetCommand) -> None:
    run.write(
        one=catalog("{git: {url: ../repository}}", name="one"), two=catalog("{git: {url: ../nowhere}}", name="two")
    )
    assert run("catalog", "fetch", "one").code == 0
    assert [each["readAt"] is None for each in run.sources()] == [False, True]
    assert run("catalog", "fetch", "two").code == 4


@pytest.mark.usefixtures("repository")
def test_among_several_organizations_the_one_that_is_meant_must_be_named(run: FleetCommand) -> None:
    run.write(catalog=GIT, globex=CLUSTERS.replace("namespace: acme", "namespace: globex"))
    assert run("catalog", "fetch", "-n", "acme").code == 0
    assert run("catalog", "fetch", "-A").code == 0
    assert run("catalog", "fetch", "-n", "globex").code == 1


@pytest.mark.usefixtures("repository")
def test_without_an_organization_the_catalogs_of_all_are_fetched(run: FleetCommand) -> None:
    run.write(catalog=GIT, globex=CLUSTERS.replace("namespace: acme", "namespace: globex"))
    result = run("catalog", "fetch")
    assert (result.code, "extensions: 1 definition" in result.out) == (0, True)


def test_a_catalog_that_is_not_there_is_not_found(run: FleetCommand) -> None:
    run.write(catalog=GIT)
    result = run("catalog", "fetch", "extension")
    assert (result.code, "did you mean extensions?" in result.err) == (1, True)


def test_without_a_catalog_there_is_nothing_to_fetch(run: FleetCommand) -> None:
    result = run("catalog", "fetch")
    assert (result.code, "there is no catalog in the input" in result.err) == (1, True)


@pytest.mark.usefixtures("repository")
def test_what_was_fetched_is_shown_by_catalog_and_source(run: FleetCommand) -> None:
    run.write(catalog=GIT)
    assert run.fetch().out == (f"extensions: 1 definition\n  git ../repository: 1 version, read {time_text(run.now)}\n")


def test_a_source_of_no_kind_is_an_error_and_no_crash(run: FleetCommand) -> None:
    run.write(catalog=catalog("{interval: 1h}"))
    result = run("validate")
    assert (result.code, "one of directory, git, helm, oci is needed" in result.out) == (1, True)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("{directory: defs, git: {url: x}}", "directory and git exclude each other"),
        ("{oci: {repository: 'https://example.org/x'}}", "starts with oci://"),
        ("{helm: {repository: charts}}", "a Helm repository is an address"),
        ("{git: {url: x, ref: {tag: a, branch: b}}}", "tag and branch exclude each other"),
        ("{git: {url: x}, interval: often}", "often"),
        ("{git: {url: x}, rename: [{name: a, as: b}, {name: a, as: c}]}", "a is renamed twice"),
        ("{git: {}}", "url"),
    ],
)
def test_what_is_wrong_with_a_catalog_is_an_error(run: FleetCommand, source: str, said: str) -> None:
    run.write(catalog=catalog(source))
    result = run("validate")
    assert (result.code, said in result.out) == (1, True), result


# ---- Organizations and names


@pytest.mark.rule("B15")
@pytest.mark.usefixtures("repository")
def test_a_catalog_offers_to_its_own_organization_only(run: FleetCommand) -> None:
    run.write(
        catalog=GIT,
        globex=CLUSTERS.replace("namespace: acme", "namespace: globex"),
        preset2=PRESET.replace("namespace: acme", "namespace: globex"),
    )
    run.fetch()
    assert run.offered("-n", "acme") == ["web 1.0.0"]
    assert run.offered("-n", "globex") == []
    assert run.items("catalogs", "-n", "globex") == []
    versions = {(each["metadata"]["namespace"], each["status"]["version"]) for each in run.items("plugins")}
    assert versions == {("acme", "1.0.0"), ("globex", None)}
    assert len(run.findings("missing-definition")) == 1


@pytest.mark.usefixtures("repository")
def test_a_catalog_of_the_platform_serves_all(run: FleetCommand) -> None:
    run.write(
        catalog=catalog("{git: {url: ../repository}}", namespace="fleetform-system"),
        globex=CLUSTERS.replace("namespace: acme", "namespace: globex"),
        preset2=PRESET.replace("namespace: acme", "namespace: globex"),
    )
    run.fetch()
    for organization in ("acme", "globex"):
        assert run.offered("-n", organization) == ["web 1.0.0"]
        assert [each["status"]["version"] for each in run.items("plugins", "-n", organization)] == ["1.0.0"] * 3


@pytest.mark.rule("B15")
@pytest.mark.parametrize("namespace", ["globex", "fleetform-system"])
def test_a_definition_that_names_another_namespace_lands_in_the_catalogs_own(
    run: FleetCommand, repository: Repository, namespace: str
) -> None:
    repository.commit(
        {"web.yaml": definition("web", "1.0.0").replace("{name: web}", f"{{name: web, namespace: {namespace}}}")}
    )
    run.write(catalog=GIT)
    run.fetch()
    assert [each["metadata"]["namespace"] for each in run.items("definitions")] == ["acme"]


@pytest.mark.usefixtures("repository")
def test_an_organization_without_anything_else_sees_its_catalog(run: FleetCommand) -> None:
    (run.folder / "clusters.yaml").unlink()
    (run.folder / "preset.yaml").unlink()
    run.write(catalog=GIT)
    assert run("catalog", "fetch").code == 0


def test_an_entry_can_be_offered_under_another_name(run: FleetCommand, repository: Repository) -> None:
    repository.commit({"db.yaml": definition("db", "1.0.0")})
    run.write(catalog=catalog("{git: {url: ../repository}, rename: [{name: db, as: database}]}"))
    run.fetch()
    assert run.offered() == ["database 1.0.0", "web 1.0.0"]
    run.write(catalog=catalog("{git: {url: ../repository}, rename: [{name: db, as: postgres}]}"))
    assert run.offered() == ["postgres 1.0.0", "web 1.0.0"]


def test_two_states_of_one_repository_stand_side_by_side_under_aliases(
    run: FleetCommand, repository: Repository
) -> None:
    commits = [repository.commit({"web.yaml": definition("web", version)}) for version in ("2.0.0", "3.0.0")]
    sources = [f"git: {{url: ../repository, ref: {{commit: {commit}}}, versions: Head}}" for commit in commits]
    run.write(
        catalog=catalog(
            f"{{{sources[0]}, rename: [{{name: web, as: web-stable}}]}}",
            f"{{{sources[1]}, rename: [{{name: web, as: web-latest}}]}}",
        ),
        preset=PRESET.replace("{name: web}\n", "{name: web-stable}\n"),
        preset2=PRESET.replace("{name: web}\n", "{name: web-latest}\n").replace("{name: web,", "{name: next,"),
    )
    run.fetch()
    assert run.offered() == ["web-latest 3.0.0", "web-stable 2.0.0"]
    versions = {each["metadata"]["name"]: each["status"]["version"] for each in run.items("plugins", "-c", "eu-1")}
    assert versions == {"web-eu-1": "2.0.0", "next-eu-1": "3.0.0"}


def test_of_what_is_wrong_in_a_catalog_people_hear_what_their_plugins_get(
    run: FleetCommand, repository: Repository
) -> None:
    """As a warning: they cannot mend it."""
    texts = {name: definition(name, "1.1.0").replace("default: 1", "default: many") for name in ("web", "unused")}
    repository.commit({f"{name}.yaml": text for name, text in texts.items()})
    run.write(catalog=GIT)
    run.fetch()
    assert run.offered() == ["unused 1.1.0", "web 1.0.0", "web 1.1.0"]
    result = run("validate", "-o", "json").json
    said = [(each["code"], each["severity"], each["object"]) for each in result["diagnostics"]]
    assert (said, result["valid"]) == ([("wrong-type", "warning", "PluginDefinition/acme/web")], True)


def greenhouse(*sources: str) -> str:
    """A Catalog of Greenhouse's; sources are flow-style YAML."""
    listed = "".join(f"  - {source}\n" for source in sources)
    return (
        "apiVersion: greenhouse.sap/v1alpha1\nkind: Catalog\nmetadata: {name: extensions, namespace: acme}\n"
        f"spec:\n  sources:\n{listed}"
    )


def test_a_catalog_of_greenhouse_is_read_as_it_is_there(run: FleetCommand, repository: Repository) -> None:
    stable = repository.commit({"web/plugindefinition.yaml": definition("web", "2.0.0")})
    repository.commit({"web/plugindefinition.yaml": definition("web", "3.0.0")})
    source = f"repository: {repository.url}, resources: [web/plugindefinition.yaml], interval: 30m"
    run.write(
        catalog=greenhouse(
            f"{{{source}, ref: {{sha: {stable}}}, overrides: [{{name: web, alias: web-stable}}]}}",
            f"{{{source}, ref: {{branch: main}}, overrides: [{{name: web, alias: web-latest}}]}}",
        ),
        preset=PRESET.replace("{name: web}\n", "{name: web-stable}\n"),
    )
    run.fetch()
    assert run.offered() == ["web-latest 3.0.0", "web-stable 2.0.0"]
    assert [each["status"]["version"] for each in run.items("plugins")] == ["2.0.0"] * 3


@pytest.mark.parametrize("interval", ["1.5h", "500ms", "often"])
def test_an_interval_as_go_writes_it_is_no_crash(run: FleetCommand, repository: Repository, interval: str) -> None:
    run.write(catalog=greenhouse(f"{{repository: {repository.url}, interval: {interval}}}"))
    assert run("catalog", "fetch").code in (0, 2)
    assert run("validate").code in (0, 1)


def test_two_sources_of_the_same_version_are_no_error_where_they_agree(
    run: FleetCommand, repository: Repository
) -> None:
    run.write(catalog=catalog("{git: {url: ../repository}}", f"{{git: {{url: {repository.url}}}}}"))
    run.fetch()
    assert len(run.findings("duplicate-object")) == 1
    assert run.offered() == ["web 1.0.0"]


def test_two_sources_that_contradict_each_other_are_an_error(run: FleetCommand, tmp_path: Path) -> None:
    for number, name in enumerate(("one", "two")):
        Repository(tmp_path / name).commit({"web.yaml": definition("web", "1.0.0", default=number)})
    run.write(catalog=catalog("{git: {url: ../one}}", "{git: {url: ../two}}"))
    run.fetch()
    (message,) = run.findings("duplicate-object", valid=False)
    assert message == "PluginDefinition web 1.0.0 is written twice, with two contents"


def test_sources_with_the_same_file_at_the_same_tag_are_told_apart(run: FleetCommand, tmp_path: Path) -> None:
    for name, comment in (("db", "# A long comment.\n\n\n\n"), ("web", "")):
        repository = Repository(tmp_path / name)
        repository.commit({"plugindefinition.yaml": comment + definition(name, "1.0.0")})
        repository.tag("v1")
    run.write(catalog=catalog(*(f"{{git: {{url: ../{name}, versions: Tags}}}}" for name in ("web", "db"))))
    run.fetch()
    (option,) = run("explain", "web", "replicas", "-c", "eu-1", "-o", "json").json["options"]
    assert option["hidden"][0]["object"]["place"]["line"] == 6


# ---- Helm repositories


SCHEMA = {"properties": {"replicas": {"type": "integer", "minimum": 1}, "host": {"type": "string"}}}


def helm_catalog(server: HelmServer, more: str = "") -> str:
    return catalog(f"{{helm: {{repository: '{server.repository}'}}{more}}}")


def test_a_helm_repository_offers_its_charts(run: FleetCommand, helm: HelmServer) -> None:
    for version in ("1.0.0", "1.1.0"):
        helm.add("web", version, packed_chart("web", version, "replicas: 1\n", SCHEMA))
    helm.add("db", "1.0.0")
    run.write(catalog=helm_catalog(helm, ", include: [web]"))
    run.fetch()
    assert run.offered() == ["web 1.0.0", "web 1.1.0"]
    (plugin,) = run.items("plugins", "-c", "eu-1")
    assert (plugin["status"]["version"], plugin["status"]["values"], plugin["status"]["blocked"]) == (
        "1.1.0",
        {"replicas": 2},
        [],
    )


def test_the_options_of_a_chart_are_enforced(run: FleetCommand, helm: HelmServer) -> None:
    helm.add("web", "1.0.0", packed_chart("web", "1.0.0", "replicas: 1\n", SCHEMA))
    run.write(catalog=helm_catalog(helm), preset=PRESET.replace("value: 2", "value: many"))
    run.fetch()
    result = run("validate")
    assert (result.code, "replicas" in result.out) == (1, True)
    run.write(preset=PRESET.replace("value: 2", "value: 0"))
    assert run("validate").code == 1


@pytest.mark.rule("R2-35")
def test_other_bytes_under_a_charts_version_block_it(run: FleetCommand, helm: HelmServer) -> None:
    helm.add("web", "1.0.0")
    run.write(catalog=helm_catalog(helm))
    run.fetch()
    assert run("get", "plugins").out.count("artifact-mutated") == 0
    helm.entries.clear()
    helm.add("web", "1.0.0", packed_chart("web", "1.0.0", "replicas: 1\n# Other bytes.\n"))
    run.fetch()
    assert run("get", "plugins").out.count("artifact-mutated") == 3
    explained = run("explain", "web", "-c", "eu-1").out
    assert "blocked [artifact-mutated] what web 1.0.0 renders changed under one version" in explained
    helm.entries.clear()
    helm.add("web", "1.0.0")
    run.fetch()
    assert run("get", "plugins").out.count("artifact-mutated") == 0


@pytest.mark.rule("R2-35", "R2-36")
def test_a_chart_that_changes_its_options_under_one_version_keeps_the_old_ones(
    run: FleetCommand, helm: HelmServer
) -> None:
    helm.add("web", "1.0.0")
    run.write(catalog=helm_catalog(helm))
    run.fetch()
    helm.entries.clear()
    helm.add("web", "1.0.0", packed_chart("web", "1.0.0", "replicas: one\n"))
    run.fetch()
    (item,) = run.items("definitions")
    assert item["spec"]["options"] == [{"name": "replicas", "type": "int"}]
    assert len(run.findings("changed-without-bump")) == 1


def test_a_chart_that_was_removed_is_gone(run: FleetCommand, helm: HelmServer) -> None:
    for version in ("1.0.0", "1.1.0"):
        helm.add("web", version)
    run.write(catalog=helm_catalog(helm))
    run.fetch()
    del helm.entries["web"][0]
    run.fetch()
    assert run.revisions() == {"web-1.0.0": True, "web-1.1.0": False}
    state = run.running("1.1.0")
    assert [each["status"]["version"] for each in run.items("plugins", *state)] == ["1.1.0"] * 3


@pytest.mark.rule("R2-34")
def test_a_helm_repository_that_is_down_keeps_its_charts(run: FleetCommand) -> None:
    with HelmServer() as server:
        server.add("web", "1.0.0")
        run.write(catalog=helm_catalog(server))
        run.fetch()
    run.fetch(code=4)
    assert "refuses connections" in run.source()["error"]
    assert run.offered() == ["web 1.0.0"]


def test_what_is_known_of_charts_is_not_fetched_again(run: FleetCommand, helm: HelmServer) -> None:
    helm.add("web", "1.0.0")
    run.write(catalog=helm_catalog(helm))
    run.fetch()
    helm.asked.clear()
    run.fetch()
    assert helm.paths == ["/charts/index.yaml"]
    helm.asked.clear()
    run("validate")
    assert helm.paths == []


def test_one_chart_that_is_broken_is_a_warning_and_hides_no_other(run: FleetCommand, helm: HelmServer) -> None:
    helm.add("web", "1.0.0")
    helm.add("web", "1.1.0", b"no archive")
    run.write(catalog=helm_catalog(helm))
    run.fetch()
    assert run.offered() == ["web 1.0.0"]
    (message,) = run.findings("catalog-problem")
    assert "web 1.1.0: it is not a .tar.gz archive" in message


# ---- OCI registries


def oci_catalog(server: OciServer, name: str) -> str:
    return catalog(f"{{oci: {{repository: '{server.repository(name)}'}}}}")


def test_a_chart_in_a_registry_is_offered_and_its_options_enforced(run: FleetCommand, registry: OciServer) -> None:
    for version in ("1.0.0", "1.1.0"):
        registry.push_chart("charts/web", version, packed_chart("web", version, "replicas: 1\n", SCHEMA))
    run.write(catalog=oci_catalog(registry, "charts/web"))
    run.fetch()
    assert run.offered() == ["web 1.0.0", "web 1.1.0"]
    assert [each["status"]["version"] for each in run.items("plugins")] == ["1.1.0"] * 3
    run.write(preset=PRESET.replace("value: 2", "value: many"))
    assert run("validate").code == 1


def test_manifests_in_a_registry_are_offered(run: FleetCommand, registry: OciServer) -> None:
    for version in ("1.0.0", "1.1.0"):
        archive = packed({"web/plugindefinition.yaml": definition("web", version)})
        registry.push("catalog", version, [{"mediaType": "application/x.tar+gzip", **registry.blob(archive)}])
    run.write(catalog=oci_catalog(registry, "catalog"))
    run.fetch()
    assert run.offered() == ["web 1.0.0", "web 1.1.0"]


@pytest.mark.rule("R2-35")
def test_other_bytes_under_a_tag_block_it(run: FleetCommand, registry: OciServer) -> None:
    registry.push_chart("charts/web", "1.0.0", packed_chart("web", "1.0.0", "replicas: 1\n"))
    run.write(catalog=oci_catalog(registry, "charts/web"))
    run.fetch()
    registry.push_chart("charts/web", "1.0.0", packed_chart("web", "1.0.0", "replicas: 1\n# Other.\n"))
    run.fetch()
    assert "artifact-mutated" in run("explain", "web", "-c", "eu-1").out
    assert run("get", "plugins").out.count("artifact-mutated") == 3


def test_a_tag_that_was_removed_is_gone_and_a_registry_that_is_down_keeps_its_own(run: FleetCommand) -> None:
    with OciServer() as server:
        for version in ("1.0.0", "1.1.0"):
            server.push_chart("charts/web", version, packed_chart("web", version, "replicas: 1\n"))
        run.write(catalog=oci_catalog(server, "charts/web"))
        run.fetch()
        del server.manifests["charts/web", "1.1.0"]
        run.fetch()
        assert run.revisions() == {"web-1.0.0": True, "web-1.1.0": False}
    run.fetch(code=4)
    assert run.offered() == ["web 1.0.0"]


def test_what_is_broken_in_a_registry_is_said_as_long_as_it_is_there(run: FleetCommand, registry: OciServer) -> None:
    archive = packed({"web.yaml": definition("web", "soon")})
    registry.push("catalog", "1.0.0", [{"mediaType": "application/x.tar+gzip", **registry.blob(archive)}])
    run.write(catalog=oci_catalog(registry, "catalog"))
    for _ in range(2):
        run.fetch()
        assert len(run.findings("catalog-problem")) == 1


# ---- Folders


FOLDER = catalog("{directory: ./definitions}")


def test_a_folder_is_relative_to_the_catalogs_file_and_not_read_twice(run: FleetCommand) -> None:
    run.write(sub__catalog=FOLDER, sub__definitions__web=definition("web", "1.0.0"))
    assert run.offered() == ["web 1.0.0"]
    assert [each["metadata"]["namespace"] for each in run.items("definitions")] == ["acme"]
    assert run.findings("duplicate-object", "catalog-unread") == []
    place = run("explain", "web", "-c", "eu-1", "replicas").out
    assert "sub/definitions/web.yaml:6" in place
    assert not run.cache.exists()


@pytest.mark.parametrize("input_", [".", "sub", "{folder}", "{folder}/sub/catalog.yaml"])
def test_a_folder_is_found_from_wherever_the_catalog_is_read(run: FleetCommand, input_: str) -> None:
    run.write(sub__catalog=FOLDER, sub__definitions__web=definition("web", "1.0.0"))
    assert run.offered("-A", "-f", input_.format(folder=run.folder)) == ["web 1.0.0"]


def test_a_folder_may_lie_outside_the_input(run: FleetCommand) -> None:
    run.write(catalog=catalog("{directory: ../shared, include: ['web*/**']}"))
    for path in ("web/a.yaml", "web-2/deep/b.yaml", "db/c.yaml"):
        file = run.folder.parent / "shared" / path
        file.parent.mkdir(parents=True)
        file.write_text(definition(file.stem, "1.0.0"))
    assert run.offered() == ["a 1.0.0", "b 1.0.0"]


def test_a_broken_file_in_a_folder_is_an_error(run: FleetCommand) -> None:
    run.write(catalog=FOLDER, definitions__web=definition("web", "1.0.0"), definitions__broken="kind: x\na: [\n")
    (message,) = run.findings("catalog-problem", valid=False)
    assert "definitions/broken.yaml" in message
    assert "line 3" in message


def test_a_broken_file_in_a_folder_is_named_once(run: FleetCommand) -> None:
    run.write(catalog=FOLDER, definitions__broken="kind: x\na: [\n")
    (message,) = run.findings("catalog-problem", valid=False)
    assert message.count("broken.yaml") == 1


def test_two_contents_of_one_version_in_a_folder_are_an_error(run: FleetCommand) -> None:
    run.write(
        catalog=FOLDER, definitions__a=definition("web", "1.0.0", 1), definitions__b=definition("web", "1.0.0", 2)
    )
    (message,) = run.findings("changed-without-bump", valid=False)
    assert "definitions/a.yaml" in message
    assert "definitions/b.yaml" in message


def test_a_folder_that_is_missing_is_an_error(run: FleetCommand) -> None:
    run.write(catalog=FOLDER)
    (message,) = run.findings("catalog-unavailable", valid=False)
    assert "there is no such file or folder" in message
    assert run("get", "catalogs").code == 2
    run.fetch(code=4)


@pytest.mark.parametrize("directory", [".", "./", "..", "../.."])
def test_the_catalogs_own_folder_is_no_catalog(run: FleetCommand, directory: str) -> None:
    # Deep enough that the folders above hold nothing of other tests, which come and go meanwhile.
    run.folder = run.folder / "above" / "fleet"
    run.folder.mkdir(parents=True)
    run.write(catalog=catalog(f"{{directory: {directory}}}"), web=definition("web", "1.0.0"))
    assert len(run.findings("bad-value", valid=False)) == 1


@pytest.mark.parametrize("directory", ["sub/..", "./sub/../../x/.."])
def test_the_catalogs_own_folder_by_another_name_is_no_catalog(run: FleetCommand, directory: str) -> None:
    run.write(
        catalog=catalog(f"{{directory: {directory.format(folder=run.folder)}}}"), sub__x="kind: x\napiVersion: v1\n"
    )
    assert len(run.findings("bad-value", valid=False)) == 1


@pytest.fixture
def committed(run: FleetCommand) -> FleetCommand:
    """A repository of a fleet with a folder of definitions: 1.0.0 is committed, 2.0.0 is what lies there now."""
    run.write(catalog=FOLDER, definitions__web=definition("web", "1.0.0"))
    git = Repository(run.folder)
    git.git("add", "--all")
    git.git("commit", "--quiet", "--message", "one")
    git.git("branch", "a/branch")
    run.write(definitions__web=definition("web", "2.0.0"))
    return run


def test_a_folder_of_a_git_revision_is_read_at_that_revision(committed: FleetCommand) -> None:
    assert committed.offered("-A", "-f", "git:HEAD") == ["web 1.0.0"]
    assert committed.offered() == ["web 2.0.0"]
    result = committed("diff", "git:HEAD", "-o", "json")
    assert (result.code, "2.0.0" in result.out) == (0, True)


def test_a_folder_of_a_git_revision_is_read_from_a_folder_beside_it_as_well(committed: FleetCommand) -> None:
    committed.folder = committed.folder / "beside"
    committed.folder.mkdir()
    assert committed.offered("-A", "-f", "git:HEAD:..") == ["web 1.0.0"]


def test_a_folder_of_a_branch_with_a_slash_in_its_name_is_read(committed: FleetCommand) -> None:
    assert committed.offered("-A", "-f", "git:a/branch") == ["web 1.0.0"]


# ---- Large, damaged, at once


def states(run: FleetCommand) -> list[Path]:
    return sorted((run.cache / "catalogs-1" / "sources").iterdir())


@pytest.mark.usefixtures("repository")
def test_many_versions_of_many_definitions_are_read_from_the_cache(run: FleetCommand) -> None:
    run.write(catalog=GIT)
    run.fetch()
    (file,) = states(run)
    state = msgspec.json.decode(file.read_bytes(), type=SourceState)
    (one,) = state.versions
    versions = tuple(
        msgspec.structs.replace(
            one,
            name=name,
            version=version,
            tree={**one.tree, "metadata": {"name": name}, "spec": {**one.tree["spec"], "version": version}},
        )
        for name in ["web", *(f"other-{number}" for number in range(39))]
        for version in (f"1.{number}.0" for number in range(300))
    )
    CatalogCache(str(run.cache)).keep(file.name, msgspec.structs.replace(state, versions=versions), {})
    assert [each["status"]["version"] for each in run.items("plugins")] == ["1.299.0"] * 3


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"title": "x", "versions": [{}]}', b"[" * 5000]
)
def test_a_damaged_cache_is_as_good_as_none(run: FleetCommand, content: bytes) -> None:
    run.write(catalog=GIT)
    run.fetch()
    for file in states(run):
        file.write_bytes(content)
    assert len(run.findings("catalog-unread")) == 1
    run.fetch()
    assert run.offered() == ["web 1.0.0"]


@pytest.mark.usefixtures("repository")
def test_texts_that_were_lost_cost_lines_and_nothing_else(run: FleetCommand) -> None:
    run.write(catalog=GIT)
    run.fetch()
    for file in (run.cache / "catalogs-1" / "texts").iterdir():
        file.unlink()
    assert run.offered() == ["web 1.0.0"]
    assert run("explain", "web", "-c", "eu-1", "replicas").code == 0
    assert run("validate").code == 0


@pytest.mark.usefixtures("repository")
def test_the_cache_is_its_users_alone(run: FleetCommand) -> None:
    run.write(catalog=GIT)
    run.fetch()
    assert (run.cache / "catalogs-1").stat().st_mode & 0o777 == 0o700


def test_two_processes_fetch_at_once(run: FleetCommand, repository: Repository) -> None:
    run.write(catalog=GIT)
    command = [sys.executable, "-c", "from fleetform.cli.main import main; main()", "catalog", "fetch"]
    started = [
        subprocess.Popen(command, cwd=run.folder, env={**os.environ}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    said = [process.communicate() for process in started]
    assert [process.returncode for process in started] == [0, 0], said
    assert run.offered() == ["web 1.0.0"]
    assert repository.folder.exists()


@pytest.mark.rule("B30")
@pytest.mark.usefixtures("repository")
def test_what_a_catalog_that_nobody_read_would_decide_is_unknown(run: FleetCommand) -> None:
    run.write(catalog=GIT)
    shutil.copytree(run.folder, run.folder.parent / "before")
    run.write(preset=(run.folder / "preset.yaml").read_text().replace("value: 2", "value: 1000"))
    result = run("diff", "../before", ".", "--exit-code")
    assert (result.code, "no change" in result.out, "never been read" in result.err) == (1, False, True)


@pytest.mark.rule("B30")
@pytest.mark.usefixtures("repository")
def test_so_is_what_it_would_decide_on_clusters_that_join_or_leave(run: FleetCommand) -> None:
    run.write(catalog=GIT)
    shutil.copytree(run.folder, run.folder.parent / "before")
    run.write(clusters=(run.folder / "clusters.yaml").read_text().replace("name: us-1", "name: us-2"))
    result = run("diff", "../before", ".", "-o", "json").json
    assert result["changes"] == []
    assert [each["plugin"] for each in result["unknown"]] == ["web-eu-1", "web-eu-2", "web-us-1", "web-us-2"]


def test_a_catalog_may_offer_a_definition_with_other_defaults_and_another_chart(run: FleetCommand) -> None:
    git, helm = (
        "kustomize: {git: {url: https://git.example.org/web}}",
        "helm: {repository: https://a.example, chart: web}",
    )
    run.write(definitions__web=definition("web", "1.0.0").replace(git, helm))
    override = (
        "{name: web, repository: 'oci://b.example', options: [{name: replicas, value: 4}, {name: gone, value: 1}]}"
    )
    run.write(catalog=catalog(f"{{directory: ./definitions, overrides: [{override}]}}"))
    (item,) = run("get", "definitions", "-o", "json").json["items"]
    assert item["spec"]["source"]["helm"]["repository"] == "oci://b.example"
    assert [each["default"] for each in item["spec"]["options"] if each["name"] == "replicas"] == [4]
    assert len(run.findings("unknown-name")) == 1
