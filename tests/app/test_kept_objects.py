"""Objects that are kept for a rollout: as documents, for the organization that they belong to."""

from __future__ import annotations

import pytest

from fleetform.app.reading.kept_objects import KeptReader, kept_from
from fleetform.engine.world.contents import ContentHashes, identity_text
from support.fleets import DEFINITION, documents, fleet_of


@pytest.mark.rule("B21", "R0-14")
def test_objects_of_one_name_and_content_are_kept_each_for_its_own_organization() -> None:
    """In whichever order organizations are gone through: a name of their own would read them alike."""
    fleet = fleet_of({"all.yaml": documents(*(DEFINITION.replace("acme", each) for each in ("acme", "beta", "corp")))})
    hashes = ContentHashes(fleet.snapshot)
    objects = {(identity_text(each), hashes.of(each)): each for each in fleet.snapshot.objects}
    kept = kept_from(hashes, fleet.input.documents, set(objects))
    assert {each.identity: each.organization for each in kept.values()} == {
        f"PluginDefinition/{each}/web#fleetform.dev@1.0.0": each for each in ("acme", "beta", "corp")
    }
    read = KeptReader(kept)
    assert {key: (each.ref, each.spec) for key, each in read.items()} == {
        key: (each.ref, each.spec) for key, each in objects.items()
    }
