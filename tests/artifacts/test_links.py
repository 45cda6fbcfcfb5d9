"""Links are followed inside what is rendered, on this machine and in git alike; others fail, and so do submodules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fleetform.artifacts.digests import ArtifactDigests
from fleetform.artifacts.store import ArtifactStore
from fleetform.model.objects import Object
from fleetform.model.results.rendering import RendererName
from fleetform.outside import git
from support.kit import CONFIG, Place, chart_files, definition, input_of
from support.repositories import Repository

HELM = "{helm: {repository: ./charts, chart: web}}"
KUSTOMIZE = "{kustomize: {path: kustomize}}"
MANIFESTS = "{manifests: {path: ./manifests}}"
RENDERERS: dict[str, RendererName] = {HELM: "helm", KUSTOMIZE: "kustomize", MANIFESTS: "manifests"}


def named(name: str) -> str:
    return CONFIG.replace("name: web", f"name: {name}")


class Linked:
    """A fleet with links, as it is here, as a revision of the repository, and as a copy of the repository."""

    def __init__(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        self.place, self.git = place, Repository(place.folder)
        monkeypatch.chdir(place.folder)

    def link(self, path: str, target: str) -> None:
        (self.place.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.place.folder / path).symlink_to(target)

    def commit(self) -> None:
        self.git.git("add", "--all")
        self.git.git("commit", "--quiet", "--allow-empty", "--message", "one")

    def submodule(self, path: str) -> None:
        """A submodule in the last commit: others know its commit, and nothing more."""
        commit = self.git.git("rev-parse", "HEAD")
        self.git.git("update-index", "--add", "--cacheinfo", f"160000,{commit},{path}")
        self.git.git("commit", "--quiet", "--message", "two")

    def everywhere(self, source: str) -> list[Object[Any]]:
        return [definition(source, "definition.yaml"), *self.committed(source)]

    def committed(self, source: str) -> list[Object[Any]]:
        found = [definition(source, "git:HEAD/definition.yaml")]
        if source == KUSTOMIZE:
            url = f"{{kustomize: {{git: {{url: 'file://{self.place.folder}', path: kustomize}}}}}}"
            found.append(definition(url))
        return found

    def names(self, source: str) -> list[str]:
        """The names of the objects, which are the same everywhere, as the digest is."""
        self.commit()
        found, digests = [], set()
        for each in self.everywhere(source):
            objects = self.place.objects(input_of(RENDERERS[source], each))
            found.append(sorted(one["metadata"]["name"] for one in objects))
            digests.add(self.place.renderers().digest(each))
        assert found == [found[0]] * len(found)
        assert len(digests) == 1
        return found[0]

    def failures(self, source: str) -> list[str]:
        self.commit()
        return self.failures_of(RENDERERS[source], self.everywhere(source))

    def failures_of(self, renderer: RendererName, definitions: list[Object[Any]]) -> list[str]:
        for each in definitions:
            assert ArtifactDigests(ArtifactStore(str(self.place.cache))).digests(each).found is None
        return [self.place.failure(input_of(renderer, each), fetching=True).message for each in definitions]


@pytest.fixture
def linked(place: Place, monkeypatch: pytest.MonkeyPatch) -> Linked:
    return Linked(place, monkeypatch)


def test_a_template_that_is_a_link_is_rendered(linked: Linked) -> None:
    linked.place.chart(chart_files(named("a"), shared__b_tpl=named("b")))
    linked.link("charts/web/templates/b.yaml", "../shared/b.tpl")
    assert linked.names(HELM) == ["a", "b"]


def test_a_folder_that_is_a_link_holds_what_it_leads_to(linked: Linked) -> None:
    linked.place.chart(chart_files(named("a"), shared__b_yaml=named("b"), shared__deep__c_yaml=named("c")))
    linked.link("charts/web/templates/more", "../shared")
    assert linked.names(HELM) == ["a", "b", "c"]


def test_links_lead_on_through_links_and_to_hidden_files(linked: Linked) -> None:
    """As the files of a ConfigMap in a container do."""
    linked.place.manifests({"..2026/a.yaml": named("a"), "b.yaml": named("b"), "sub/c.yaml": named("c")})
    linked.link("manifests/..data", "..2026")
    linked.link("manifests/a.yaml", "..data/a.yaml")
    linked.link("manifests/.hidden.yaml", "/nowhere")
    assert linked.names(MANIFESTS) == ["a", "b", "c"]


def test_a_folder_that_is_rendered_may_be_a_link(linked: Linked) -> None:
    linked.place.write(chart_files(named("a")), "real/web")
    linked.link("charts", "real")
    linked.place.write({"a.yaml": named("a")}, "real/manifests")
    linked.link("manifests", "./real/manifests/")
    linked.place.write({"kustomization.yaml": "resources: [../base]\n"}, "real/kustomize")
    linked.place.write({"kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": named("a")}, "real/base")
    linked.link("kustomize", "real/kustomize")
    for source in RENDERERS:
        assert linked.names(source) == ["a"]


def test_an_absolute_link_into_the_folder_is_followed_here(linked: Linked) -> None:
    linked.place.manifests({"a.yaml": named("a"), "b.txt": named("b")})
    linked.link("manifests/b.yaml", f"{linked.place.folder}/manifests/b.txt")
    linked.commit()
    here, there = linked.everywhere(MANIFESTS)
    assert len(linked.place.objects(input_of("manifests", here))) == 2
    assert "b.yaml is a link to " in linked.place.failure(input_of("manifests", there)).message


OUTWARDS = {
    "a file": ("../../secret.yaml", "which is not part of what is rendered"),
    "a folder": ("../..", "which is not part of what is rendered"),
    "nothing": ("none.yaml", "which does not exist"),
    "itself": ("x.yaml", "which does not exist"),
    "its own folder": (".", "which contains the link itself"),
}


@pytest.mark.parametrize(("target", "why"), OUTWARDS.values(), ids=OUTWARDS)
@pytest.mark.parametrize(("source", "folder"), [(HELM, "charts/web"), (MANIFESTS, "manifests/sub")])
def test_other_links_fail(linked: Linked, source: str, folder: str, target: str, why: str) -> None:
    linked.place.write(chart_files(named("a")), folder)
    linked.place.write({"secret.yaml": named("secret")})
    linked.link(f"{folder}/x.yaml", target)
    here, there = linked.failures(source)
    assert here == f"{folder}/x.yaml is a link to {target}, {why}"
    assert there == f"git:HEAD/{here}"


def test_a_link_out_of_the_repository_fails(linked: Linked, tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text(named("secret"))
    linked.place.kustomization({"kustomization.yaml": "resources: [a.yaml]\n"})
    linked.link("kustomize/a.yaml", "../../secret.yaml")
    here, *there = linked.failures(KUSTOMIZE)
    assert here == "a.yaml is a link to ../../secret.yaml, which is not part of what is rendered"
    assert there == ["a.yaml is a link to ../../secret.yaml, which does not exist"] * 2


def test_a_link_to_what_git_ignores_leads_nowhere(linked: Linked) -> None:
    linked.place.manifests({"a.yaml": named("a"), "made.txt": named("made")})
    linked.place.write({".gitignore": "made.txt\n"})
    linked.link("manifests/b.yaml", "made.txt")
    assert all(
        each.endswith("b.yaml is a link to made.txt, which does not exist") for each in linked.failures(MANIFESTS)
    )


# ---- Kustomizations


BASE = {"kustomization.yaml": "resources: [config.yaml]\n", "config.yaml": named("base")}


def test_links_lead_into_folders_that_a_kustomization_builds_upon(linked: Linked) -> None:
    linked.place.write({**BASE, "more/more.yaml": named("more"), "one.yaml": named("one")}, "base")
    linked.place.kustomization({"kustomization.yaml": "resources: [one.yaml, more/more.yaml, ../base]\n"})
    linked.link("kustomize/one.yaml", "../base/one.yaml")
    linked.link("kustomize/more", "../base/more")
    assert linked.names(KUSTOMIZE) == ["base", "more", "one"]


def test_a_kustomization_may_be_a_link_and_name_more(linked: Linked) -> None:
    linked.place.write({**BASE, "shared.yaml": "resources: [../other]\n"}, "base")
    linked.place.write({"kustomization.yaml": "resources: [o.yaml]\n", "o.yaml": named("other")}, "other")
    linked.place.kustomization({"kustomization.yaml": "resources: [../base, ../middle]\n"})
    linked.link("middle/kustomization.yaml", "../base/shared.yaml")
    assert linked.names(KUSTOMIZE) == ["base", "other"]


@pytest.mark.parametrize(("link", "reference"), [("base", "../base"), ("kustomize/below", "below")])
def test_a_folder_that_is_named_may_be_a_link(linked: Linked, link: str, reference: str) -> None:
    linked.place.write(BASE, "real")
    linked.link(link, "real" if link == "base" else "../real")
    linked.place.kustomization({"kustomization.yaml": f"resources: [{reference}]\n"})
    assert linked.names(KUSTOMIZE) == ["base"]


def test_what_a_linked_folder_names_beside_itself_is_refused(linked: Linked) -> None:
    """kustomize goes on from where the folder really is."""
    linked.place.write({"kustomization.yaml": "resources: [../other]\n"}, "deep/real")
    linked.place.write(BASE, "deep/other")
    linked.link("base", "deep/real")
    linked.place.kustomization({"kustomization.yaml": "resources: [../base]\n"})
    linked.commit()
    for each in linked.everywhere(KUSTOMIZE):
        message = linked.place.failure(input_of("kustomize", each)).message
        assert message == "../base/kustomization.yaml names ../other, which leads out of ../base, which is a link"


def test_links_that_lead_to_each_others_folders_fail(linked: Linked) -> None:
    linked.place.write(BASE, "base")
    linked.place.kustomization({"kustomization.yaml": "resources: [../base]\n"})
    linked.link("base/up", "../kustomize")
    linked.link("kustomize/down", "../base")
    assert all("is a link to ../" in each for each in linked.failures(KUSTOMIZE))


# ---- Submodules


def test_a_submodule_that_a_kustomization_needs_fails(linked: Linked) -> None:
    files = {"kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": named("a")}
    linked.place.kustomization(files)
    linked.commit()
    linked.submodule("kustomize/sub")
    for each in linked.committed(KUSTOMIZE):
        assert len(linked.place.objects(input_of("kustomize", each))) == 1
    for text in (
        "resources: [sub]\n",
        "resources: [sub/b.yaml]\n",
        "resources: [a.yaml]\npatches: [{path: sub/b.yaml}]\n",
        "configMapGenerator: [{name: a, files: [x=sub/b]}]\n",
    ):
        linked.place.kustomization({"kustomization.yaml": text})
        linked.git.git("add", "kustomize/kustomization.yaml")
        linked.git.git("commit", "--quiet", "--message", "three")
        for each in linked.committed(KUSTOMIZE):
            message = linked.place.failure(input_of("kustomize", each), fetching=True).message
            assert message.startswith("kustomization.yaml names sub")
            assert message.endswith(", and sub is a submodule, which is not fetched")


def test_a_submodule_beside_it_that_it_builds_upon_fails(linked: Linked) -> None:
    for target in ("../other/base", "../other", "linked"):
        linked.place.kustomization({"kustomization.yaml": f"resources: [{target}]\n"})
        if target == "linked":
            linked.link("kustomize/linked", "../other/base")
        linked.commit()
        linked.submodule("other")
        found = linked.failures_of("kustomize", linked.committed(KUSTOMIZE))
        assert found == ["other is a submodule, which is not fetched"] * 2
        linked.git.git("rm", "--quiet", "--cached", "other")


def test_a_submodule_in_what_is_rendered_as_a_whole_fails(linked: Linked) -> None:
    linked.place.chart(chart_files(named("a")))
    linked.commit()
    linked.submodule("charts/web/charts/common")
    (found,) = linked.failures_of("helm", linked.committed(HELM))
    assert found == "git:HEAD/charts/web/charts/common is a submodule, which is not fetched"
    linked.submodule("manifests")
    (found,) = linked.failures_of("manifests", linked.committed(MANIFESTS))
    assert found == "manifests is a submodule, which is not fetched"


# ---- Bounds


def test_links_that_multiply_files_are_bounded(linked: Linked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fleetform.artifacts.folder_contents.MAX_FILES", 2_000)
    linked.place.manifests({"d0/a.yaml": named("a")})
    for number in range(1, 20):
        for side in "xy":
            linked.link(f"manifests/d{number}/{side}", f"../d{number - 1}")
    assert all("has more than 2,000 files" in each for each in linked.failures(MANIFESTS))


def test_many_links_to_one_file_are_read_once_and_bounded(linked: Linked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fleetform.artifacts.folder_contents.MAX_BYTES", 2_000_000)
    linked.place.manifests({"a.txt": "x" * 100_000})
    for number in range(30):
        linked.link(f"manifests/{number}.txt", "a.txt")
    sizes: list[int] = []
    run_git = git.run_git

    def spied(*arguments: str, **more: Any) -> bytes:
        found = run_git(*arguments, **more)
        sizes.append(len(found))
        return found

    monkeypatch.setattr("fleetform.outside.git.run_git", spied)
    assert all("has more than 20,000 files or 1 MB" in each for each in linked.failures(MANIFESTS))
    assert max(sizes) < 200_000


def test_folders_that_never_end_are_bounded(linked: Linked) -> None:
    linked.place.manifests({f"{'d/' * 150}a.yaml": named("a")})
    assert all("is more than 100 folders deep" in each for each in linked.failures(MANIFESTS))


def test_what_git_keeps_for_itself_is_not_rendered(linked: Linked) -> None:
    linked.link("config.yaml", ".git/config")
    linked.commit()
    everything = definition("{manifests: {path: .}}", "definition.yaml")
    message = linked.place.failure(input_of("manifests", everything)).message
    assert message.endswith("config.yaml is a link to .git/config, which does not exist")


def test_a_source_is_not_read_beyond_the_limit(linked: Linked) -> None:
    linked.place.manifests({"a.yaml": CONFIG})
    with open(linked.place.folder / "manifests" / "sparse.yaml", "wb") as file:
        file.truncate(1 << 40)
    (message,) = linked.failures_of("manifests", [definition(MANIFESTS, "definition.yaml")])
    assert message == "the source of web cannot be read: manifests/sparse.yaml: it is larger than 256 MB"
