"""Judges one write: what `validate` would say of the fleet with it, as far as that is new and about it.

An object that was broken before blocks nobody, and neither does one that something else broke: only what is new with a
write refuses it. What only says that something is not there yet warns: objects come in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from fleetform.app.fleet import Fleet
from fleetform.model.kinds import API_VERSION, KINDS
from fleetform.model.objects import At, Object, Ref
from fleetform.model.results.diagnostics import Diagnostic, path_text
from fleetform.operator.admission.approvals import not_by_its_user, would_not_count
from fleetform.operator.admission.changes import Change
from fleetform.operator.admission.covered import covered_options
from fleetform.operator.admission.definitions import compared_with_known
from fleetform.operator.admission.deletions import deletion_warnings, generated_deletion
from fleetform.operator.admission.placing import read_object
from fleetform.operator.admission.reviews import Answer, Request
from fleetform.operator.generated import PERSONS_FIELDS, PRESET_LABEL, fleetforms_part, is_generated, made_by
from fleetform.syntax.addresses import without_logins

_GROUP = API_VERSION.partition("/")[0]
# They say that something is missing, which may be the next object that is applied: folders come in any order, and
# whoever applies one stops at the first refusal.
_MAY_COME = frozenset({"missing-reference", "missing-window"})
_MOST_ERRORS = 10
_SAMPLE = "it reaches more plugins than were looked at for this answer: `fleetform diff` shows all of them"


def judge(fleet: Fleet, request: Request, operator: str) -> Answer:
    """The answer to a request; operator is the user name of the operator, whose writes are its own affair."""
    kind = KINDS.get(request.kind.kind)
    if request.kind.group != _GROUP or request.sub_resource or kind is None or kind.written_by_fleetform:
        return Answer()
    if request.user_info.username == operator:
        return Answer()
    if request.operation == "DELETE":
        return _judge_deletion(fleet, request)
    manifest = request.object
    if manifest is None or "deletionTimestamp" in manifest["metadata"]:
        # Its finalizers are taken away: what it says no longer matters.
        return Answer()
    denied = _edit_of_generated(request)
    if denied:
        return Answer(allowed=False, message=denied, code=403)
    answer = _judge_content(fleet, request, manifest)
    if answer.of_others and not answer.allowed and request.dry_run:
        # Nothing is stored, and what comes before it in the same run is not there either: GitOps controllers try all
        # objects in this way before they apply the first.
        return Answer(warnings=[f"it would be refused as the fleet is now: {answer.message}", *answer.warnings])
    return answer


def _judge_deletion(fleet: Fleet, request: Request) -> Answer:
    old = request.old_object
    if old is not None and is_generated(old):
        return Answer(warnings=[generated_deletion(old)])
    # Where many are deleted at once, only the object has its name.
    name = old["metadata"]["name"] if old is not None else request.name
    return Answer(warnings=list(deletion_warnings(fleet, Ref(request.kind.kind, request.namespace, name))))


def _edit_of_generated(request: Request) -> str:
    """Why a Plugin must not be written: Fleetform makes it, and people own their two fields of it (R2-20, B4)."""
    new, old = request.object or {}, request.old_object or {}
    if not is_generated(new) and not is_generated(old):
        return ""
    if made_by(new) != made_by(old):
        return f"read-only: only Fleetform sets the label {PRESET_LABEL}, by which it knows the plugins that it makes"
    if fleetforms_part(new) == fleetforms_part(old):
        return ""
    preset = old["metadata"]["labels"][PRESET_LABEL]
    mine = " and ".join(PERSONS_FIELDS)
    return f"read-only: the preset {preset} makes this Plugin. Edit the preset, or only {mine} here"


def _judge_content(fleet: Fleet, request: Request, manifest: dict[str, Any]) -> Answer:
    before = read_object(request.old_object, fleet.state) if request.old_object is not None else None
    after = read_object(manifest, fleet.state)
    read_before = {(each.code, each.path, each.message) for each in before.diagnostics} if before is not None else set()
    reading = [each for each in after.diagnostics if (each.code, each.path, each.message) not in read_before]
    if after.object is None:
        return _answer(_Found(reading))
    if after.object.ref.kind == "Approval":
        # It never changes: whoever edits its labels gives no other approval.
        return _judge_approval(fleet, after.object, request, reading) if before is None else _answer(_Found(reading))
    change = Change(fleet, before, after.object)
    found = _findings(change) if not change.is_nothing else _Found([])
    answer = _answer(_Found([*reading, *found.own], found.elsewhere))
    if answer.warnings and change.is_sample:
        answer = answer._replace(warnings=[*answer.warnings, _SAMPLE])
    if answer.allowed:
        return answer
    return answer._replace(of_others=not reading and change.depends_on_others(_refusing(found)))


def _judge_approval(fleet: Fleet, approval: Object[Any], request: Request, reading: list[Diagnostic]) -> Answer:
    who = request.user_info
    if found := [*reading, *not_by_its_user(approval, who)]:
        return _answer(_Found(found))
    return _answer(_Found(would_not_count(fleet, approval, who)), of_others=True)


class _Found(NamedTuple):
    """What is new and about the object that is written, and what is new elsewhere."""

    own: list[Diagnostic]
    elsewhere: Sequence[Diagnostic] = ()


def _findings(change: Change) -> _Found:
    after = change.after
    own = change.new_in_itself()
    if after.ref.kind == "PluginDefinition":
        own += compared_with_known(after, change.was, change.fleet.index)
    if _refusing(_Found(own)):
        # What follows from it is told when it is mended (S64).
        return _Found(own)
    elsewhere = [*change.above_quota(), *change.lowered_for_others()]
    # A wrong value is told where it is written, and not again for the plugins that get it.
    known = {each.path for each in own if each.code == "wrong-type"}
    for each in change.new_in_decisions():
        if not change.concerns(each):
            elsewhere += [each] if each.severity == "error" else []
        elif each.code != "wrong-type" or each.path not in known:
            own.append(each)
    if after.ref.kind in ("Plugin", "PluginPreset"):
        own += covered_options(change.decided_before, change.decided_after, after.ref)
    return _Found(own, elsewhere)


def _refusing(found: _Found) -> list[Diagnostic]:
    """Errors of the object refuse it; of what follows elsewhere a quota does, which would be none otherwise."""
    errors = [each for each in found.own if each.severity == "error" and each.code not in _MAY_COME]
    return errors + [each for each in found.elsewhere if each.code == "above-quota"]


def _answer(found: _Found, of_others: bool = False) -> Answer:
    refusing = _refusing(found)
    about = [(each, _text(each)) for each in found.own if each.severity != "info"]
    about += [(each, f"{each.object}: {_text(each)}") for each in found.elsewhere]
    warnings = [text for each, text in about if each not in refusing]
    if not refusing:
        return Answer(warnings=warnings)
    denied = any(each.code in ("above-quota", "foreign-approval") for each in refusing)
    message = _listed(list(dict.fromkeys(text for each, text in about if each in refusing)))
    return Answer(False, message, 403 if denied else 422, warnings, of_others)


def _listed(texts: list[str]) -> str:
    if len(texts) == 1:
        return texts[0]
    more = [f"and {len(texts) - _MOST_ERRORS} more"] if len(texts) > _MOST_ERRORS else []
    return "\n".join(["", *(f"- {each}" for each in (*texts[:_MOST_ERRORS], *more))])


def _text(finding: Diagnostic) -> str:
    """What, where, and what to do, on one line."""
    places = [each for each in (finding.path, *_paths_beside(finding)) if each]
    where = f" ({places[0]}{''.join(f', also {each}' for each in places[1:])})" if places else ""
    hint = f": {finding.hint}" if finding.hint else ""
    return without_logins(f"{finding.code}: {finding.message}{where}{hint}")


def _paths_beside(finding: Diagnostic) -> list[str]:
    """The other places of a finding, as far as they are in the same object; of others its message has the names."""
    here = finding.at.origin if isinstance(finding.at, At) else None
    related = [each for each in finding.related if isinstance(each, At) and each.origin is here]
    return [path_text(each.path[len(each.origin.base) :]) for each in related]
