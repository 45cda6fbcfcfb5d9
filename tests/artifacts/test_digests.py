"""What definitions render, by the digest of its bytes: unknown until somebody looks, and then held to it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from support.fleets import CLUSTERS, PRESET
from support.repositories import FleetCommand, Repository, catalog, definition
from support.servers import HelmServer, OciServer, Reply, WebServer, digest_of, packed_chart


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> FleetCommand:
    monkeypatch.setattr("fleetform.outside.http._PAUSES", (0.0, 0.0))
    return FleetCommand(tmp_path, capsys, monkeypatch)


class _Clients:
    """Every HTTP client that was made, and whether it was closed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made: list[httpx2.Client] = []
        monkeypatch.setattr("fleetform.outside.http.new_client", self._new)

    def _new(self, timeout: float, trust_env: bool = True) -> httpx2.Client:
        self.made.append(httpx2.Client(timeout=timeout))
        return self.made[-1]


@pytest.fixture(autouse=True)
def clients(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Clients]:
    """Closed after each test, so that what a command leaves open fails one test, and not any that comes later."""
    found = _Clients(monkeypatch)
    yield found
    for client in found.made:
        client.close()


@pytest.fixture
def helm() -> Iterator[HelmServer]:
    with HelmServer() as started:
        yield started


def rendering(source: str, namespace: str = "acme") -> str:
    """The definition web 1.0.0 with a source, in flow-style YAML."""
    text = definition("web", "1.0.0").replace("{name: web}", f"{{name: web, namespace: {namespace}}}")
    return text.partition("  source:")[0] + f"  source: {source}\n"


def chart_of(repository: str, version: str = "1.0.0") -> str:
    return rendering(f"{{helm: {{repository: '{repository}', chart: web, version: {version}}}}}")


def digest(run: FleetCommand, *arguments: str) -> str:
    (item,) = run.items("revisions", "-A", *arguments)
    found: str = item["spec"]["source"]["digest"]
    return found


def blocked(run: FleetCommand, *arguments: str) -> list[str]:
    """What keeps web from being installed on eu-1."""
    (item,) = run.items("plugins", "-c", "eu-1", *arguments)
    return [each["gate"] for each in item["status"]["blocked"]]


def gates_of_diff(run: FleetCommand, *sides: str) -> list[str]:
    """What blocks the changes of a diff, plugin by plugin."""
    changes = run("diff", *sides, "-o", "json").json["changes"]
    return [gate["gate"] for change in changes for gate in change["blocked"]]


MUTATED_EVERYWHERE = ["artifact-mutated"] * 3


# ---- Charts from elsewhere


@pytest.mark.rule("S35")
def test_without_fetch_the_digest_of_a_chart_is_unknown_and_nobody_is_asked(
    run: FleetCommand, helm: HelmServer
) -> None:
    helm.add("web", "1.0.0")
    run.write(definition=chart_of(helm.repository))
    assert digest(run) == "unknown"
    assert (run("validate").code, run("explain", "web", "-c", "eu-1").code) == (0, 0)
    assert helm.asked == []


@pytest.mark.rule("S35")
def test_with_fetch_the_digest_is_looked_up_and_remembered(run: FleetCommand, helm: HelmServer) -> None:
    archive = helm.add("web", "1.0.0")
    run.write(definition=chart_of(helm.repository))
    assert digest(run, "--fetch") == digest_of(archive)
    helm.asked.clear()
    assert digest(run) == digest_of(archive)
    assert helm.asked == []


@pytest.mark.rule("S35")
def test_an_index_that_says_no_digest_has_the_archive_looked_at(run: FleetCommand, helm: HelmServer) -> None:
    archive = helm.add("web", "1.0.0", digest=None)
    run.write(definition=chart_of(helm.repository))
    assert digest(run, "--fetch") == digest_of(archive)


def test_a_command_leaves_no_connection_open(run: FleetCommand, helm: HelmServer, clients: _Clients) -> None:
    helm.add("web", "1.0.0")
    run.write(definition=chart_of(helm.repository))
    digest(run, "--fetch")
    assert [each.is_closed for each in clients.made] == [True]


@pytest.mark.rule("R2-35")
def test_a_chart_that_changed_since_it_was_first_seen_blocks(run: FleetCommand, helm: HelmServer) -> None:
    helm.add("web", "1.0.0")
    run.write(definition=chart_of(helm.repository))
    assert blocked(run, "--fetch") == []
    helm.entries.clear()
    other = helm.add("web", "1.0.0", packed_chart("web", "1.0.0", "replicas: 7\n"))
    assert blocked(run) == []
    assert blocked(run, "--fetch") == ["artifact-mutated"]
    assert blocked(run) == ["artifact-mutated"]
    assert digest(run) == digest_of(other)
    shown = run("explain", "web", "-c", "eu-1").out
    assert "blocked [artifact-mutated] what web 1.0.0 renders changed under one version, from sha256:" in shown
    assert "publish it as a new version, or bring the old bytes back" in shown


@pytest.mark.rule("R2-35")
def test_a_new_version_of_a_chart_that_changed_is_not_blocked(run: FleetCommand, helm: HelmServer) -> None:
    helm.add("web", "1.0.0")
    run.write(definition=chart_of(helm.repository))
    run("validate", "--fetch")
    helm.entries.clear()
    helm.add("web", "1.0.0", packed_chart("web", "1.0.0", "replicas: 7\n"))
    helm.add("web", "1.0.1")
    run.write(definition=chart_of(helm.repository, "1.0.1").replace("version: 1.0.0\n", "version: 1.0.1\n"))
    assert blocked(run, "--fetch") == []


@pytest.mark.rule("R2-35")
def test_the_digest_of_a_state_is_what_was_there_first(run: FleetCommand, helm: HelmServer, tmp_path: Path) -> None:
    archive = helm.add("web", "1.0.0")
    run.write(definition=chart_of(helm.repository))
    for recorded, gates in ((digest_of(archive), []), ("sha256:" + "0" * 64, ["artifact-mutated"])):
        known = f'{{"organization": "acme", "definition": "web", "version": "1.0.0", "digest": "{recorded}"}}'
        state = tmp_path / "state.json"
        state.write_text(f'{{"kind": "State", "version": 1, "stamps": [], "announced": [{known}]}}')
        assert blocked(run, "--fetch", "--state", str(state)) == gates


def test_a_chart_in_a_registry_is_looked_up_by_its_layer(run: FleetCommand) -> None:
    archive = packed_chart("web", "1.0.0", "replicas: 1\n")
    with OciServer() as server:
        server.push_chart("charts/web", "1.0.0", archive)
        run.write(definition=chart_of(server.repository("charts")))
        assert digest(run, "--fetch") == digest_of(archive)


@pytest.mark.rule("R2-34")
def test_a_server_that_is_down_leaves_what_was_seen(run: FleetCommand) -> None:
    with HelmServer() as server:
        archive = server.add("web", "1.0.0")
        run.write(definition=chart_of(server.repository))
        run("validate", "--fetch")
    assert digest(run, "--fetch") == digest_of(archive)
    assert blocked(run, "--fetch") == []


@pytest.mark.rule("S35")
@pytest.mark.parametrize("repository", ["http://127.0.0.1:1/charts", "oci://127.0.0.1:1/charts", "http://[::1/x"])
def test_a_chart_that_cannot_be_had_is_unknown(run: FleetCommand, repository: str) -> None:
    run.write(definition=chart_of(repository))
    assert digest(run, "--fetch") == "unknown"


def test_an_index_is_read_once_for_all_its_charts(run: FleetCommand, helm: HelmServer) -> None:
    for version in ("1.0.0", "1.1.0", "1.2.0"):
        helm.add("web", version)
    texts = (chart_of(helm.repository, v).replace("version: 1.0.0\n", f"version: {v}\n") for v in ("1.0.0", "1.1.0"))
    run.write(definition="---\n".join(texts))
    run("validate", "--fetch")
    assert helm.paths == ["/charts/index.yaml"]


def test_a_registry_that_is_down_is_not_tried_again_for_every_chart(run: FleetCommand) -> None:
    with WebServer(lambda _: Reply(503)) as server:
        run.write(
            definition="---\n".join(
                chart_of(f"oci://{server.host}/charts").replace("version: 1.0.0\n", f"version: 1.{number}.0\n")
                for number in range(4)
            )
        )
        run("validate", "--fetch")
        assert len(server.asked) == 3


@pytest.mark.rule("B15")
def test_what_one_organization_saw_is_no_record_of_another(run: FleetCommand, helm: HelmServer) -> None:
    helm.add("web", "1.0.0")
    run.write(definition=chart_of(helm.repository))
    run("validate", "--fetch")
    run.write(
        definition=chart_of(helm.repository).replace("namespace: acme", "namespace: globex"),
        clusters=CLUSTERS.replace("namespace: acme", "namespace: globex"),
        preset=PRESET.replace("namespace: acme", "namespace: globex"),
    )
    assert digest(run) == "unknown"


@pytest.mark.rule("S35")
def test_charts_of_a_catalogs_definitions_are_looked_up_too(
    run: FleetCommand, helm: HelmServer, tmp_path: Path
) -> None:
    archive = helm.add("web", "1.0.0")
    Repository(tmp_path / "repository").commit({"web.yaml": chart_of(helm.repository)})
    run.write(catalog=catalog("{git: {url: ../repository}}"))
    run.fetch()
    assert digest(run) == digest_of(archive)


@pytest.mark.rule("S35")
def test_fetching_for_one_question_asks_for_no_chart_that_a_catalog_holds(run: FleetCommand, helm: HelmServer) -> None:
    archive = helm.add("web", "1.0.0")
    run.write(catalog=catalog(f"{{helm: {{repository: '{helm.repository}'}}}}"))
    run.fetch()
    assert helm.paths == ["/charts/index.yaml", "/charts/web-1.0.0.tgz"]
    assert digest(run) == digest_of(archive)


# ---- Folders


CHART = {"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "templates/a.yaml": "kind: A\n"}


def write_files(folder: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


SOURCES = {
    "helm": "{helm: {repository: ./charts, chart: web, version: 1.0.0}}",
    "kustomize": "{kustomize: {path: charts/web}}",
    "manifests": "{manifests: {path: ./charts/web/}}",
}


@pytest.mark.rule("S35")
@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_the_digest_of_a_folder_is_that_of_its_files(run: FleetCommand, source: str) -> None:
    write_files(run.folder / "charts" / "web", CHART)
    run.write(definition=rendering(source))
    before = digest(run)
    assert before.startswith("sha256:")
    assert digest(run) == before
    write_files(run.folder / "charts" / "web", {"templates/a.yaml": "kind: B\n"})
    changed = digest(run)
    os.rename(run.folder / "charts/web/templates/a.yaml", run.folder / "charts/web/templates/b.yaml")
    assert len({before, changed, digest(run)}) == 3


def test_a_folder_that_is_not_there_or_empty_has_no_digest(run: FleetCommand) -> None:
    run.write(definition=rendering("{manifests: {path: ./none}}"))
    assert digest(run) == "unknown"
    (run.folder / "none").mkdir()
    assert digest(run) == "unknown"


def write_side(folder: Path, files: dict[str, str], source: str = SOURCES["helm"]) -> None:
    write_files(folder, {"clusters.yaml": CLUSTERS, "preset.yaml": PRESET, "definition.yaml": rendering(source)})
    write_files(folder / "charts" / "web", files)


@pytest.mark.rule("R2-35")
@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_a_diff_in_which_only_a_folders_files_change_is_blocked(run: FleetCommand, source: str) -> None:
    write_side(run.folder / "a", CHART, source)
    write_side(run.folder / "b", {**CHART, "templates/a.yaml": "kind: B\n"}, source)
    assert gates_of_diff(run, "a", "b") == MUTATED_EVERYWHERE
    result = run("diff", "a", "b", "--fail-on", "blocked")
    assert (result.code, "what web 1.0.0 renders changed under one version" in result.out) == (1, True)
    assert gates_of_diff(run, "a", "a") == []


@pytest.mark.rule("R2-35")
def test_a_diff_in_which_the_version_changes_with_the_files_is_not_blocked(run: FleetCommand) -> None:
    write_side(run.folder / "a", CHART)
    write_side(run.folder / "b", {**CHART, "templates/a.yaml": "kind: B\n"})
    text = (run.folder / "b" / "definition.yaml").read_text()
    (run.folder / "b" / "definition.yaml").write_text(text.replace("version: 1.0.0\n", "version: 1.1.0\n"))
    assert gates_of_diff(run, "a", "b") == []


@pytest.fixture
def committed(run: FleetCommand) -> FleetCommand:
    """A fleet with a chart's folder in git, whose files changed since."""
    write_side(run.folder, CHART)
    git = Repository(run.folder)
    git.git("add", "--all")
    git.git("commit", "--quiet", "--message", "one")
    git.git("branch", "a/branch")
    write_files(run.folder / "charts" / "web", {"templates/a.yaml": "kind: B\n"})
    return run


@pytest.mark.rule("R2-35")
def test_a_diff_against_a_commit_sees_the_files_of_the_commit(committed: FleetCommand) -> None:
    assert gates_of_diff(committed, "git:HEAD") == MUTATED_EVERYWHERE
    write_files(committed.folder / "charts" / "web", CHART)
    assert gates_of_diff(committed, "git:HEAD") == []
    assert digest(committed) == digest(committed, "-f", "git:HEAD")


@pytest.mark.rule("R2-35")
def test_a_diff_against_a_branch_with_a_slash_in_its_name_sees_them_too(committed: FleetCommand) -> None:
    assert gates_of_diff(committed, "git:a/branch") == MUTATED_EVERYWHERE


@pytest.mark.parametrize("path", ["{folder}/private", "../../private"])
def test_a_definition_from_elsewhere_reads_no_folder_of_this_machine(
    run: FleetCommand, tmp_path: Path, path: str
) -> None:
    write_files(tmp_path / "private", {"key": "secret\n"})
    source = f"{{manifests: {{path: '{path.format(folder=tmp_path)}'}}}}"
    Repository(tmp_path / "repository").commit({"web.yaml": rendering(source)})
    run.write(catalog=catalog("{git: {url: ../repository}}"))
    run.fetch()
    assert digest(run) == "unknown"
