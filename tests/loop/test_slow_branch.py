"""A git server that says nothing, behind a whole control plane: what goes elsewhere does not wait for it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from fleetform.loop.control import PassReport
from fleetform.ports.store import StoreError
from fleetform.wiring.plane import Plane, open_plane
from support.fleets import BASE
from support.silent import SilentServer

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n"
# Far less than the minute after which a server that says nothing is given up.
_PROMPT = 20.0


def _write(folder: Path, url: str) -> None:
    """Two presets on all clusters: `web` goes into a branch at an address, `proxy` into folders."""
    (folder / "manifests").mkdir()
    (folder / "manifests" / "web.yaml").write_text(CONFIG_MAP)
    slow = BASE["preset.yaml"].replace("spec:\n", f"spec:\n  delivery: {{git: {{url: '{url}'}}}}\n", 1)
    proxy = [BASE[name].replace("name: web", "name: proxy") for name in ("definition.yaml", "preset.yaml")]
    every = [BASE["clusters.yaml"], BASE["definition.yaml"], slow, *proxy]
    (folder / "fleet.yaml").write_text("---".join(every))


def _settled(plane: Plane, out: Path) -> list[str]:
    """Passes until nothing is stored; what is in the folder then."""
    while plane.control.run_pass().wrote:
        pass
    return sorted(str(each.relative_to(out).parent) for each in out.rglob("*.yaml"))


@pytest.mark.rule("R2-15")
def test_a_git_server_that_says_nothing_holds_up_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in os.environ if each.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("FLEETFORM_CACHE_DIR", str(tmp_path / "cache"))
    fleet, out = tmp_path / "fleet", tmp_path / "out"
    fleet.mkdir()

    def failed(error: StoreError) -> None:
        raise error

    with SilentServer() as server:
        _write(fleet, f"http://{server.host}/live.git")
        reports: list[PassReport] = []
        database = str(tmp_path / "fleet.db")
        plane = open_plane([str(fleet)], database, reports.append, failed, print, print, output_folder=str(out))
        try:
            began = time.monotonic()
            there = _settled(plane, out)
            assert plane.control.is_busy(), "it is still under way at the server"
            assert time.monotonic() - began < _PROMPT
        finally:
            # What has begun is waited for: the server goes first.
            server.close()
            plane.close()
    assert [each for each in there if "proxy" in each]
    assert not [each for each in there if "web-" in each]
