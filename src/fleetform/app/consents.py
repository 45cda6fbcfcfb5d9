"""What there is to say about consent to changes on their way: who made them, and who wrote approvals (S47)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fleetform.app.fleet import Fleet
from fleetform.engine.plan.records import OwnerPlan
from fleetform.engine.world.consent import Doubt, asks_for_others
from fleetform.model.results.diagnostics import Diagnostic

CONSENT_CODES = frozenset({"foreign-approval", "unproven-approval", "unknown-author"})
_MOST_NAMED = 3


def consent_findings(fleet: Fleet, owners: Iterable[OwnerPlan]) -> list[Diagnostic]:
    """Of the changes that owners wait for. Approvals of other changes are records, of which nothing is said."""
    found: list[Diagnostic] = []
    unknown: list[OwnerPlan] = []
    for owner in owners:
        rollout = owner.rollout
        if rollout is None or not rollout.is_open:
            continue
        waits = any(each.approvals_needed and each.finished is None for each in owner.stages)
        if waits and asks_for_others(rollout.policy) and not owner.change.authors:
            unknown.append(owner)
        consents = fleet.owner_changes.consents_of(rollout.owner.organization)
        doubts = consents.doubtful(rollout.name)
        found += [_doubt(each) for each in doubts if each.approval.spec.change_id == rollout.change_id]
    return [*_unknown(unknown), *found]


def written_consent_findings(fleet: Fleet) -> list[Diagnostic]:
    """Of approvals in manifests alone; without a state nobody knows which changes are on their way."""
    written = any(ref.kind == "Approval" for ref in fleet.snapshot.others)
    if not written or not fleet.state.plugins:
        return []
    return [each for each in consent_findings(fleet, fleet.plan.owners) if each.code != "unknown-author"]


def _unknown(owners: list[OwnerPlan]) -> Iterator[Diagnostic]:
    if not owners:
        return
    names = [each.change.owner.name for each in owners]
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    what = f"{'the change' if len(names) == 1 else 'changes'} of {', '.join(names[:_MOST_NAMED])}{more}"
    hint = "keep the files in git, with their history, and set user.email there"
    owner = owners[0].change.owner
    yield Diagnostic("unknown-author", f"nobody knows who made {what}: any approver counts", hint, "warning", owner)


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
