"""Whether two values of two fleets are the same, secrets among them."""

from __future__ import annotations

from typing import NamedTuple

from fleetform.app.fleet import Fleet
from fleetform.engine.desired import has_secret
from fleetform.model.answers.base import Json
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import ABSENT, Secret
from fleetform.syntax.trees import same_value


class SameValues(NamedTuple):
    """Compares values of one organization; the answer is None if nobody can tell (B30)."""

    before: Fleet
    after: Fleet
    organization: str

    def __call__(self, one: Json, other: Json) -> bool | None:
        if not has_secret(one) and not has_secret(other):
            return one is other if one is ABSENT or other is ABSENT else same_value(one, other)
        if isinstance(one, Secret) and isinstance(other, Secret):
            return self._same_secrets(one, other)
        if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
            found = [self(each, other[key]) for key, each in one.items()]
        elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
            found = [self(*pair) for pair in zip(one, other, strict=True)]
        else:
            return False
        if False in found:
            return False
        return None if None in found else True

    def _same_secrets(self, one: Secret, other: Secret) -> bool | None:
        """By what they hold, if that is in both inputs."""
        if one.ref != other.ref:
            return False
        if one.ref is None or (one.plain is not None and other.plain is not None):
            return same_value(one.plain, other.plain)
        held: list[Json] = []
        for fleet in (self.before, self.after):
            object_ = fleet.snapshot.others.get(Ref("Secret.v1", self.organization, one.ref.name))
            fields = [(field, object_.content.get(field)) for field in ("stringData", "data")] if object_ else []
            found = [
                (field, each[one.ref.key]) for field, each in fields if isinstance(each, dict) and one.ref.key in each
            ]
            held.append(found[0] if found else None)
        return None if None in held else bool(held[0] == held[1])
