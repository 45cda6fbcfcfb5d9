"""Catalogs beside a control plane that runs: they are read again when they are due, and what they bring is stamped."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from fleetform.loop.caring import Care
from fleetform.loop.control import PassReport
from fleetform.model.objects import Ref
from fleetform.ports.store import StoreError
from fleetform.syntax.times import parse_time
from fleetform.wiring.plane import open_plane
from support.fleets import BASE
from support.repositories import Repository

CATALOG = """
apiVersion: fleetform.dev/v1alpha1
kind: Catalog
metadata: {name: ours, namespace: acme}
spec: {sources: [{git: {url: %s}, interval: 1h}]}
"""


@pytest.mark.rule("R2-34", "S28")
def test_a_catalog_is_read_again_when_it_is_due_though_no_file_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    chart = "source: {helm: {repository: 'oci://charts.invalid/x', chart: web, version: 1.0.0}}"
    definition = BASE["definition.yaml"].replace("source: {manifests: {path: ./manifests}}", chart)
    catalog = Repository(tmp_path / "catalog")
    catalog.commit({"web/plugindefinition.yaml": definition})
    fleet = tmp_path / "fleet"
    fleet.mkdir()
    # Without clusters: nothing is rendered, and so no registry asked.
    (fleet / "preset.yaml").write_text(BASE["preset.yaml"])
    (fleet / "catalog.yaml").write_text(CATALOG % catalog.url)
    start = "2026-11-01T12:00:00Z"
    reports: list[PassReport] = []
    reasons: list[str] = []
    cares: list[Care] = []

    def failed(error: StoreError) -> None:
        raise error

    plane = open_plane(
        [str(fleet)], str(tmp_path / "fleet.db"), reports.append, failed, reasons.append, cares.append, at=start
    )
    try:
        first = plane.driver.run_once()
        assert first.next_look is not None
        assert first.next_look <= parse_time(start) + timedelta(minutes=66)
        newer = definition.replace("version: 1.0.0\n  source", "version: 1.1.0\n  source")
        catalog.commit({"web/plugindefinition.yaml": newer})
        key = Ref("PluginDefinition", "acme", "web"), "1.1.0"
        plane.turn_clock(parse_time(start) + timedelta(minutes=10))
        plane.control.run_pass(look_at_source=True)
        assert key not in plane.control.image.known.versions
        later = parse_time(start) + timedelta(minutes=67)
        plane.turn_clock(later)
        plane.control.run_pass(look_at_source=False)
        assert plane.control.image.known.versions[key].announced == later
    finally:
        plane.close()
