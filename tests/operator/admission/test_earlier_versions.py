"""Versions that definitions had: known from their revisions on a real API server, so that nobody calls them missing."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event

import pytest

from fleetform.app.fleet import Fleet
from fleetform.operator.revisions import EarlierVersions
from support.admission import judged
from support.asking import Asking, until
from support.fleets import CLUSTERS, DEFINITION, PRESET, fleet_of, override

CURRENT = "acme/plugindefinitions.fleetform.dev/web@2.0.0"
OLDER = "acme/plugindefinitions.fleetform.dev/web@0.9.0"
NEWER = DEFINITION.replace("1.0.0", "2.0.0")
REVISION = """
apiVersion: fleetform.dev/v1alpha1
kind: PluginDefinitionRevision
metadata: {name: web-0.9.0, namespace: acme}
spec:
  number: 1
  version: 0.9.0
  contentHash: 'sha256:00'
  options: [{name: replicas, type: int, default: 1}, {name: gone, type: string}]
  source: {manifests: {path: ./manifests}, digest: 'sha256:00'}
"""


@pytest.fixture
def earlier(asking: Asking) -> Iterator[EarlierVersions]:
    asking.written_by_operator(REVISION)
    found, stop = EarlierVersions(asking.client, lambda: None), Event()
    found.start(stop)
    until(lambda: OLDER in found.beside({CURRENT: b""}))
    yield found
    stop.set()


def fleet(files: dict[str, bytes], *more: str) -> Fleet:
    known = {name: text.decode() for name, text in files.items()}
    others = {f"{number}.yaml": text for number, text in enumerate((CLUSTERS, PRESET, *more))}
    return fleet_of({CURRENT: NEWER, **known, **others})


def test_a_version_is_known_while_its_definition_is_there_and_says_something_else(earlier: EarlierVersions) -> None:
    assert earlier.are_known
    assert list(earlier.beside({CURRENT: b""})) == [OLDER]
    assert earlier.beside({CURRENT: b"", OLDER: b""}) == {}
    assert earlier.beside({"acme/plugindefinitions.fleetform.dev/other@1.0.0": b""}) == {}


def test_what_only_an_earlier_version_has_is_not_called_unknown(earlier: EarlierVersions) -> None:
    """An option that the newest version no longer has, and a pin to the one that still runs."""
    older = earlier.beside({CURRENT: b""})
    value = override("old", "[{path: gone, value: a}]", "pluginDefinitionNames: [web]")
    pinned = PRESET.replace("pluginDefinition: {name: web}", "pluginDefinition: {name: web, version: 0.9.0}")
    assert not judged(fleet({}), value).allowed
    assert judged(fleet(older), value).allowed
    assert any(each.startswith("missing-version") for each in judged(fleet({}), pinned, PRESET).warnings)
    assert judged(fleet(older), pinned, PRESET).warnings == []


@pytest.mark.rule("R2-36")
def test_a_definition_may_go_back_to_a_version_of_which_not_all_is_known(earlier: EarlierVersions) -> None:
    back = DEFINITION.replace("1.0.0", "0.9.0")
    answer = judged(fleet(earlier.beside({CURRENT: b""})), back, NEWER)
    assert answer.allowed
    assert answer.warnings[0].startswith("version-went-down")
