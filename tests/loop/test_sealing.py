"""States with secrets: stored with references in their places, and rendered with what they refer to in memory (S5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from fleetform.app.fleet import Fleet
from fleetform.app.rendering.delivered_files import delivered_files
from fleetform.loop.records import AdmittedState, packed
from fleetform.loop.sealing import Unsealing, sealed
from fleetform.model.results.rendering import Rendered, RenderFailure, RenderInput
from fleetform.ports.delivery import Failure, Revealed
from support.fleets import DEFINITION, PRESET, fleet_with, plugin_on

SECRET = """
apiVersion: v1
kind: Secret
metadata: {name: keys, namespace: acme}
stringData: {token: s3cret, pin: abc}
"""
WITH_SECRETS = PRESET + (
    "    - {name: token, valueFrom: {secret: {name: keys, key: token}}}\n"
    "    - {name: labels.pin, valueFrom: {secret: {name: keys, key: pin}}}\n"
)
CHART = DEFINITION.replace("manifests: {path: ./manifests}", "helm: {repository: ./charts, chart: web}")
SOURCE = packed({"web.yaml": b"kind: ConfigMap\n"})


class Renderer:
    """Renders values into one ConfigMap, as often as it is asked; it may fail, or make something up."""

    def __init__(self) -> None:
        self.given: list[tuple[dict[str, Any], Mapping[str, bytes]]] = []
        self.failures: list[RenderFailure | None] = [None, None]
        self.made_up = 0

    def render_from(self, input_: RenderInput, files: Mapping[str, bytes]) -> Rendered | RenderFailure:
        failure = self.failures[len(self.given) % 2]
        self.given.append((input_.values, files))
        return failure or Rendered("k", (self.object(input_.values),))

    def object(self, values: dict[str, Any]) -> dict[str, Any]:
        metadata = {"name": "web", "annotations": {"made-up": str(self.made_up)}}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": values}


class Case:
    """A plugin with secrets that was admitted, and what reveals it."""

    def __init__(self, fleet: Fleet | None = None) -> None:
        admitted = fleet_with(definition=CHART, preset=WITH_SECRETS, secret=SECRET)
        found = sealed(admitted, plugin_on(admitted, "eu-1"))
        assert found is not None
        self.digest, self.content = found
        self.renderer = Renderer()
        self.blobs: dict[str, bytes] = dict([found, SOURCE])
        shown = admitted.render_input(plugin_on(admitted, "eu-1"))
        assert shown is not None
        files = packed(delivered_files([self.renderer.object(shown.values)]))[0]
        self.state = AdmittedState(files, "1.0.0", source_files=SOURCE[0], sealed=self.digest)
        self.fleet: Fleet | None = fleet or admitted

    def revealed(self) -> Revealed | Failure:
        found = Unsealing(self.renderer, self.blobs.get, lambda: self.fleet).reveal("acme", self.state)
        return found if isinstance(found, Failure) else found(lambda namespace, name, key: None)


def test_a_plugin_without_secrets_is_not_sealed() -> None:
    fleet = fleet_with()
    assert sealed(fleet, plugin_on(fleet, "eu-1")) is None


def test_what_is_stored_has_references_and_no_secret() -> None:
    case = Case()
    assert b"s3cret" not in case.content
    assert b"abc" not in case.content
    assert b"keys" in case.content
    assert case.digest.startswith("sha256:")


def test_secrets_are_filled_in_where_they_stood_from_the_files_that_were_admitted() -> None:
    case = Case()
    found = case.revealed()
    assert isinstance(found, Revealed)
    (text,) = found.files.values()
    assert b"token: s3cret" in text
    assert b"pin: abc" in text
    assert b"replicas: 2" in text
    # No message may hold one, in whichever form; what is short would be found everywhere.
    assert found.secrets == ("czNjcmV0", "s3cret")
    (shown, files), (whole, again) = case.renderer.given
    assert files == again == {"web.yaml": b"kind: ConfigMap\n"}
    assert (shown["replicas"], whole["token"], whole["labels"]["pin"]) == (2, "s3cret", "abc")
    assert shown["token"] != "s3cret"


def test_a_secret_that_was_changed_counts_as_it_is_now_and_one_that_is_gone_is_named() -> None:
    now = fleet_with(definition=CHART, preset=WITH_SECRETS, secret=SECRET.replace("s3cret", "another"))
    found = Case(now).revealed()
    assert isinstance(found, Revealed)
    assert b"token: another" in next(iter(found.files.values()))
    gone = Case(
        fleet_with(definition=CHART, preset=WITH_SECRETS, secret=SECRET.replace("pin: abc", "other: abc"))
    ).revealed()
    assert gone == Failure("there is no Secret keys with a key pin", "bring it back", refused=True)
    nothing = Case()
    nothing.fleet = None
    assert isinstance(nothing.revealed(), Failure)


@pytest.mark.parametrize("missing", ["sealed", "source"])
def test_what_is_not_stored_cannot_be_rendered(missing: str) -> None:
    case = Case()
    del case.blobs[case.digest if missing == "sealed" else SOURCE[0]]
    assert case.revealed() == Failure("what it was rendered from is not stored", "retry the rollout", refused=True)


def test_what_renders_otherwise_than_it_was_admitted_is_not_applied() -> None:
    case = Case()
    case.renderer.made_up = 1
    found = case.revealed()
    assert isinstance(found, Failure)
    assert (found.message, found.refused) == ("it renders otherwise than it was admitted", True)
    assert len(case.renderer.given) == 1, "no secret was given to it"


@pytest.mark.parametrize("unavailable", [False, True])
def test_a_render_that_fails_is_told_without_what_the_tool_says_of_secrets(unavailable: bool) -> None:
    case = Case()
    case.renderer.failures = [RenderFailure("no helm", "install it", unavailable), None]
    assert case.revealed() == Failure("it does not render again: no helm", "install it", refused=not unavailable)
    case = Case()
    case.renderer.failures = [None, RenderFailure("s3cret is no number", "x", unavailable)]
    found = case.revealed()
    assert isinstance(found, Failure)
    assert (found.message, found.refused) == ("it renders with placeholders, and not with its secrets", not unavailable)
