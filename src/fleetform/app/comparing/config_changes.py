"""What changed among a plugin's configs: content, set and order, by identity (R1-15)."""

from __future__ import annotations

from typing import Literal

from fleetform.engine.configs.combine import UNKNOWN_HASH
from fleetform.model.answers.diff import ChangedConfig
from fleetform.model.results.configs import ConfigReference, Configs


def config_changes(before: Configs, after: Configs) -> list[ChangedConfig]:
    """Each config that came, went, has other content, or stands elsewhere among those of its type."""
    old, new = ({each.identity: each for each in side.effective} for side in (before, after))
    found = []
    for identity in sorted(old.keys() | new.keys()):
        one, other = old.get(identity), new.get(identity)
        change = _change(one, other, before, after)
        if change is not None:
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


def _change(
    one: ConfigReference | None, other: ConfigReference | None, before: Configs, after: Configs
) -> Literal["added", "removed", "changed", "moved"] | None:
    if one is None:
        return "added"
    if other is None:
        return "removed"
    if one.spec_hash != other.spec_hash or _holds_other_secrets(one, other):
        return "changed"
    return "moved" if _position(one, before, after) != _position(other, after, before) else None


def _holds_other_secrets(one: ConfigReference, other: ConfigReference) -> bool:
    """The content of secrets has no hash here; on both sides at hand, it can be compared."""
    if one.spec_hash != UNKNOWN_HASH or one.config is None or other.config is None:
        return False
    held = [{field: each.content.get(field) for field in ("data", "stringData")} for each in (one.config, other.config)]
    return held[0] != held[1]


def _position(reference: ConfigReference, here: Configs, there: Configs) -> int:
    """Its place among those of its type that both sides have: what came or went moves nobody."""
    shared = {each.identity for each in there.effective}
    alike = [each.identity for each in here.effective if each.type == reference.type and each.identity in shared]
    return alike.index(reference.identity)
