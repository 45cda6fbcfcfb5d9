"""Upgrade: what stands between the revision that runs and the one that is wanted.

Validity only, and for every version on the way (S26); when an upgrade may start is another question.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fleetform.engine.layers import Owner
from fleetform.engine.selectors import any_matches
from fleetform.engine.versions import parse_version
from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.objects import Object
from fleetform.model.results.decisions import Gate, Revision, Skipped


def upgrade_gates(
    owner: Owner, cluster: Object[ClusterSpec], running: Revision, wanted: Revision, passed: Iterable[Revision]
) -> Iterator[Gate]:
    """Gates of the step from one revision to another; passed are the versions between, the lower one left out."""
    if parse_version(wanted.version) < parse_version(running.version):
        yield from _downgrade_gates(owner, cluster, running, wanted, passed)
        return
    for revision in passed:
        changes = revision.object.spec.changes
        if changes is None or not changes.breaking or is_acknowledged(owner, cluster, revision.version):
            continue
        task = f": {changes.acknowledge}" if changes.acknowledge else ""
        yield Gate(
            "breaking",
            f"{owner.definition} {revision.version} is breaking and not acknowledged{task}",
            f"do what it asks, then add {revision.version} to upgrades.acknowledged of {owner.object.ref.name}",
            ref=revision.object.ref,
            at=revision.object.at("spec", "changes", "breaking"),
        )


def _downgrade_gates(
    owner: Owner, cluster: Object[ClusterSpec], running: Revision, wanted: Revision, passed: Iterable[Revision]
) -> Iterator[Gate]:
    """A way back must be asked for by its exact version, and leads over no version that is irreversible (R2-39)."""
    if not owner.pinned and not is_acknowledged(owner, cluster, wanted.version):
        yield Gate(
            "would-downgrade",
            f"{running.version} runs, and {owner.wanted or 'newest'} admits nothing above {wanted.version}",
            f"pin {wanted.version} exactly, acknowledge it, or widen the range",
            ref=owner.object.ref,
        )
    for revision in passed:
        changes = revision.object.spec.changes
        if changes is not None and changes.irreversible:
            yield Gate(
                "would-downgrade",
                f"{owner.definition} {revision.version} is irreversible, and {running.version} runs",
                f"ask for {revision.version} or higher; a version that failed is mended by a higher one",
                ref=revision.object.ref,
                at=revision.object.at("spec", "changes", "irreversible"),
            )


def removed_option_gates(skipped: Iterable[Skipped], known_to_running: set[str]) -> Iterator[Gate]:
    """Options that people set, that the running revision knows, and that are gone without a migration (S3)."""
    for name in sorted({each.item.text for each in skipped if each.reason == "not-declared"} & known_to_running):
        item = next(each.item for each in skipped if each.item.text == name)
        yield Gate(
            "removed-option",
            f"{name} is set and no longer exists",
            "take the value out, or ask the definition's author for a migration",
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
