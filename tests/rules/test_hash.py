"""The inputHash of a plugin."""

from __future__ import annotations

import hashlib

import pytest

from fleetform.app.fleet import Fleet
from support.fleets import BASE, fleet_with, override, plugin_on


def hash_of(fleet: Fleet, cluster: str = "eu-1") -> str:
    plugin = plugin_on(fleet, cluster)
    found = fleet.inputs.hash(plugin)
    assert found is not None
    return found


@pytest.mark.rule("B3")
def test_what_a_plugin_is_made_of_changes_its_hash() -> None:
    base = hash_of(fleet_with())
    changed = {
        "value": fleet_with(override=override("o", "[{path: replicas, value: 9}]")),
        "version": fleet_with(newer=BASE["definition.yaml"].replace("1.0.0", "1.0.1")),
        "source": fleet_with(definition=BASE["definition.yaml"].replace("./manifests", "./other")),
        "release": fleet_with(preset=BASE["preset.yaml"] + "    releaseName: other\n"),
        "delivery": fleet_with(preset=BASE["preset.yaml"] + "  delivery: {directory: {path: out}}\n"),
    }
    hashes = {name: hash_of(fleet) for name, fleet in changed.items()}
    assert base not in hashes.values()
    assert len(set(hashes.values())) == len(hashes)


@pytest.mark.rule("B3")
def test_what_a_plugin_is_not_made_of_leaves_its_hash_alone() -> None:
    base = hash_of(fleet_with())
    same_value = fleet_with(override=override("o", "[{path: replicas, value: 2}]"))
    described = fleet_with(
        definition=BASE["definition.yaml"].replace("  version:", "  description: more words\n  version:")
    )
    assert base == hash_of(fleet_with(), "us-1") == hash_of(same_value) == hash_of(described)


@pytest.mark.rule("B3")
def test_the_encoding_is_compact_sorted_json_without_absent_keys() -> None:
    encoded = (
        b'{"releaseName":"web","releaseNamespace":"web","revision":{"definition":"web","version":"1.0.0"},'
        b'"source":{"manifests":{"path":"./manifests"}},'
        b'"values":{"args":["a","b"],"labels":{"team":"none"},"replicas":2}}'
    )
    assert hash_of(fleet_with()) == f"h1:{hashlib.sha256(encoded).hexdigest()}"
