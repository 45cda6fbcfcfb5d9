"""Span: what lies between two versions of a definition, for people to read before they take it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from fleetform.engine.versions.choose import Offers, versions_between
from fleetform.engine.versions.migrations import migrations_to
from fleetform.model.kinds.definition import Option
from fleetform.model.results.decisions import Revision
from fleetform.syntax.option_paths import normal_form, parse_path
from fleetform.syntax.option_rules import must_be_set


class Span(NamedTuple):
    """The versions passed, oldest first, and how the options of the last differ from those of the one before them."""

    passed: tuple[Revision, ...]
    added: tuple[Option, ...] = ()
    removed: tuple[Option, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    retyped: tuple[tuple[Option, Option], ...] = ()
    redefaulted: tuple[tuple[Option, Option], ...] = ()
    required: tuple[Option, ...] = ()


def span_between(offers: Offers, low: Revision, high: Revision) -> Span:
    """What an upgrade from one revision to another brings."""
    passed = tuple(versions_between(offers, low.version, high.version))
    old, new = low.forms, high.forms
    migrations = migrations_to(passed)
    renamed = {}
    for form, option in old.items():
        # Through all versions passed: a name may change in each of them.
        steps = migrations.moved(parse_path(option.name)) if form not in new else None
        if steps is not None and normal_form(steps) in new:
            renamed[form] = normal_form(steps)
    both = [(old[form], new[form]) for form in old.keys() & new.keys()]
    both += [(old[before], new[after]) for before, after in renamed.items()]
    both.sort(key=lambda pair: pair[1].name)
    return Span(
        passed,
        added=_sorted(new[form] for form in new.keys() - old.keys() - set(renamed.values())),
        removed=_sorted(old[form] for form in old.keys() - new.keys() - renamed.keys()),
        renamed=tuple(sorted((old[form].name, new[to].name) for form, to in renamed.items())),
        retyped=tuple(pair for pair in both if pair[0].type != pair[1].type),
        redefaulted=tuple(pair for pair in both if _default(pair[0]) != _default(pair[1])),
        required=tuple(after for before, after in both if must_be_set(after) and not must_be_set(before)),
    )


def _sorted(options: Iterable[Option]) -> tuple[Option, ...]:
    return tuple(sorted(options, key=lambda option: option.name))


def _default(option: Option) -> tuple[type, object]:
    # With its type: to Python true is 1, to a chart it is not.
    return type(option.default), option.default
