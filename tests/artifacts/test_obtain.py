"""What is rendered is brought from where it is: folders, repositories of charts, registries, git."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fleetform.artifacts.digests import ArtifactDigests, is_of_this_machine
from fleetform.artifacts.obtain import Artifacts
from fleetform.artifacts.store import ArtifactStore
from fleetform.model.objects import Object
from fleetform.model.results.rendering import Rendered
from fleetform.outside.boundary import Boundary, BoundaryError
from fleetform.outside.http import Web
from support.kit import CONFIG, TEMPLATE, Place, archive, chart_files, definition, input_of
from support.repositories import GitServer, Repository, http_backend
from support.servers import HelmServer, OciServer, Reply, WebServer, digest_of, packed

OTHER = TEMPLATE.replace("replicas:", "other:", 1)


@pytest.fixture
def helm() -> Iterator[HelmServer]:
    with HelmServer() as started:
        yield started


@pytest.fixture
def registry() -> Iterator[OciServer]:
    with OciServer() as started:
        yield started


def remote(repository: str, version: str | None = "1.0.0", **more: Any) -> Object[Any]:
    said = f", version: {version}" if version is not None else ""
    return definition(f"{{helm: {{repository: '{repository}', chart: web{said}}}}}", **more)


def keys_of(place: Place, defined: Object[Any], **more: Any) -> list[str]:
    """The names in the data that a chart renders to, which tell one archive from another."""
    (found,) = place.objects(input_of("helm", defined), **more)
    return list(found["data"])


# ---- Folders


@pytest.mark.rule("S35")
def test_the_digest_of_a_folder_is_the_one_that_catalogs_know(place: Place) -> None:
    chart = place.chart({**chart_files(), ".helmignore": "*.bak\n", ".git/config": "", "sub/.swp": ""})
    digest = place.renderers().digest(chart)
    assert digest is not None
    assert ArtifactDigests(ArtifactStore(str(place.cache))).digests(chart).found == digest
    place.write({".git/config": "other", "sub/.swp": "other"}, "charts/web")
    assert place.renderers().digest(chart) == digest
    place.write({".helmignore": "*.old\n"}, "charts/web")
    assert place.renderers().digest(chart) != digest


@pytest.mark.parametrize(
    "source",
    [
        "{manifests: {path: /etc}}",
        "{helm: {repository: ./charts, chart: web}}",
        "{helm: {repository: 'file:///charts', chart: web, version: 1.0.0}}",
        "{kustomize: {git: {url: ../other, ref: {tag: v1}}}}",
        "{kustomize: {git: {url: 'file:///srv/other', ref: {tag: v1}}}}",
    ],
)
def test_who_writes_objects_on_an_api_server_reads_no_files_of_the_operator(source: str, place: Place) -> None:
    place.chart()
    boundary = Boundary.of_folder(None)
    with pytest.raises(BoundaryError, match="outside of what may be read here"):
        Artifacts(ArtifactStore(str(place.cache)), False, Web(), boundary).obtain(definition(source))


def test_a_path_on_an_api_server_is_refused_as_it_is_written_with_what_it_means(place: Place) -> None:
    source = definition("{helm: {repository: ./charts, chart: web}}")
    with pytest.raises(BoundaryError) as caught:
        Artifacts(ArtifactStore(str(place.cache)), False, Web(), Boundary.of_folder(None)).obtain(source)
    assert caught.value.message.removeprefix("./").startswith("charts/web means a folder of the operator's pod, and is")
    assert caught.value.hint == "name a repository (https:// or oci://)"


def test_one_folder_may_be_named_and_what_is_in_it(place: Place) -> None:
    chart = place.chart()
    inside = Boundary.of_folder(str(place.folder))
    assert Artifacts(ArtifactStore(str(place.cache)), False, Web(), inside).obtain(chart).digest
    beside = Boundary.of_folder(str(place.folder / "elsewhere"))
    with pytest.raises(
        BoundaryError, match=f"outside of what may be read here: {place.folder}/elsewhere, and what has"
    ):
        Artifacts(ArtifactStore(str(place.cache)), False, Web(), beside).obtain(chart)


@pytest.mark.rule("S35")
def test_a_folder_of_a_commit_is_rendered_as_it_was(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    here = place.chart()
    git = Repository(place.folder)
    git.git("add", "--all")
    git.git("commit", "--quiet", "--message", "one")
    digest = place.renderers().digest(here)
    place.write({"templates/all.yaml": OTHER}, "charts/web")
    monkeypatch.chdir(place.folder)
    for file in ("git:HEAD/definition.yaml", "git:main/definition.yaml"):
        committed = definition("{helm: {repository: ./charts, chart: web}}", file)
        assert place.renderers().digest(committed) == digest
        assert keys_of(place, committed) == ["replicas"]
    assert keys_of(place, here) == ["other"]
    gone = definition("{helm: {repository: ./none, chart: web}}", "git:HEAD/definition.yaml")
    failure = place.failure(input_of("helm", gone))
    assert failure.message == "there is nothing in the folder none/web beside git:HEAD/definition.yaml"


def test_what_git_ignores_is_not_rendered(place: Place) -> None:
    chart = place.chart(chart_files(templates__made_yaml=CONFIG.replace("web", "made")))
    Repository(place.folder)
    place.write({".gitignore": "made.yaml\n"})
    assert len(place.objects(input_of("helm", chart))) == 1


def test_a_definition_without_a_source(place: Place) -> None:
    failure = place.failure(input_of("helm", place.define("null")))
    assert failure.message == "web 1.0.0 has no source"
    assert place.renderers().digest(place.define("null")) is None


@pytest.mark.parametrize(
    "source",
    ["{helm: {repository: ./charts, chart: web}}", "{manifests: {path: /etc}}", "{kustomize: {git: {url: ../x}}}"],
)
def test_a_path_inside_a_catalog_leads_nowhere(place: Place, source: str) -> None:
    fetched = definition(source, "catalog:extensions/definitions/web.yaml@abc")
    failure = place.failure(input_of("helm", fetched))
    assert "is a path inside the catalog" in failure.message
    assert place.renderers().digest(fetched) is None


def test_a_folder_that_is_far_too_large(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fleetform.artifacts.folder_contents.MAX_FILES", 2)
    assert "has more than 2 files" in place.failure(input_of("helm", place.chart())).message


# ---- Charts from elsewhere


@pytest.mark.rule("S35")
def test_a_chart_of_a_repository_is_fetched_once(place: Place, helm: HelmServer) -> None:
    content = helm.add("web", "1.0.0", archive())
    assert keys_of(place, remote(helm.repository)) == ["replicas"]
    assert helm.paths == ["/charts/index.yaml", "/charts/web-1.0.0.tgz"]
    helm.asked.clear()
    assert place.renderers().digest(remote(helm.repository)) == digest_of(content)
    assert keys_of(place, remote(helm.repository)) == ["replicas"]
    assert helm.asked == []
    assert ArtifactDigests(ArtifactStore(str(place.cache))).digests(remote(helm.repository)).found == digest_of(content)


@pytest.mark.rule("S35")
def test_fetching_asks_anew_and_reads_only_what_changed(place: Place, helm: HelmServer) -> None:
    helm.add("web", "1.0.0", archive())
    keys_of(place, remote(helm.repository))
    helm.asked.clear()
    assert keys_of(place, remote(helm.repository), fetching=True) == ["replicas"]
    assert helm.paths == ["/charts/index.yaml"]
    helm.entries.clear()
    helm.add("web", "1.0.0", archive(OTHER))
    assert keys_of(place, remote(helm.repository)) == ["replicas"]
    assert keys_of(place, remote(helm.repository), fetching=True) == ["other"]
    assert keys_of(place, remote(helm.repository)) == ["other"]


@pytest.mark.rule("R2-34")
def test_a_server_that_is_down_takes_nothing_away(place: Place) -> None:
    with HelmServer() as server:
        server.add("web", "1.0.0", archive())
        repository = server.repository
        keys_of(place, remote(repository))
    assert keys_of(place, remote(repository), fetching=True) == ["replicas"]


def test_what_was_kept_and_is_damaged_is_fetched_again(place: Place, helm: HelmServer) -> None:
    helm.add("web", "1.0.0", archive())
    keys_of(place, remote(helm.repository))
    (kept,) = (place.cache / "catalogs-1" / "archives").iterdir()
    kept.write_bytes(b"other")
    helm.asked.clear()
    assert place.renderers().digest(remote(helm.repository)) is not None
    assert helm.asked
    assert oct(kept.stat().st_mode & 0o777) == "0o600"


def test_without_a_version_it_is_the_newest_stable_one(place: Place, helm: HelmServer, registry: OciServer) -> None:
    for version, template in (("1.9.0", TEMPLATE), ("1.10.0", OTHER), ("2.0.0-rc.1", TEMPLATE)):
        helm.add("web", version, archive(template, version))
        registry.push_chart("charts/web", version, archive(template, version))
    registry.push_chart("charts/web", "latest", archive())
    for repository in (helm.repository, registry.repository("charts")):
        assert keys_of(place, remote(repository, None)) == ["other"]
    helm.add("web", "1.11.0", archive(TEMPLATE, "1.11.0"))
    assert keys_of(place, remote(helm.repository, None)) == ["other"]
    assert keys_of(place, remote(helm.repository, None), fetching=True) == ["replicas"]


def test_no_stable_version(place: Place, helm: HelmServer, registry: OciServer) -> None:
    helm.add("web", "2.0.0-rc.1", archive())
    registry.push_chart("charts/web", "2.0.0-rc.1", archive())
    for repository in (helm.repository, registry.repository("charts")):
        failure = place.failure(input_of("helm", remote(repository, None)))
        assert "no stable version" in failure.message


@pytest.mark.rule("S35")
def test_a_chart_of_a_registry(place: Place, registry: OciServer) -> None:
    content = archive()
    registry.push_chart("charts/web", "1.0.0", content)
    defined = remote(registry.repository("charts"))
    assert keys_of(place, defined) == ["replicas"]
    assert place.renderers().digest(defined) == digest_of(content)
    registry.asked.clear()
    assert keys_of(place, defined) == ["replicas"]
    assert registry.asked == []


def test_an_archive_that_is_not_what_the_index_says(place: Place, helm: HelmServer) -> None:
    helm.add("web", "1.0.0", archive(), digest="0" * 64)
    failure = place.failure(input_of("helm", remote(helm.repository)))
    assert "and the index lists sha256:000" in failure.message


@pytest.mark.parametrize("content", [b"not an archive", packed({"web/values.yaml": "a: b\n"})], ids=["bytes", "files"])
def test_an_archive_that_is_no_chart(place: Place, helm: HelmServer, content: bytes) -> None:
    helm.add("web", "1.0.0", content)
    failure = place.failure(input_of("helm", remote(helm.repository)))
    assert failure.message.startswith(f"web of {helm.repository} is not a chart: ")
    assert not failure.unavailable


def test_a_version_that_is_not_there(place: Place, helm: HelmServer, registry: OciServer) -> None:
    helm.add("web", "1.0.0")
    for repository in (helm.repository, registry.repository("charts")):
        failure = place.failure(input_of("helm", remote(repository, "9.9.9")))
        assert not failure.unavailable
        assert "web" in failure.message


def test_a_server_that_cannot_be_reached_is_no_fault_of_the_input(place: Place) -> None:
    for repository in ("http://user:secret@127.0.0.1:1/charts", "oci://127.0.0.1:1/charts"):
        failure = place.failure(input_of("helm", remote(repository)))
        assert failure.unavailable
        assert "refuses connections" in failure.message
        assert "secret" not in failure.message + failure.hint
    with WebServer(lambda _: Reply(503)) as server:
        assert place.failure(input_of("helm", remote(server.url))).unavailable


def test_a_server_that_wants_a_login(place: Place) -> None:
    with HelmServer(("user", "secret")) as server:
        server.add("web", "1.0.0", archive())
        failure = place.failure(input_of("helm", remote(server.repository)))
        assert "refuses access" in failure.message
        assert "secretRef" not in failure.hint


def test_an_index_is_read_once_for_many_charts_and_a_failing_one_fails_only_its_own(
    place: Place, helm: HelmServer
) -> None:
    inputs = []
    for minor in range(6):
        if minor != 3:
            helm.add("web", f"1.{minor}.0", archive(version=f"1.{minor}.0"))
        inputs.append(input_of("helm", remote(helm.repository, f"1.{minor}.0")))
    answers = place.render(*inputs)
    assert [isinstance(each, Rendered) for each in answers] == [True, True, True, False, True, True]
    assert helm.paths.count("/charts/index.yaml") == 1


@pytest.mark.rule("B15")
def test_what_one_organization_fetched_is_asked_for_again_by_another(place: Place, helm: HelmServer) -> None:
    helm.add("web", "1.0.0", archive())
    keys_of(place, remote(helm.repository))
    helm.asked.clear()
    keys_of(place, remote(helm.repository, organization="globex"))
    assert "/charts/index.yaml" in helm.paths


# ---- Kustomizations of repositories


BASE = {"kustomization.yaml": "resources: [config.yaml]\nnamePrefix: my-\n", "config.yaml": CONFIG}


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "repository")
    overlay = {"kustomization.yaml": "resources: [../../base]\nnameSuffix: -one\n"}
    files = {f"base/{name}": text for name, text in BASE.items()}
    files |= {f"overlays/one/{name}": text for name, text in overlay.items()}
    made.commit(files)
    made.tag("v1")
    return made


def of_git(url: str, ref: str = "null", path: str | None = "overlays/one", **more: Any) -> Object[Any]:
    said = f", path: {path}" if path is not None else ""
    return definition(f"{{kustomize: {{git: {{url: '{url}', ref: {ref}{said}}}}}}}", **more)


def name_of(place: Place, defined: Object[Any], **more: Any) -> str:
    (found,) = place.objects(input_of("kustomize", defined), **more)
    name: str = found["metadata"]["name"]
    return name


CHANGED = {"overlays/one/kustomization.yaml": "resources: [../../base]\nnameSuffix: -two\n"}


@pytest.mark.rule("S35")
def test_a_branch_is_what_was_last_fetched(place: Place, repository: Repository) -> None:
    for ref in ("null", "{branch: main}"):
        assert name_of(place, of_git(repository.url, ref)) == "my-web-one"
    repository.commit(CHANGED)
    assert name_of(place, of_git(repository.url)) == "my-web-one"
    assert name_of(place, of_git(repository.url), fetching=True) == "my-web-two"
    assert name_of(place, of_git(repository.url)) == "my-web-two"


@pytest.mark.rule("S35")
def test_a_tag_and_a_commit_are_asked_for_once(place: Place, repository: Repository) -> None:
    first = repository.git("rev-parse", "main")
    second = repository.commit(CHANGED)
    refs = {f"{{commit: {first}}}": "my-web-one", f"{{commit: {second}}}": "my-web-two", "{tag: v1}": "my-web-one"}
    for ref, name in refs.items():
        assert name_of(place, of_git(repository.url, ref)) == name
    repository.folder.rename(repository.folder.with_name("gone"))
    for ref, name in refs.items():
        assert name_of(place, of_git(repository.url, ref), fetching=True) == name
    assert name_of(place, of_git(repository.url), fetching=True) == "my-web-two"


def test_a_tag_that_came_later_is_found(place: Place, repository: Repository) -> None:
    name_of(place, of_git(repository.url))
    repository.commit(CHANGED)
    repository.tag("v2")
    assert name_of(place, of_git(repository.url, "{tag: v2}")) == "my-web-two"


def test_a_repository_by_a_path_is_relative_to_the_file(
    place: Place, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert name_of(place, of_git("../repository", file=place.folder / "definition.yaml")) == "my-web-one"
    monkeypatch.chdir(place.folder)
    Repository(place.folder).commit({"a": "b"})
    assert name_of(place, of_git("../../repository", file="git:main/definitions/web.yaml")) == "my-web-one"


FETCHED = "catalog:extensions/web.yaml@abc"


@pytest.mark.skipif(http_backend() is None, reason="this git brings no server")
def test_a_fetched_definition_may_name_a_repository(place: Place, repository: Repository) -> None:
    with GitServer(repository.folder.parent) as server:
        assert name_of(place, of_git(f"http://{server.host}/repository/.git", file=FETCHED)) == "my-web-one"


@pytest.mark.parametrize("scheme", ["file", "FILE"])
def test_a_fetched_definition_names_no_repository_of_this_machine(
    place: Place, repository: Repository, scheme: str
) -> None:
    index = "apiVersion: v1\nentries: {web: [{name: web, version: 1.0.0, urls: [web-1.0.0.tgz]}]}\n"
    place.write({"index.yaml": index}, "charts")
    (place.folder / "charts" / "web-1.0.0.tgz").write_bytes(archive())
    charts = f"{place.folder}/charts"
    # In a definition of one's own these are fine.
    assert name_of(place, of_git(repository.url)) == "my-web-one"
    assert keys_of(place, remote(f"file://{charts}")) == ["replicas"]
    for defined in (
        of_git(f"{scheme}://{repository.folder}", file=FETCHED),
        remote(f"{scheme}://{charts}", file=FETCHED),
    ):
        failure = place.failure(input_of("helm", defined))
        assert "is on this machine, and the definition is from a catalog" in failure.message
        assert not failure.unavailable
        artifacts = ArtifactDigests(ArtifactStore(str(place.cache)))
        artifacts.look_up([defined])
        assert artifacts.digests(defined).found is None


def test_files_are_known_however_their_address_is_written() -> None:
    for address in ("file:///x", "FILE:///x", " file:///x", "fi\tle:///x", "file:/x"):
        assert is_of_this_machine(address)
    for address in ("https://example.org/file://x", "oci://example.org/x", "http://[", "ssh://localhost/x"):
        assert not is_of_this_machine(address)


def test_all_of_a_repository(place: Place, tmp_path: Path) -> None:
    whole = Repository(tmp_path / "whole")
    whole.commit(BASE)
    for path in (None, ".", "./"):
        assert name_of(place, of_git(whole.url, path=path)) == "my-web"


def test_what_is_not_in_the_repository(place: Place, repository: Repository) -> None:
    failure = place.failure(input_of("kustomize", of_git(repository.url, "{tag: v9}")))
    assert (failure.message, failure.unavailable) == (f"{repository.url} has no v9", False)
    failure = place.failure(input_of("kustomize", of_git(repository.url, path="none")))
    assert failure.message.startswith(f"there is nothing in {repository.url} at ")
    failure = place.failure(input_of("kustomize", of_git(repository.url, path="overlays")))
    assert "there is no kustomization.yaml in " in failure.message
    repository.commit({"overlays/one/kustomization.yaml": "resources: [../../../fleet]\n"})
    place.write(BASE)
    failure = place.failure(input_of("kustomize", of_git(repository.url)), fetching=True)
    assert failure.message == "kustomization.yaml names ../../../fleet, which does not exist"


def test_a_repository_that_cannot_be_reached(place: Place, tmp_path: Path) -> None:
    for url in (f"file://{tmp_path}/none", "http://user:secret@127.0.0.1:1/repository"):
        failure = place.failure(input_of("kustomize", of_git(url)))
        assert (failure.unavailable, failure.message.startswith("git cannot fetch ")) == (True, True)
        assert "secret" not in failure.message + failure.hint


@pytest.mark.skipif(http_backend() is None, reason="this git brings no server")
def test_a_repository_over_http(place: Place, repository: Repository) -> None:
    with GitServer(repository.folder.parent) as server:
        assert name_of(place, of_git(f"http://{server.host}/repository/.git")) == "my-web-one"
