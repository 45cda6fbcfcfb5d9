"""Crane's folders: export, transform and output."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fleetform.syntax.yaml_in import read_one
from fleetform.transform import Answer, PluginError, Response, Runner, add, remove, replace
from fleetform.transformers.trees import TreeError, apply_tree, transform_tree
from support.kit import write_files

DEPLOYMENT = "resources/team-a/Deployment_apps_v1_team-a_web.yaml"
SERVICE = "resources/team-a/Service__v1_team-a_web.yaml"
ROLE = "resources/clusterscoped/ClusterRole_rbac.authorization.k8s.io_v1_clusterscoped_x.yaml"
FILES = {
    DEPLOYMENT: "# exported\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: team-a}\n"
    "spec:\n  replicas: 1\n  text: 'yes'\nstatus: {x: 1}\n",
    SERVICE: "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: team-a}\n",
    ROLE: "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: x}\n",
    "failures/team-a/broken.yaml": "kind: [",
}


class Does:
    """A plugin that answers by kind."""

    def __init__(self, name: str, **answers: Answer | Exception) -> None:
        self.name, self._answers = name, answers

    def run(self, resource: Mapping[str, Any]) -> Answer:
        found = self._answers.get(resource["kind"])
        if isinstance(found, Exception):
            raise found
        return found


CLEAN = Does("clean", Deployment=[remove("/status"), replace("/spec/replicas", 3)], Service=Response(whiteout=True))
OTHER = Does("other", Deployment=[replace("/spec/replicas", 5)])


@pytest.fixture
def export(tmp_path: Path) -> Path:
    write_files(tmp_path / "export", FILES)
    return tmp_path / "export"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def transform(export: Path, *plugins: Any, ignored: Path | None = None) -> Any:
    folder = export.parent / "transform"
    return transform_tree(str(export), str(folder), Runner(plugins), str(ignored) if ignored else None)


def apply(export: Path) -> Any:
    return apply_tree(str(export), str(export.parent / "transform"), str(export.parent / "output"))


@pytest.mark.rule("R4-10")
def test_an_export_becomes_transform_files_whiteouts_and_ignored_files(export: Path, tmp_path: Path) -> None:
    found = transform(export, CLEAN, OTHER, ignored=tmp_path / "ignored")
    assert [each.place for each in found.resources] == [ROLE, DEPLOYMENT, SERVICE]
    written = contents(tmp_path / "transform")
    name = DEPLOYMENT.rpartition("/")[2]
    assert written == {
        "resources/clusterscoped/transform-ClusterRole_rbac.authorization.k8s.io_v1_clusterscoped_x.yaml": b"[]",
        "resources/team-a/.wh.Service__v1_team-a_web.yaml": b"",
        f"resources/team-a/transform-{name}": b'[{"op":"remove","path":"/status"},'
        b'{"op":"replace","path":"/spec/replicas","value":3}]',
    }
    assert json.loads(contents(tmp_path / "ignored")[f"resources/team-a/ignored-{name}"]) == [
        {"PluginName": "other", "Operation": {"op": "replace", "path": "/spec/replicas", "value": 5}}
    ]


def test_applying_writes_what_comes_of_it_and_leaves_the_rest_byte_for_byte(export: Path, tmp_path: Path) -> None:
    transform(export, CLEAN)
    found = apply(export)
    assert (found.whiteouts, found.untransformed, found.broken) == ((SERVICE,), (), ())
    written = contents(tmp_path / "output")
    assert written.pop(".fleetform-output").decode().split() == [ROLE, DEPLOYMENT]
    assert written.keys() == {ROLE, DEPLOYMENT}
    assert written[ROLE].decode() == FILES[ROLE]
    assert read_one(written[DEPLOYMENT].decode()) == {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "team-a"},
        "spec": {"replicas": 3, "text": "yes"},
    }  # fmt: skip


def test_without_transform_files_the_export_is_written_as_it_is(export: Path, tmp_path: Path) -> None:
    with pytest.raises(TreeError, match="transform is not a folder"):
        apply(export)
    (tmp_path / "transform").mkdir()
    found = apply(export)
    assert found.untransformed == (ROLE, DEPLOYMENT, SERVICE)
    assert (tmp_path / "output" / DEPLOYMENT).read_text() == FILES[DEPLOYMENT]


@pytest.mark.rule("R4-19")
def test_what_an_earlier_run_wrote_and_this_one_does_not_is_removed(export: Path, tmp_path: Path) -> None:
    transform(export, CLEAN, OTHER, ignored=tmp_path / "ignored")
    apply(export)
    (tmp_path / "transform/README.md").write_text("mine")
    (tmp_path / "output/kustomization.yaml").write_text("mine")
    (export / ROLE).unlink()
    again = transform(export, Does("now", Deployment=Response(whiteout=True)), ignored=tmp_path / "ignored")
    assert set(again.removed) == {
        "resources/clusterscoped/transform-ClusterRole_rbac.authorization.k8s.io_v1_clusterscoped_x.yaml",
        "resources/team-a/.wh.Service__v1_team-a_web.yaml",
        "resources/team-a/transform-Deployment_apps_v1_team-a_web.yaml",
        "resources/team-a/ignored-Deployment_apps_v1_team-a_web.yaml",
    }
    assert contents(tmp_path / "ignored") == {}
    assert (tmp_path / "transform/README.md").exists()
    applied = apply(export)
    assert set(applied.removed) == {ROLE, DEPLOYMENT}
    assert contents(tmp_path / "output").keys() == {SERVICE, "kustomization.yaml", ".fleetform-output"}
    assert not (tmp_path / "output/resources/clusterscoped").exists()


@pytest.mark.rule("S41", "R4-5", "R4-19")
def test_a_plugin_that_fails_on_a_resource_leaves_no_file_for_it_and_the_others_are_written(
    export: Path, tmp_path: Path
) -> None:
    transform(export, CLEAN)
    found = transform(export, CLEAN, Does("bad", Deployment=PluginError("cannot")))
    failed = {each.place: each.failures for each in found.resources if each.failures}
    assert failed == {DEPLOYMENT: (("bad", "cannot"),)}
    assert len(contents(tmp_path / "transform")) == 2
    assert apply(export).untransformed == (DEPLOYMENT,)


def test_a_broken_file_is_named_and_the_rest_are_done(export: Path, tmp_path: Path) -> None:
    write_files(
        export, {"a.yaml": "a: [1\nb: 2\n", "b.yaml": "just: text\n", "c.yaml": "a: 1\n---\nb: 2\n", "d.json": "{"}
    )
    (export / "e.yaml").write_bytes(b"\xff\xfe")
    found = transform(export, CLEAN)
    assert len(found.resources) == 3
    assert [each.place for each in found.broken] == ["a.yaml", "b.yaml", "c.yaml", "d.json", "e.yaml"]
    assert all(each.message and each.hint for each in found.broken)


def test_a_folder_without_resources_removes_nothing(export: Path, tmp_path: Path) -> None:
    transform(export, CLEAN)
    before = contents(tmp_path / "transform")
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "empty", tmp_path / "none"):
        with pytest.raises(TreeError):
            transform_tree(str(folder), str(tmp_path / "transform"), Runner([CLEAN]))
    assert contents(tmp_path / "transform") == before


@pytest.mark.parametrize("target", ["export", "export/transform", "."])
def test_folders_must_be_apart(export: Path, tmp_path: Path, target: str) -> None:
    with pytest.raises(TreeError, match="one inside of the other"):
        transform_tree(str(export), str(tmp_path / target), Runner([CLEAN]))


def test_a_transform_file_that_cannot_be_applied_is_named_and_the_rest_written(export: Path, tmp_path: Path) -> None:
    transform(export, Does("odd", Deployment=[replace("/spec/no", 1)], Service=[remove("/kind")]))
    found = apply(export)
    assert [(each.place.rpartition("/")[2][:21], each.message) for each in found.broken] == [
        ("transform-Deployment_", "operation 0: nothing is at /spec/no: there is no 'no'"),
        ("transform-Service__v1", "Service/team-a/web has no kind"),
    ]
    assert found.written == (ROLE,)


NEW: dict[str, Any] = {
    "apiVersion": "shipwright.io/v1",
    "kind": "Build",
    "metadata": {"name": "a:b", "namespace": "team-a"},
}


def test_new_resources_are_written_as_resources_of_their_own_named_after_the_plugin(
    export: Path, tmp_path: Path
) -> None:
    builds = Does(
        "builds", Deployment=Response(whiteout=True, new_resources=(NEW,)), Service=Response((), False, (NEW,))
    )
    assert not any(each.failures for each in transform(export, builds).resources)
    (new,) = [name for name in contents(tmp_path / "transform") if "/new-" in name]
    assert new.startswith("resources/team-a/new-builds-Build_shipwright.io_v1_team-a_a-b")
    found = apply(export)
    assert new.replace("new-", "") in found.written
    assert read_one((tmp_path / "output" / new.replace("new-", "")).read_text()) == NEW


def test_new_resources_that_are_none_or_that_differ_are_failures(export: Path, tmp_path: Path) -> None:
    changed = {**NEW, "spec": {}}
    builds = Does("builds", Deployment=Response((), False, (NEW,)), Service=Response((), False, (changed,)),
                  ClusterRole=Response((), False, ({"kind": "Build"},)))  # fmt: skip
    failed = {each.place: each.failures[0].message for each in transform(export, builds).resources if each.failures}
    assert failed == {
        ROLE: "a new resource has no apiVersion",
        SERVICE: f"it makes another Build/team-a/a:b for {DEPLOYMENT}",
    }


@pytest.mark.rule("R4-11")
def test_ten_runs_give_the_same_bytes(export: Path, tmp_path: Path) -> None:
    plugins = [
        Does("a", Deployment=[add(f"/metadata/labels/{number}", "x") for number in range(20)]),
        Does("b", Deployment=[add(f"/metadata/labels/{number}", "y") for number in range(10, 30)]),
    ]
    seen = set()
    for _ in range(10):
        transform(export, *plugins, ignored=tmp_path / "ignored")
        apply(export)
        seen.add(repr([contents(tmp_path / each) for each in ("transform", "ignored", "output")]))
    assert len(seen) == 1


KILLED = """
import sys
from fleetform.transform import Runner
from fleetform.transformers.builtin import KubernetesPlugin
from fleetform.transformers.plugins import BoundPlugin
from fleetform.transformers.trees import apply_tree, transform_tree
runner = Runner([BoundPlugin(KubernetesPlugin(), {"add-annotations": sys.argv[1]})])
transform_tree("export", "transform", runner)
apply_tree("export", "transform", "output")
"""


@pytest.mark.parametrize("patience", [0.0, 0.1, 0.25])
def test_a_run_that_is_killed_leaves_no_file_half_written_and_the_next_completes_it(
    tmp_path: Path, patience: float
) -> None:
    for number in range(150):
        text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{number}, uid: u}}\ndata: {{x: {'y' * 5000}}}\n"
        write_files(tmp_path, {f"export/resources/a/ConfigMap__v1_a_c{number:03}.yaml": text})

    def command(note: str) -> list[str]:
        return [sys.executable, "-c", KILLED, f"note={note}"]

    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run(command("before"), cwd=tmp_path, check=True, env=environment)
    before = contents(tmp_path / "output")
    first = tmp_path / "transform/resources/a/transform-ConfigMap__v1_a_c000.yaml"
    with subprocess.Popen(command("after"), cwd=tmp_path, env=environment) as process:
        while "after" not in first.read_text() and process.poll() is None:
            time.sleep(0.002)
        time.sleep(patience)
        process.send_signal(signal.SIGKILL)
    for path in (tmp_path / "transform").rglob("transform-*"):
        assert len(json.loads(path.read_text())) == 3
    for name, content in contents(tmp_path / "output").items():
        if not name.endswith(".part"):
            assert content == before[name] or content.replace(b"note: after", b"note: before") == before[name]
    subprocess.run(command("after"), cwd=tmp_path, check=True, env=environment)
    after = contents(tmp_path / "output")
    assert {name: content.replace(b"note: after", b"note: before") for name, content in after.items()} == before
    assert not list(tmp_path.rglob("*.part"))
