"""`--confined` reads nothing outside of the repository and fetches nothing."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from support.command import Runner

_FLEET = """
apiVersion: fleetform.dev/v1alpha1
kind: Cluster
metadata: {name: one, namespace: acme}
---
apiVersion: fleetform.dev/v1alpha1
kind: PluginDefinition
metadata: {name: web, namespace: acme}
spec: {version: 1.0.0, source: SOURCE}
---
apiVersion: fleetform.dev/v1alpha1
kind: PluginPreset
metadata: {name: web, namespace: acme}
spec: {clusterSelector: {}, plugin: {pluginDefinition: {name: web}}}
"""
_PRIVATE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: private}\ndata: {key: hunter2}\n"


@pytest.fixture
def repository(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Runner:
    """A repository, and a folder beside it that is none of its business."""
    private = tmp_path / "private"
    (private / "manifests").mkdir(parents=True)
    (private / "manifests" / "a.yaml").write_text(_PRIVATE)
    (private / "kustomization.yaml").write_text("resources: [manifests/a.yaml]\n")
    folder = tmp_path / "repository"
    (folder / "fleet" / "manifests").mkdir(parents=True)
    (folder / "fleet" / "manifests" / "a.yaml").write_text(_PRIVATE.replace("hunter2", "public"))
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Runner(folder, capsys, monkeypatch)


def fleet(run: Runner, source: str) -> None:
    run.write(fleet__all=_FLEET.replace("SOURCE", source))


def test_a_source_inside_of_the_repository_is_rendered(repository: Runner) -> None:
    fleet(repository, "{manifests: {path: ./manifests}}")
    assert repository("validate", "-f", "fleet", "--confined").code == 0
    assert "public" in repository("render", "web-one", "-f", "fleet", "--confined").out


@pytest.mark.parametrize(
    "source",
    [
        "{manifests: {path: ../../private/manifests}}",
        "{manifests: {path: PRIVATE/manifests}}",
        "{manifests: {path: ./linked}}",
        "{kustomize: {path: ../../private}}",
        '{helm: {repository: "file://PRIVATE", chart: web, version: 1.0.0}}',
        '{kustomize: {git: {url: "file://PRIVATE", ref: {tag: v1}}}}',
        "{kustomize: {git: {url: ../../private, ref: {tag: v1}}}}",
    ],
)
def test_a_source_that_leaves_the_repository_is_refused(repository: Runner, source: str) -> None:
    private = repository.folder.parent / "private"
    os.symlink(private / "manifests", repository.folder / "fleet" / "linked")
    fleet(repository, source.replace("PRIVATE", str(private)))
    result = repository("validate", "-f", "fleet/all.yaml", "--confined")
    assert result.code == 1
    assert "is outside of the repository" in result.out
    assert "--confined reads what is in the repository, and fetches nothing" in result.out
    for verb in (("render", "web-one"), ("explain", "web-one"), ("diff", "fleet", "fleet", "--render")):
        result = repository(*verb, "-f", "fleet/all.yaml", "--confined")
        assert result.code == 2
        assert "hunter2" not in result.out + result.err


def test_a_kustomization_cannot_reach_out(repository: Runner) -> None:
    (repository.folder / "fleet" / "overlay").mkdir()
    overlay = repository.folder / "fleet" / "overlay" / "kustomization.yaml"
    overlay.write_text("resources: [../../../private]\n")
    fleet(repository, "{kustomize: {path: ./overlay}}")
    result = repository("render", "web-one", "-f", "fleet", "--confined")
    assert result.code == 3
    assert "is outside of the repository" in result.err
    assert "hunter2" not in result.out + result.err


def test_links_and_catalogs_that_leave_the_repository_are_refused(repository: Runner) -> None:
    private = repository.folder.parent / "private"
    os.symlink(private / "manifests" / "a.yaml", repository.folder / "link.yaml")
    os.symlink(private, repository.folder / "folder")
    repository.write(
        catalog="""
        apiVersion: fleetform.dev/v1alpha1
        kind: Catalog
        metadata: {name: extra, namespace: acme}
        spec: {sources: [{directory: ../private}, {git: {url: ../private}}]}
        """
    )
    result = repository("validate", "--confined")
    assert result.code == 1
    for name in ("link.yaml", "folder", "../private, which extra names"):
        assert name in result.out
    assert result.out.count("outside of the repository") == 5


def test_nothing_is_fetched(repository: Runner) -> None:
    fleet(repository, '{helm: {repository: "https://127.0.0.1:9/charts", chart: web, version: 1.0.0}}')
    assert repository("validate", "-f", "fleet", "--confined").code == 0
    result = repository("render", "web-one", "-f", "fleet", "--confined")
    assert result.code == 4
    assert "web of https://127.0.0.1:9/charts is not in the cache" in result.err
    assert repository("validate", "--confined", "--fetch").code == 2
    assert repository("catalog", "fetch", "--confined").code == 2


def test_no_program_of_the_repository_is_run(repository: Runner) -> None:
    fleet(repository, "{manifests: {path: ./manifests}}")
    (repository.folder / "plugins").mkdir()
    result = repository("render", "web-one", "-f", "fleet", "--confined", "-p", "plugins")
    assert result.code == 2
    assert "--confined runs no programs of the repository" in result.err
