"""What is stored leaves out what is usual. An earlier release left it out as well, and meant the same by it."""

from __future__ import annotations

import msgspec
import pytest

from fleetform.loop.records import DeliveryRecord, Destination
from fleetform.loop.sealing import SealedInput
from fleetform.model.state_document import RolloutDocument


def test_a_destination_is_unsigned_and_corrected_unless_it_says_otherwise() -> None:
    stored = b'{"destination":{"kind":"git","path":"https://git.example/live.git","branch":"main"}}'
    record = msgspec.json.decode(stored, type=DeliveryRecord)
    place = record.destination
    assert (place.sign, place.drift, place.adopt, place.retain, place.through) == (
        False,
        "Correct",
        False,
        False,
        "kubernetes",
    )
    assert (record.input_hash, record.since, record.leaves, record.refused) == ("", None, (), "")
    assert msgspec.json.encode(DeliveryRecord(Destination("git", "https://git.example/live.git", "main"))) == stored


def test_what_a_state_with_secrets_is_rendered_from_is_strict_and_about_declared_options() -> None:
    stored = (
        b'{"definition":"web","version":"1.0.0","renderer":"manifests","values":{},"variables":{},'
        b'"releaseName":"web","releaseNamespace":"web"}'
    )
    found = msgspec.json.decode(stored, type=SealedInput)
    assert (found.strict, found.declared_only, found.add_on) == (True, True, None)
    assert msgspec.json.encode(found) == stored


@pytest.mark.rule("B33")
def test_a_rollout_of_an_export_is_pending_and_neither_paused_nor_rejected_unless_it_says_so() -> None:
    stored = (
        b'{"name":"web-7f3a0000","owner":{"organization":"acme","kind":"PluginPreset","name":"web"},'
        b'"changeId":"c1:7f3a","policy":{},"created":"2026-11-01T12:00:00Z"}'
    )
    found = msgspec.json.decode(stored, type=RolloutDocument)
    assert (found.phase, found.paused, found.rejected, found.started, found.queued) == (
        "Pending",
        False,
        False,
        None,
        None,
    )
