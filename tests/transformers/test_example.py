"""examples/seed-4: an export, three plugins that clash, and priorities that change the winner."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fleetform.syntax.yaml_in import read_one
from fleetform.transform import Runner
from fleetform.transformers.builtin import built_in_plugins
from fleetform.transformers.discover import discover
from fleetform.transformers.executables import Workshop
from fleetform.transformers.plugins import BoundPlugin
from fleetform.transformers.trees import apply_tree, transform_tree

DEPLOYMENT = "resources/shop/Deployment_apps_v1_shop_web.yaml"
OPTIONS = {"registry-replacement": "registry.old.example.com=registry.new.example.com"}


def run(root: Path, folder: Path, priorities: Mapping[str, int]) -> tuple[Any, Any]:
    example = root / "examples" / "seed-4"
    with Workshop() as workshop:
        found = discover(str(example / "plugins"), workshop)
        assert found.problems == ()
        plugins = [built_in_plugins()["KubernetesPlugin"], *found.plugins]
        runner = Runner([BoundPlugin(each, OPTIONS) for each in plugins], priorities)
        done = transform_tree(str(example / "export"), str(folder / "transform"), runner)
    applied = apply_tree(str(example / "export"), str(folder / "transform"), str(folder / "output"))
    return done, applied


def deployment(folder: Path) -> Any:
    return read_one((folder / "output" / DEPLOYMENT).read_text(encoding="utf-8"))


@pytest.mark.rule("R4-1", "R4-2", "R4-16")
def test_priorities_change_who_wins(root: Path, tmp_path: Path) -> None:
    done, applied = run(root, tmp_path / "without", {})
    assert not any(each.failures for each in done.resources)
    assert (applied.broken, applied.untransformed) == ((), ())
    tree = deployment(tmp_path / "without")
    assert (tree["spec"]["replicas"], tree["metadata"]["labels"]["moved-by"]) == (5, "capacity")
    assert tree["spec"]["template"]["spec"]["containers"][0]["image"] == "registry.new.example.com/shop/web:1.4.2"

    priorities = read_one((root / "examples/seed-4/priorities.yaml").read_text(encoding="utf-8"))
    done, _ = run(root, tmp_path / "with", priorities)
    tree = deployment(tmp_path / "with")
    assert (tree["spec"]["replicas"], tree["metadata"]["labels"]["moved-by"]) == (1, "owner")
    lost = {each.operation.path: (each.plugin, each.winner) for item in done.resources for each in item.settled.ignored}
    assert lost == {"/spec/replicas": ("capacity", "cautious"), "/metadata/labels/moved-by": ("capacity", "owner")}


def test_what_the_old_cluster_wrote_is_gone(root: Path, tmp_path: Path) -> None:
    _, applied = run(root, tmp_path, {})
    assert applied.whiteouts == ("resources/shop/ConfigMap__v1_shop_kube-root-ca.crt.yaml",)
    service = read_one((tmp_path / "output/resources/shop/Service__v1_shop_web.yaml").read_text(encoding="utf-8"))
    assert service["metadata"].keys() == {"labels", "name", "namespace"}
    assert service["spec"]["ports"] == [{"name": "http", "port": 80, "targetPort": "http"}]
    assert "clusterIP" not in service["spec"]
