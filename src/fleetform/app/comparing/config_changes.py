"""What changed among a plugin's configs: content, set and order, by identity (R1-15)."""

from __future__ import annotations

from typing import Literal

from fleetform.engine.configs.combine import UNKNOWN_HASH
from fleetform.model.answers.base import Json
from fleetform.model.answers.diff import ChangedConfig
from fleetform.model.results.configs import ConfigReference, Configs


def config_changes(before: Configs, after: Configs) -> list[ChangedConfig]:
    """Each config that came, went, has other content, or has another position among those of its type."""
    old, new = ({each.identity: each for each in side.effective} for side in (before, after))
    found = []
    for identity in sorted(old.keys() | new.keys()):
        one, other = old.get(identity), new.get(identity)
        change: Literal["added", "removed", "changed", "moved"]
        if one is None:
            change = "added"
        elif other is None:
            change = "removed"
        elif one.spec_hash != other.spec_hash or _secrets_in(one) != _secrets_in(other):
            change = "changed"
        elif _position(one, before, after) != _position(other, after, before):
            change = "moved"
        else:
            continue
        group, resource, namespace, name = identity
        changed = ChangedConfig(
            group=group,
            resource=resource,
            namespace=namespace,
            name=name,
            change=change,
            from_=one.spec_hash if one else None,
            to=other.spec_hash if other else None,
        )
        found.append(changed)
    return found


def _position(reference: ConfigReference, here: Configs, there: Configs) -> int:
    """Its place among those of its type that both sides have: what came or went moves nobody."""
    shared = {each.identity for each in there.effective}
    alike = [each.identity for each in here.effective if each.type == reference.type and each.identity in shared]
    return alike.index(reference.identity)


def _secrets_in(reference: ConfigReference) -> list[Json]:
    """What a Secret holds: that has no hash here, and can be compared if it is in the input."""
    if reference.spec_hash != UNKNOWN_HASH or reference.config is None:
        return []
    return [reference.config.content.get(field) for field in ("data", "stringData")]
