"""Whether two values of two fleets are the same, secrets among them."""

from __future__ import annotations

from typing import NamedTuple

from fleetform.app.fleet import Fleet
from fleetform.engine.options.holes import HOLES, hashable, is_hole
from fleetform.engine.report.effects import winning_items
from fleetform.model.answers.base import Json
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import ABSENT, OptionDecision, Secret
from fleetform.syntax.option_paths import normal_form
from fleetform.syntax.trees import kinds_in, same_value


def known_of(decision: OptionDecision | None) -> Json:
    """An option's value, or what is known of it."""
    if decision is None:
        return ABSENT
    return decision.value if decision.partial is ABSENT else decision.partial


def has_marks(tree: Json) -> bool:
    return bool(kinds_in(tree, Secret, *HOLES) - {float})


def _written(decision: OptionDecision) -> list[tuple[object, ...]]:
    """What those wrote who made an option's value."""
    return [
        (normal_form(each.steps), each.strategy, each.expression, each.secret, repr(each.value))
        for each in winning_items(decision)
    ]


class SameValues(NamedTuple):
    """Compares values of one organization; the answer is None if nobody can tell (B30)."""

    before: Fleet
    after: Fleet
    organization: str

    def decisions(self, then: OptionDecision | None, now: OptionDecision | None) -> bool | None:
        """Whether an option is the same on both sides. Of what is not known on either, what is written is compared."""
        alike = self(known_of(then), known_of(now))
        if alike is not True or then is None or now is None or then.partial is ABSENT:
            return alike
        return True if _written(then) == _written(now) else None

    def __call__(self, one: Json, other: Json) -> bool | None:
        if is_hole(one) or is_hole(other):
            return self._same_holes(one, other)
        if not has_marks(one) and not has_marks(other):
            return same_value(one, other)
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

    def _same_holes(self, one: Json, other: Json) -> bool | None:
        """Two holes are the same if the same is laid into them; what is known now and was not is another value."""
        if not is_hole(one) or not is_hole(other):
            return False
        return True if same_value(hashable(one), hashable(other)) else None

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
