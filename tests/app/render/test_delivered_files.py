"""A plugin's objects as files that can be applied in the order of their names."""

from __future__ import annotations

from typing import Any

from fleetform.app.rendering.delivered_files import delivered_files


def manifest(kind: str, name: str, hook: str | None = None, weight: str | None = None) -> dict[str, Any]:
    annotations = {"helm.sh/hook": hook, "helm.sh/hook-weight": weight}
    kept = {key: value for key, value in annotations.items() if value is not None}
    return {"apiVersion": "batch/v1", "kind": kind, "metadata": {"name": name, "annotations": kept}}


def test_hooks_before_come_first_by_weight_and_hooks_after_last() -> None:
    files = delivered_files(
        [
            manifest("Deployment", "app"),
            manifest("Job", "late", "post-install", "-5"),
            manifest("Job", "second", "pre-upgrade", "10"),
            manifest("Job", "first", "pre-install,pre-upgrade", "-10"),
            manifest("Job", "later", "post-upgrade,test", "5"),
        ]
    )
    assert sorted(files) == [
        "00-pre-01-job-first.yaml",
        "00-pre-02-job-second.yaml",
        "deployment-app.yaml",
        "zz-post-01-job-late.yaml",
        "zz-post-02-job-later.yaml",
    ]


def test_tests_and_hooks_of_deletions_and_rollbacks_are_left_out() -> None:
    hooks = ("test", "test-success", "pre-delete", "post-delete", "pre-rollback,post-rollback")
    assert delivered_files([manifest("Job", f"job-{n}", hook) for n, hook in enumerate(hooks)]) == {}


def test_the_annotations_of_hooks_stay() -> None:
    [content] = delivered_files([manifest("Job", "first", "pre-install", "x")]).values()
    assert b"helm.sh/hook: pre-install" in content
