"""Rollout policies: stages that contradict each other, ask for more than is allowed, or can never be approved."""

from __future__ import annotations

from fleetform.engine.check.report import Report
from fleetform.engine.check.selectors import lint_selector
from fleetform.engine.check.times import lint_duration
from fleetform.engine.index.index import Index
from fleetform.engine.plan.policy import Ceilings, StageSelectors, compile_policy, too_long
from fleetform.engine.versions.lifecycle import lifecycle_in
from fleetform.model.kinds.base import People
from fleetform.model.kinds.fleet import OrganizationSpec
from fleetform.model.kinds.lifecycle import RolloutPolicySpec, Stage
from fleetform.model.objects import Path, Ref
from fleetform.syntax.times import duration_text


def lint_rollout(report: Report, spec: RolloutPolicySpec, known: Index, *path: str | int) -> None:
    """A policy, wherever it is written: as an object of its own, on a preset, on a group."""
    stages = spec.stages or []
    _lint_names(report, stages, path)
    for index, stage in enumerate(stages):
        place = (*path, "stages", index)
        if (stage.cluster_selector is None) == (not stage.remainder):
            message = f"the stage {stage.name} needs one of clusterSelector and remainder: true"
            report.error("exactly-one", message, "keep one of them", *place)
        lint_selector(report, stage.cluster_selector, known, *place, "clusterSelector")
        durations = {
            "minSuccessTime": stage.min_success_time,
            "deadline": stage.deadline,
            "waitBefore": stage.wait_before,
        }
        for field, text in durations.items():
            lint_duration(report, text, *place, field)
        _lint_approvals(report, stage, known, *place, "approvals")
    _lint_ceilings(report, spec, known, path)
    _lint_empty_stages(report, spec, known, path)


def _lint_names(report: Report, stages: list[Stage], path: Path) -> None:
    """Each stage has a name of its own, and one of them takes the remainder."""
    remainders = [index for index, stage in enumerate(stages) if stage.remainder]
    if len(remainders) > 1:
        related = (report.object.at(*path, "stages", remainders[0], "remainder"),)
        place = (*path, "stages", remainders[1], "remainder")
        report.error("duplicate-stage", "two stages take the remainder", "keep one of them", *place, related=related)
    seen: dict[str, int] = {}
    for index, stage in enumerate(stages):
        if stage.name in seen:
            related = (report.object.at(*path, "stages", seen[stage.name], "name"),)
            message = f"two stages are named {stage.name}"
            report.error("duplicate-stage", message, "rename one", *path, "stages", index, "name", related=related)
        seen.setdefault(stage.name, index)


def _lint_ceilings(report: Report, spec: RolloutPolicySpec, known: Index, path: Path) -> None:
    """A soak or wait above the ceiling is refused in folders; what already runs is clamped (R2-12, S48)."""
    allowed = lifecycle_in(known.snapshot, report.object.ref.organization)
    ceilings = Ceilings(allowed.max_soak, allowed.max_stage_wait)
    for index, field, ceiling in too_long(spec, ceilings):
        stage, most = (spec.stages or [])[index], duration_text(ceiling)
        asked = stage.min_success_time if field == "minSuccessTime" else stage.wait_before
        limit = "maxSoak" if field == "minSuccessTime" else "maxStageWait"
        message = f"the stage {stage.name} has {field} {asked}, and {limit} of the LifecyclePolicy allows {most}"
        report.error("above-ceiling", message, f"write at most {most}", *path, "stages", index, field)


def _lint_approvals(report: Report, stage: Stage, known: Index, *path: str | int) -> None:
    """As many people as are asked for must be able to approve. Nobody knows how many a group has."""
    asked = stage.approvals
    if asked is None:
        return
    organization = report.object.ref.organization
    owner = known.snapshot.organizations.get(Ref("Organization", organization, organization))
    defaults = owner.spec if owner is not None else OrganizationSpec()
    people = asked.from_ or defaults.approvers or People()
    if people.groups or not people.users:
        return
    names = _persons(people.users, defaults)
    if asked.required > len(names):
        who = "is one person" if len(names) == 1 else f"are {len(names)} people"
        message = f"the stage {stage.name} needs {asked.required} approvals, and {', '.join(people.users)} {who}"
        where = "the stage's from" if asked.from_ is not None else "the organization's approvers"
        hint = f"add people or a group to {where}, or require fewer"
        report.error("impossible-approval", message, hint, *path, "required")


def _persons(users: list[str], organization: OrganizationSpec) -> set[str]:
    """Who users are: several names of one person are one."""
    known = {subject: person.name for person in organization.people or [] for subject in person.subjects or []}
    return {known.get(user, user) for user in users}


def _lint_empty_stages(report: Report, spec: RolloutPolicySpec, known: Index, path: Path) -> None:
    """A stage that no cluster comes to, because nothing matches or because earlier stages have them all (R2-8)."""
    clusters = known.clusters.of(report.object.ref.organization)
    if not clusters:
        return
    _, selectors = compile_policy("", spec)
    taken = {selectors.stage_of(name, cluster.labels) for name, cluster in clusters.items()}
    for index, stage in enumerate(spec.stages or []):
        if stage.name in taken or stage.remainder or not _is_readable(selectors, stage.name):
            continue
        message = f"no cluster belongs to the stage {stage.name}: none matches, or earlier stages have them all"
        place = (*path, "stages", index, "clusterSelector")
        report.warn("nothing-selected", message, "fix its clusterSelector, or drop the stage", *place)


def _is_readable(selectors: StageSelectors, stage: str) -> bool:
    """A selector that cannot be read is reported as that."""
    return any(matchers for name, matchers in selectors.stages if name == stage)
