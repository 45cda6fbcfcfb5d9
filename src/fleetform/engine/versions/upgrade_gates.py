"""Upgrade: what stands between the revision that runs and the one that is wanted.

Validity only, and for every version on the way (S26); when an upgrade may start is another question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

from msgspec import Struct

from fleetform.engine.layers.owners import Owner
from fleetform.model.kinds.definition import Changes
from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.objects import Object
from fleetform.model.results.decisions import Gate, Item, Revision, Skipped, Steps
from fleetform.syntax.selectors import any_matches
from fleetform.syntax.versions import parse_version


class Step(Struct, frozen=True, eq=False):
    """The way from the revision that runs to the one that is wanted, the same for all plugins that go it."""

    running: str
    wanted: Revision
    downgrade: bool
    breaking: tuple[Revision, ...] = ()
    irreversible: tuple[Revision, ...] = ()


def step_between(running: str, wanted: Revision, passed: Iterable[Revision]) -> Step:
    """passed are the versions between the two, the lower one left out; what runs need not be known any more."""
    described = [each for each in passed if each.object.spec.changes is not None]
    return Step(
        running,
        wanted,
        parse_version(wanted.version) < parse_version(running),
        tuple(each for each in described if _changes(each).breaking),
        tuple(each for each in described if _changes(each).irreversible),
    )


def _changes(revision: Revision) -> Changes:
    return revision.object.spec.changes or Changes()


def upgrade_gates(
    owner: Owner, cluster: Object[ClusterSpec], step: Step, at: datetime, forced: datetime | None = None
) -> Iterator[Gate]:
    """Gates of the way from one revision to another at a time; forced is when versions that break wait no longer.

    A way back must be asked for by its exact version, and leads over no version that is irreversible (R2-39).
    """
    running, wanted = step.running, step.wanted.version
    if step.downgrade and owner.pin != wanted and not is_acknowledged(owner, cluster, wanted):
        yield Gate(
            "would-downgrade",
            f"{running} runs, and {owner.wanted or 'newest'} leads to {wanted} now",
            f"pin {wanted} exactly, acknowledge it, or let {running} be wanted again: by the range, or by the policy",
            ref=owner.object.ref,
        )
    for revision in step.irreversible if step.downgrade else ():
        yield Gate(
            "would-downgrade",
            f"{owner.definition} {revision.version} is irreversible, and {running} runs",
            f"ask for {revision.version} or higher; publish a higher one to fix a version that failed",
            ref=revision.object.ref,
            at=revision.object.at("spec", "changes", "irreversible"),
        )
    is_forced = forced is not None and forced <= at
    for revision in step.breaking if not step.downgrade and not is_forced else ():
        if is_acknowledged(owner, cluster, revision.version):
            continue
        acknowledge = _changes(revision).acknowledge
        task = f": {acknowledge}" if acknowledge else ""
        yield Gate(
            "breaking",
            f"{owner.definition} {revision.version} is breaking and not acknowledged{task}",
            f"do what it asks, then add {revision.version} to upgrades.acknowledged of {owner.object.ref.name}",
            ref=revision.object.ref,
            at=revision.object.at("spec", "changes", "breaking"),
            until=forced,
        )


def removed_option_gates(skipped: Iterable[Skipped], running: Callable[[Steps], str | None]) -> Iterator[Gate]:
    """Options that people set, that the running revision knows, and that are gone without a migration (S3).

    That a later version has them again does not help: the one that is wanted has not. running is the option that a path
    belongs to there.
    """
    gone: dict[str, Item] = {}
    for item, reason in skipped:
        sets = item.strategy != "Remove" and reason in ("not-declared", "not-yet-known")
        name = running(item.steps) if sets else None
        if name is not None:
            gone.setdefault(name, item)
    for name, item in sorted(gone.items()):
        yield Gate(
            "removed-option",
            f"{name} is set and no longer exists",
            "remove the value, or ask the definition's author for a migration",
            name,
            item.layer.object.ref,
            item.at,
        )


def is_acknowledged(owner: Owner, cluster: Object[ClusterSpec], version: str) -> bool:
    return any(
        parse_version(acknowledged) == parse_version(version)
        and any_matches(matchers, cluster.ref.name, cluster.labels)
        for acknowledged, matchers in owner.acknowledged
    )
