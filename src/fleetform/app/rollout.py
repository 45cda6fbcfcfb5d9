"""rollout: what people ask of changes on their way. Each is a change of what is stored; the next plan does the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from msgspec import structs

from fleetform.app.errors import DeniedError, NoAnswerError, NotFoundError
from fleetform.app.fleet import Fleet
from fleetform.app.listing.list_rollouts import rollout_answer, rollout_answers, rollouts_of
from fleetform.app.scope import Scope
from fleetform.engine.plan.failure import is_from
from fleetform.engine.plan.gates.approval import people
from fleetform.engine.plan.gates.deletes import STAGE as DELETES
from fleetform.engine.plan.records import Approval, Emergency, OwnerPlan
from fleetform.engine.plan.requests import abort, pause, resume, retry, roll_back
from fleetform.engine.plan.rollouts import Rollout
from fleetform.engine.plan.stages import ApprovalRule
from fleetform.engine.world.consent import Persons, organization_of
from fleetform.engine.world.stored import OwnerRequest
from fleetform.model.answers.planning import RolloutAnswer
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import PluginKey
from fleetform.model.shape import did_you_mean, what_there_is
from fleetform.model.state import UNKNOWN, PluginState
from fleetform.ports.state import KnownState
from fleetform.syntax.times import clock_text


@dataclass(frozen=True)
class Person:
    """Who asks, and why. also are other names that are proved to be the same person's."""

    user: str
    groups: frozenset[str] = frozenset()
    reason: str = ""
    also: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        return self.also[0] if self.also else self.user

    @property
    def note(self) -> str:
        return f"{self.shown}: {self.reason}" if self.reason else self.shown


@dataclass(frozen=True)
class Asked:
    """What was asked: what is stored after it, what that means in a sentence, and the rollout as it stands then."""

    known: KnownState
    message: str
    rollout: RolloutAnswer | None


def _anybody(_: str) -> None:
    """Where whoever asks may do everything: on one's own files."""


class Rollouts:
    """Requests to the rollouts of one fleet. must raises if the person may not ask that of an organization's."""

    def __init__(self, fleet: Fleet, scope: Scope, person: Person, must: Callable[[str], None] = _anybody) -> None:
        self._fleet, self._scope, self._person, self._must = fleet, scope, person, must
        self._now: datetime = fleet.plan.at

    def all(self) -> list[RolloutAnswer]:
        return rollout_answers(self._fleet, self._scope)

    def status(self, name: str) -> RolloutAnswer:
        """A rollout by its name, or the last one of a preset."""
        owner, rollout = self._find(name)
        return rollout_answer(self._fleet, owner, rollout)

    # ---- Requests

    def pause(self, name: str) -> Asked:
        owner, rollout = self._running(name)
        return self._stored(
            owner, pause(rollout), f"{rollout.name} is paused: nothing new starts, what is in flight ends"
        )

    def resume(self, name: str) -> Asked:
        owner, rollout = self._running(name)
        if not rollout.paused:
            raise NoAnswerError(f"{rollout.name} is not paused", "see `fleetform rollout status`")
        return self._stored(owner, resume(rollout), f"{rollout.name} goes on")

    def abort(self, name: str) -> Asked:
        owner, rollout = self._running(name)
        message = f"{rollout.name} is aborted: started clusters stay as they are, it starts again only by retry"
        return self._stored(owner, abort(rollout, self._now), message)

    def roll_back(self, name: str, to: str | None = None) -> Asked:
        owner, rollout = self._find(name)
        last = list(rollouts_of(self._fleet, owner))[-1]
        if last.name != rollout.name:
            raise DeniedError(f"{rollout.name} is not the last rollout of {rollout.owner.name}", f"{last.name} is")
        members = self._members(rollout)
        started = [each.enrolment for each in members if each.enrolment is not None and is_from(rollout, each)]
        started = [place for place in started if place.before is not None]
        if rollout.started is None or not started:
            raise NoAnswerError(f"{rollout.name} has nothing to roll back: no cluster has what it brought")
        if any(place.irreversible for place in started):
            hint = "publish a higher version that fixes it"
            raise DeniedError(f"{rollout.name} leads over a version that is irreversible", hint)
        before = {place.before.version for place in started if place.before is not None}
        if to is not None and before != {to}:
            runs = ", ".join(sorted(str(each) for each in before))
            hint = f"pin {to} in {rollout.owner.name} to go there by a new change"
            raise DeniedError(f"{rollout.name} rolls back to {runs}, not to {to}", hint)
        message = f"{rollout.name} rolls back on {len(started):,} cluster{'' if len(started) == 1 else 's'}"
        return self._stored(owner, roll_back(rollout), message)

    def retry(self, name: str) -> Asked:
        """What was rejected may start again, and what failed is tried again (B10, B34)."""
        owner, rollout = self._find(name)
        states = self._fleet.plan.world.states
        again, changed = retry(rollout, [(step.key, states.get(step.key, UNKNOWN)) for step in owner.steps])
        known = self._fleet.state
        stored = known.rollouts
        for each in rollouts_of(self._fleet, owner):
            # All of the owner's: while a version is rejected, what its owner wants is another change by name.
            if each.name != rollout.name and each.rejected:
                stored = stored.with_rollout(structs.replace(each, rejected=False))
        refused = [each for each in known.rejected if each.owner != rollout.owner]
        freed = rollout.rejected or len(refused) < len(known.rejected)
        if not freed and not changed:
            raise NoAnswerError(f"nothing of {rollout.owner.name} was rejected or has failed", "see `fleetform why`")
        plugins = {ref: dict(each) for ref, each in known.plugins.items()}
        for (organization, cluster, plugin), state in changed:
            plugins[Ref("Cluster", organization, cluster)][plugin] = state
        known = replace(known, rollouts=stored, rejected=tuple(refused), plugins=plugins)
        return self._stored(owner, again, f"{rollout.owner.name} is tried again", known)

    def approve(self, name: str, stage: str, change: str | None = None) -> Asked:
        """A person agrees to a stage of a change, as it is now and by the policy that is in force (B26)."""
        if stage == DELETES:
            return self._approve_deletes(name, change)
        owner, rollout = self._running(name)
        rules = {each.name: each.approvals for each in rollout.policy.stages}
        if stage not in rules:
            hint = did_you_mean(stage, rules, what_there_is(list(rules)))
            raise NotFoundError(f"{rollout.name} has no stage {stage}", hint)
        rule = rules[stage]
        if rule is None:
            raise NoAnswerError(f"stage {stage} asks for no approval", _asking(rules))
        if change is not None and change != rollout.change_id:
            hint = f"look at it again: it is {rollout.change_id} now"
            raise DeniedError(f"{change} is not the change that {rollout.name} brings", hint)
        authors = owner.change.authors
        bound = (rollout.name, stage, rollout.change_id, rollout.policy.digest)
        consent = self._consent(bound)
        given = people(owner.change.approvals, bound, rule, authors)
        self._must_count(consent, bound, rule, authors, owner.change.owner.organization)
        have = len(given | {self._name(owner.change.owner.organization)})
        known = self._fleet.state
        approvals = (*known.rollouts.approvals, consent)
        known = replace(known, rollouts=structs.replace(known.rollouts, approvals=approvals))
        message = f"{self._person.shown} approved stage {stage} of {rollout.name}: {have} of {rule.required}"
        return Asked(known, message, self._after(known, rollout.name))

    def _approve_deletes(self, name: str, change: str | None) -> Asked:
        """A person agrees that plugins are deleted: those that somebody else removed."""
        removals = [each for each in self._fleet.plan.world.removals if self._scope.holds(each.owner)]
        found = [each for each in removals if each.rollout == name and not each.retain]
        if not found:
            raise NotFoundError(f"nothing of {name} waits to be deleted", "see `fleetform plan`")
        removal, organization = found[0], found[0].key[0]
        if any(each.key[0] != organization for each in found):
            raise NoAnswerError(f"several organizations have a {name}", "name the organization with -n")
        self._must(organization)
        if change is not None and change != removal.change_id:
            hint = f"look at it again: it is {removal.change_id} now"
            raise DeniedError(f"{change} is not the change that {name} brings", hint)
        rule = self._fleet.plan.world.limits_of(organization).deletes_approval
        bound = (name, DELETES, removal.change_id, removal.policy)
        consent = structs.replace(self._consent(bound), organization=organization)
        names, shown = {self._name(organization), *self._person.also}, self._person.shown
        others = [each for each in found if not (rule.not_author and names & each.authors)]
        self._must_count(consent, bound, rule, (others or found)[0].authors, organization)
        known = self._fleet.state
        approvals = (*known.rollouts.approvals, consent)
        known = replace(known, rollouts=structs.replace(known.rollouts, approvals=approvals))
        count = f"{len(others):,} plugin{'s are' if len(others) != 1 else ' is'} deleted"
        left = f"; {len(found) - len(others):,} that {shown} removed wait for somebody else" if others != found else ""
        return Asked(known, f"{shown} approved that {count}{left}", None)

    def start(self, preset: str, emergency: bool, supersede: bool, lasts: timedelta) -> Asked:
        """Declares an emergency, or lets the change that waits replace the one that runs. Else changes start alone."""
        owner = self._owner(preset)
        ref = owner.change.owner
        known = self._fleet.state
        request = known.rollouts.requests.get(ref, OwnerRequest())
        if not emergency and not supersede:
            raise NoAnswerError(
                f"changes of {preset} start by themselves once their gates open",
                "`fleetform why --state-is '!UpToDate'` says what holds them; --emergency or --supersede changes that",
            )
        said = []
        if supersede:
            request = structs.replace(request, supersede=owner.change.change_id)
            said.append(f"the newest change of {preset} replaces the rollout that runs")
        if emergency:
            request = structs.replace(request, emergency=self._emergency(owner, request.emergency, lasts))
            declared = request.emergency
            assert declared is not None
            agreed = len(declared.approved_by - owner.change.authors)
            need = self._fleet.plan.world.limits_of(ref.organization).emergency_approvals
            ends = clock_text(declared.expires, self._now)
            said.append(f"an emergency for {preset} until {ends}: {agreed} of {need} people agree")
        stored = structs.replace(known.rollouts, requests={**known.rollouts.requests, ref: request})
        known = replace(known, rollouts=stored)
        return Asked(known, "; ".join(said), self._after(known, preset))

    def _emergency(self, owner: OwnerPlan, asked: Emergency | None, lasts: timedelta) -> Emergency:
        """One that somebody declared already gets one more consent; else it is declared anew."""
        # By the name that the change's author has, if this is the author: that one does not count.
        of_author = [each for each in self._person.also if each in owner.change.authors]
        agreeing = next(iter(of_author), self._name(owner.change.owner.organization))
        if asked is not None and asked.expires > self._now:
            return structs.replace(asked, approved_by=asked.approved_by | {agreeing})
        if not self._person.reason:
            raise NoAnswerError("an emergency needs a reason", "give --reason")
        return Emergency(self._person.reason, self._now + lasts, frozenset({agreeing}))

    # ---- What they have in common

    def _find(self, name: str) -> tuple[OwnerPlan, Rollout]:
        """A rollout by its name, or the last one of an owner."""
        owners = [each for each in self._fleet.plan.owners if self._scope.holds(each.change.owner)]
        named = [(owner, each) for owner in owners for each in rollouts_of(self._fleet, owner) if each.name == name]
        of_owner = [
            (owner, list(rollouts_of(self._fleet, owner))[-1:]) for owner in owners if name == owner.change.owner.name
        ]
        found = named or [(owner, each) for owner, last in of_owner for each in last]
        if len(found) == 1:
            self._must(found[0][0].change.owner.organization)
            return found[0]
        if found:
            raise NoAnswerError(f"{len(found)} rollouts are named {name}", "name the organization with -n")
        if of_owner:
            raise NotFoundError(f"{name} has no rollout: all that it wants is there", "see `fleetform plan`")
        known = [each.name for owner in owners for each in rollouts_of(self._fleet, owner)]
        known += [each.change.owner.name for each in owners]
        raise NotFoundError(f"there is no rollout {name}", did_you_mean(name, known, "see `fleetform rollout list`"))

    def _owner(self, preset: str) -> OwnerPlan:
        owners = [each for each in self._fleet.plan.owners if self._scope.holds(each.change.owner)]
        found = [each for each in owners if each.change.owner.name == preset]
        if len(found) == 1:
            self._must(found[0].change.owner.organization)
            return found[0]
        if found:
            raise NoAnswerError(f"{len(found)} presets are named {preset}", "name the organization with -n")
        names = sorted({each.change.owner.name for each in owners})
        hint = did_you_mean(preset, names, what_there_is(names))
        raise NotFoundError(f"there is no preset {preset} with plugins", hint)

    def _running(self, name: str) -> tuple[OwnerPlan, Rollout]:
        owner, rollout = self._find(name)
        if not rollout.is_open:
            ended = f"it ended {clock_text(rollout.ended, self._now)}" if rollout.ended is not None else "it is over"
            raise NoAnswerError(
                f"{rollout.name} does not run: {rollout.phase}, {ended}", "see `fleetform rollout list`"
            )
        return owner, rollout

    def _members(self, rollout: Rollout) -> list[PluginState]:
        states: Iterable[tuple[PluginKey, PluginState]] = self._fleet.plan.world.states.items()
        return [
            state
            for key, state in states
            if key[0] == rollout.owner.organization
            and state.enrolment is not None
            and state.enrolment.rollout == rollout.name
            and state.attempt is not None
            and state.attempt.rollout == rollout.name
        ]

    def _stored(self, owner: OwnerPlan, rollout: Rollout, message: str, known: KnownState | None = None) -> Asked:
        """A rollout as somebody asked for it. What the plan alone would do to it is left to the next one."""
        known = known or self._fleet.state
        before = next(
            (each for each in known.rollouts.rollouts.get(rollout.owner, ()) if each.name == rollout.name), None
        )
        kept = structs.replace(
            before if before is not None else _not_started(rollout),
            paused=rollout.paused,
            rejected=rollout.rejected,
            note=self._person.note,
        )
        if rollout.phase in ("Aborted", "RollingBack"):
            kept = structs.replace(kept, phase=rollout.phase, ended=rollout.ended)
        known = replace(known, rollouts=known.rollouts.with_rollout(kept))
        return Asked(known, message, self._after(known, rollout.name))

    def _after(self, known: KnownState, name: str) -> RolloutAnswer | None:
        """The rollout once that is stored."""
        snapshot = replace(self._fleet.snapshot, states=known.plugins)
        later = Rollouts(replace(self._fleet, state=known, snapshot=snapshot), self._scope, self._person)
        try:
            return later.status(name)
        except NoAnswerError:
            return None

    def _persons(self, organization: str) -> Persons:
        return Persons(organization_of(self._fleet.snapshot, organization))

    def _name(self, organization: str) -> str:
        """The person as an organization calls it."""
        return self._persons(organization).name(self._person.user, *self._person.also)

    def _consent(self, bound: tuple[str, str, str, str]) -> Approval:
        rollout, stage, change, policy = bound
        owner = next((each.change.owner for each in self._fleet.plan.owners if _names(each, rollout)), None)
        organization = owner.organization if owner is not None else ""
        person = self._person
        return Approval(
            rollout,
            stage,
            change,
            policy,
            person.user,
            person.groups,
            organization,
            person.reason,
            self._now,
            person.also,
        )

    def _must_count(
        self,
        consent: Approval,
        bound: tuple[str, str, str, str],
        rule: ApprovalRule,
        authors: frozenset[str],
        organization: str,
    ) -> None:
        """An approval that would not count is refused, not stored."""
        known = structs.replace(consent, user=self._name(organization))
        if people((known,), bound, rule, authors):
            return
        shown = self._person.shown
        if rule.not_author and authors & {known.user, *known.also}:
            raise DeniedError(f"{shown} made this change and cannot approve it", "ask somebody else")
        users = [*sorted(rule.users), *(f"group {each}" for each in sorted(rule.groups))]
        raise DeniedError(f"{shown} may not approve stage {consent.stage}", f"these may: {', '.join(users)}")


def _names(owner: OwnerPlan, rollout: str) -> bool:
    return any(each is not None and each.name == rollout for each in (owner.rollout, owner.change.rollout))


def _not_started(rollout: Rollout) -> Rollout:
    """A rollout that nobody has stored yet is stored before its first start."""
    stages = tuple(structs.replace(each, total=0, started=None, done=None) for each in rollout.stages)
    return structs.replace(rollout, stages=stages, started=None, phase="Pending", ended=None)


def _asking(rules: dict[str, ApprovalRule | None]) -> str:
    asking = [name for name, rule in rules.items() if rule is not None]
    return f"these do: {', '.join(asking)}" if asking else "no stage does"
