"""The real process, killed at a write on a real disk: started again, it ends where an undisturbed one does.

The process ends at once (`os._exit`), before or after a commit of the database, or in the middle of a delivery: nothing
of it runs any more, no handler, no clean-up, as after kill -9.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from support.fleets import BASE

POLICY = """
apiVersion: fleetform.dev/v1alpha1
kind: RolloutPolicy
metadata: {name: standard, namespace: acme}
spec:
  stages:
  - {name: dev, clusterSelector: {matchLabels: {tier: dev}}, minSuccessTime: 1h}
  - {name: gold, remainder: true, maxConcurrency: 1}
"""
# Ends the process at the nth time that something is written: a commit, or a file's move into place.
KILLED = dedent(
    """
    import os, sys
    where, number = sys.argv.pop(1), int(sys.argv.pop(1))
    left = number

    def counted(function, kind):
        def step(*arguments, **named):
            global left
            if kind != where.partition("-")[0]:
                return function(*arguments, **named)
            left -= 1
            if left == 0 and where.endswith("-before"):
                os._exit(137)
            answer = function(*arguments, **named)
            if left == 0:
                os._exit(137)
            return answer
        return step

    from fleetform.store.sqlite import SqliteStore
    SqliteStore.commit = counted(SqliteStore.commit, "commit")
    os.rename = counted(os.rename, "file")
    from fleetform.cli.main import main
    main()
    """
)


def fleet(folder: Path) -> Path:
    preset = BASE["preset.yaml"].replace("spec:\n", "spec:\n  rolloutPolicy: standard\n", 1)
    (folder / "manifests").mkdir(parents=True)
    texts = {
        "clusters.yaml": BASE["clusters.yaml"],
        "definition.yaml": BASE["definition.yaml"],
        "preset.yaml": preset,
        "policy.yaml": POLICY,
        "manifests/web.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {n: '${replicas}'}\n",
        "manifests/more.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    return folder


def serve(folder: Path, at: str, killed: tuple[str, int] = ("never", 0)) -> int:
    arguments = ["serve", "-q", "--at", at, "--fast-forward", "6h"]
    command = [sys.executable, "-c", KILLED, killed[0], str(killed[1]), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True).returncode


def story(folder: Path, killed: tuple[str, int] = ("never", 0)) -> tuple[dict[str, str], object, bool]:
    """Installs, then changes a value, killed once in that. What is on disk and stored, and whether it was killed."""
    fleet(folder)
    assert serve(folder, "2026-11-01T00:00:00Z") == 0
    preset = (folder / "preset.yaml").read_text()
    (folder / "preset.yaml").write_text(preset.replace("value: 2", "value: 7"))
    code = serve(folder, "2026-11-02T00:00:00Z", killed)
    assert code in (0, 137)
    # Whatever is there in between is whole: a reader sees the old file or the new one.
    for file in (folder / "out").rglob("*.yaml"):
        assert file.read_text().startswith("apiVersion: v1\nkind: ConfigMap\n")
    if code == 137:
        assert serve(folder, "2026-11-02T00:00:00Z") == 0
    export = [sys.executable, "-c", "from fleetform.cli.main import main; main()", "backup", "--redacted", "state.json"]
    subprocess.run(export, cwd=folder, check=True, capture_output=True)
    state = json.loads((folder / "state.json").read_text())
    plugins = [(each["cluster"], each["admitted"], each["lastHealthy"], each["phase"]) for each in state["plugins"]]
    files = {str(each.relative_to(folder)): each.read_text() for each in sorted((folder / "out").rglob("*.yaml"))}
    left = [str(each) for each in (folder / "out").rglob(".*part")]
    assert left == []
    return files, plugins, code == 137


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], object]:
    files, plugins, _ = story(tmp_path_factory.mktemp("undisturbed") / "fleet")
    assert len(files) == 6
    assert all("7" in text for name, text in files.items() if "configmap-web" in name)
    return files, plugins


@pytest.mark.rule("B1")
@pytest.mark.parametrize(
    ("where", "numbers"),
    [("commit-before", (1, 2, 4)), ("commit-after", (1, 3)), ("file-before", (1, 3)), ("file-after", (2,))],
)
def test_killed_at_a_write_it_ends_the_same(
    tmp_path: Path, undisturbed: tuple[dict[str, str], object], where: str, numbers: tuple[int, ...]
) -> None:
    for number in numbers:
        files, plugins, was_killed = story(tmp_path / str(number), (where, number))
        assert was_killed, f"there is no {where} number {number}"
        assert (files, plugins) == undisturbed, (where, number)
