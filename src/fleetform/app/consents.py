"""What there is to say about consent to changes on their way: who made them, and who wrote approvals (S47)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from fleetform.app.fleet import Fleet
from fleetform.engine.plan.gates.deletes import STAGE
from fleetform.engine.plan.records import OwnerPlan, Removal
from fleetform.engine.world.consent import Doubt, asks_for_others
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import PluginKey
from fleetform.model.results.diagnostics import Diagnostic

CONSENT_CODES = frozenset({"foreign-approval", "unproven-approval", "unknown-author"})
_MOST_NAMED = 3


def consent_findings(
    fleet: Fleet, owners: Iterable[OwnerPlan], removals: Collection[PluginKey] = ()
) -> list[Diagnostic]:
    """Of the changes that owners wait for, and of plugins that are to be removed. Approvals of other changes are
    records, of which nothing is said."""
    found: list[Diagnostic] = []
    unknown: list[Ref] = []
    for owner in owners:
        rollout = owner.rollout
        if rollout is None or not rollout.is_open:
            continue
        waits = any(each.approvals_needed and each.finished is None for each in owner.stages)
        if waits and asks_for_others(rollout.policy) and not owner.change.authors:
            unknown.append(owner.change.owner)
        consents = fleet.owner_changes.consents_of(rollout.owner.organization)
        doubts = consents.doubtful(rollout.name)
        found += [_doubt(each) for each in doubts if each.approval.spec.change_id == rollout.change_id]
    waiting = _waiting_removals(fleet, removals)
    unknown_removals = {each.owner: None for each in waiting if not each.authors}
    for removal in {(each.key[0], each.rollout): each for each in waiting}.values():
        doubts = fleet.owner_changes.consents_of(removal.key[0]).doubtful(removal.rollout)
        mine = [each for each in doubts if each.approval.spec.stage == STAGE]
        found += [_doubt(each) for each in mine if each.approval.spec.change_id == removal.change_id]
    return [*_unknown(unknown, "made", "change"), *_unknown(list(unknown_removals), "removed", "plugin"), *found]


def _waiting_removals(fleet: Fleet, keys: Collection[PluginKey]) -> list[Removal]:
    """Those that wait until people agree who did not remove them."""
    found = fleet.plan
    if not keys or not found.world.complete:
        return []
    asked = set(keys)
    return [
        removal
        for removal, step in zip(found.world.removals, found.removals, strict=True)
        if removal.key in asked and any(each.gate == "deletes" for each in step.reasons)
        if found.world.limits_of(removal.key[0]).deletes_approval.not_author
    ]


def written_consent_findings(fleet: Fleet) -> list[Diagnostic]:
    """Of approvals in manifests alone; without a state nobody knows which changes are on their way."""
    written = any(ref.kind == "Approval" for ref in fleet.snapshot.others)
    if not written or not fleet.state.plugins:
        return []
    found = fleet.plan
    gone = [each.key for each in found.removals]
    return [each for each in consent_findings(fleet, found.owners, gone) if each.code != "unknown-author"]


def _unknown(owners: list[Ref], did: str, what: str) -> Iterator[Diagnostic]:
    if not owners:
        return
    names = list(dict.fromkeys(each.name for each in owners))
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    many = what == "plugin" or len(names) > 1
    whose = f"{'' if many else 'the '}{what}{'s' if many else ''} of {', '.join(names[:_MOST_NAMED])}{more}"
    hint = "keep the files in git, with their history, and set user.email there"
    message = f"nobody knows who {did} {whose}: any approver counts"
    yield Diagnostic("unknown-author", message, hint, "warning", owners[0])


def _doubt(doubt: Doubt) -> Diagnostic:
    approval, author = doubt
    name, user = approval.ref.name, approval.spec.user
    if author is None:
        code, hint = "unproven-approval", "keep it in git, or use `fleetform rollout approve`"
        message = f"approval {name} counts for {user}, though anybody could have written it: it is not in git"
    else:
        code = "foreign-approval"
        message = f"approval {name} does not count: its file is by {author or 'nobody that git knows'}, not by {user}"
        hint = f"let {user} commit it; Organization.spec.people joins the addresses and names of one person"
    return Diagnostic(code, message, hint, "warning", approval.ref, approval.at("spec", "user"))
