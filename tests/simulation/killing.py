"""The real process on a real disk, killed at a write of a rollout: SIGKILL, so that nothing of it runs any more.

Every kind of write is a boundary: what changes a folder (a file moved into place, removed, synced, a folder made or
removed), what SQLite writes and syncs inside of a commit, and the commit as a whole, before and after it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

from fleetform.deliver.tree import INVENTORY, read_inventory
from fleetform.loop.image import read_image
from fleetform.store.sqlite_reader import SqliteReader
from support.fleets import BASE, DEFINITION

KINDS = ("commit", "committed", "page", "page-sync", "rename", "unlink", "fsync", "mkdir", "rmdir")
_POLICY = """
apiVersion: fleetform.dev/v1alpha1
kind: RolloutPolicy
metadata: {name: standard, namespace: acme}
spec:
  stages:
  - {name: dev, clusterSelector: {matchLabels: {tier: dev}}, minSuccessTime: 1h}
  - {name: gold, remainder: true, maxConcurrency: 1}
"""
_OBJECT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {n: '${replicas}', of: '%s'}\n"
# Ends the process at the nth boundary of a kind; one that comes to its end tells how many there were.
_CHILD = dedent(
    """
    import json, os, signal, sys
    where, number, told = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    del sys.argv[1:4]
    counts = {}

    def boundary(kind):
        counts[kind] = counts.get(kind, 0) + 1
        if (kind, counts[kind]) == (where, number):
            os.kill(os.getpid(), signal.SIGKILL)

    def counted(function, kind):
        def step(*arguments, **named):
            boundary(kind)
            return function(*arguments, **named)
        return step

    for name in ("rename", "unlink", "fsync", "mkdir", "rmdir"):
        setattr(os, name, counted(getattr(os, name), name))

    import apsw
    import fleetform.store.sqlite as sqlite

    class Disk(apsw.VFS):
        def __init__(self):
            super().__init__("counted", "")

        def xOpen(self, name, flags):
            return File(name, flags)

    class File(apsw.VFSFile):
        def __init__(self, name, flags):
            super().__init__("", name, flags)

        def xWrite(self, data, offset):
            boundary("page")
            super().xWrite(data, offset)

        def xSync(self, flags):
            boundary("page-sync")
            super().xSync(flags)

    disk, connect = Disk(), apsw.Connection

    def on_disk(path, **more):
        return connect(path, **more) if "flags" in more else connect(path, vfs="counted", **more)

    sqlite.apsw.Connection = on_disk
    commit = sqlite.SqliteStore.commit

    def committed(*arguments, **named):
        boundary("commit")
        version = commit(*arguments, **named)
        boundary("committed")
        return version

    sqlite.SqliteStore.commit = committed
    from fleetform.cli.main import main
    try:
        main()
    finally:
        with open(told, "w") as file:
            json.dump(counts, file)
    """
)


class Ended(NamedTuple):
    """What a rollout on disk came to: all files, what is stored of plugins, rollouts and deliveries, what was told."""

    files: dict[str, str]
    plugins: object
    rollouts: object
    delivered: object
    history: dict[str, list[tuple[str, str | None, str]]]
    told: object


class Killing:
    """A fleet on which 1.0.0 runs, and a rollout of 1.1.0 in which a cluster leaves, another joins, and a file goes.

    counts says how many boundaries of each kind there are, end what it comes to undisturbed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._installed = folder, folder / "installed"
        _write_fleet(self._installed)
        assert _serve(self._installed, "2026-11-01T00:00:00Z") == 0
        self.before = _files(self._installed)
        undisturbed = self._rollout("undisturbed")
        assert _serve(undisturbed, "2026-11-02T00:00:00Z") == 0
        self.counts: dict[str, int] = json.loads((undisturbed / "counts.json").read_text())
        self.end = _ended(undisturbed)

    def _rollout(self, name: str) -> Path:
        folder = self._folder / name
        shutil.copytree(self._installed, folder)
        kept = BASE["clusters.yaml"].replace("name: us-1,", "name: us-2,")
        (folder / "clusters.yaml").write_text(kept)
        (folder / "definition-2.yaml").write_text(
            DEFINITION.replace("version: 1.0.0", "version: 1.1.0").replace("./manifests", "./manifests-2")
        )
        return folder

    def killed_at(self, kind: str, number: int) -> None:
        """Killed there and started again it ends as undisturbed; whatever was there in between is whole."""
        folder = self._rollout(f"{kind}-{number}")
        where = f"killed at {kind} {number} of {self.counts[kind]}"
        assert _serve(folder, "2026-11-02T00:00:00Z", (kind, number)) == -9, f"not {where}"
        for name, text in _files(folder).items():
            assert self._is_whole(name, text), f"{where}, {name} is half-written"
        assert _serve(folder, "2026-11-02T00:00:00Z") == 0, where
        found = _ended(folder)
        for part, one, other in zip(Ended._fields, found, self.end, strict=True):
            assert one == other, f"{where}, {part} differ"
        shutil.rmtree(folder)

    def _is_whole(self, name: str, text: str) -> bool:
        """Whether a reader sees a file of the old version or of the new one, on whatever cluster."""
        file = name.rpartition("/")[2]
        if file == INVENTORY:
            return read_inventory(text.encode()) is not None
        every = [*self.before.items(), *self.end.files.items()]
        return file.endswith(".fleetform-part") or text in {
            each for other, each in every if other.rpartition("/")[2] == file
        }


def _write_fleet(folder: Path) -> None:
    texts = {
        **BASE,
        "preset.yaml": BASE["preset.yaml"].replace("spec:\n", "spec:\n  rolloutPolicy: standard\n", 1),
        "policy.yaml": _POLICY,
        **{f"manifests/{name}.yaml": _OBJECT % (name, "1.0.0") for name in ("web", "more")},
        "manifests-2/web.yaml": _OBJECT % ("web", "1.1.0"),
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def _serve(folder: Path, at: str, killed: tuple[str, int] = ("never", 0)) -> int:
    arguments = ["serve", "-q", "--at", at, "--fast-forward", "6h"]
    command = [sys.executable, "-c", _CHILD, killed[0], str(killed[1]), "counts.json", *arguments]
    # Of its own: what another run had rendered would not be written again, and the boundaries would be others.
    caches = {"FLEETFORM_CACHE_DIR": str(folder / ".fleetform" / "cache")}
    return subprocess.run(command, cwd=folder, capture_output=True, env={**os.environ, **caches}).returncode


def _files(folder: Path) -> dict[str, str]:
    every = sorted(each for each in (folder / "out").rglob("*") if each.is_file())
    return {str(each.relative_to(folder)): each.read_text() for each in every}


def _ended(folder: Path) -> Ended:
    reader = SqliteReader(str(folder / ".fleetform" / "fleet.db"))
    try:
        image = read_image(reader, "the store")
        clusters = sorted({cluster.name for cluster in image.known.plugins} | {"us-1"})
        # The next process begins at an earlier time of its own clock: what happened counts, not when.
        history = {
            name: sorted((each.event, each.version, each.rollout) for each in reader.events("acme", name))
            for name in clusters
        }
        return Ended(
            _files(folder),
            {
                (cluster.name, name): (each.admitted, each.last_healthy, each.attempt and each.attempt.phase)
                for cluster, here in image.known.plugins.items()
                for name, each in here.items()
            },
            [(each.name, each.phase) for of in image.known.rollouts.rollouts.values() for each in of],
            {key: (each.input_hash, each.digest, each.trouble) for key, each in image.deliveries.items()},
            history,
            sorted(each.message.key for each in reader.feed()),
        )
    finally:
        reader.close()
