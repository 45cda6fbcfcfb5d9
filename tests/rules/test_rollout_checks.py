"""What validate finds in rollout policies and update windows, through whole folders."""

from __future__ import annotations

from textwrap import indent

import pytest

from fleetform.app.fleet import Fleet
from fleetform.model.results.diagnostics import Diagnostic
from support.fleets import BASE, documents, fleet_with

HEAD = "apiVersion: fleetform.dev/v1alpha1\nkind: {}\nmetadata: {{name: {}, namespace: {}}}\nspec:\n"
DEV = "clusterSelector: {matchLabels: {tier: dev}}"


def thing(kind: str, name: str, spec: str, organization: str = "acme") -> str:
    return HEAD.format(kind, name, organization) + indent(spec, "  ") + "\n"


def policy(*stages: str, name: str = "standard") -> str:
    return thing("RolloutPolicy", name, "stages:\n" + "\n".join(f"- {{{each}}}" for each in stages))


def window(spec: str, name: str = "nights", type_: str = "Allow") -> str:
    return thing("UpdateWindow", name, f"{{type: {type_}, {spec}}}")


def lifecycle(spec: str, organization: str = "acme") -> str:
    return thing("LifecyclePolicy", "default", f"{{{spec}}}", organization)


def preset(more: str) -> str:
    return BASE["preset.yaml"] + f"  {more}\n"


def found(fleet: Fleet, severity: str = "error") -> list[tuple[str, str | None]]:
    return [(each.code, each.path) for each in fleet.findings.all if each.severity == severity]


def only(fleet: Fleet) -> Diagnostic:
    (one,) = fleet.findings.all
    assert one.hint
    return one


# ---- Ceilings


@pytest.mark.rule("R2-12", "S48")
@pytest.mark.parametrize(
    ("stage", "path"),
    [
        (f"name: qa, {DEV}, minSuccessTime: 8d", "spec.stages[0].minSuccessTime"),
        (f"name: qa, {DEV}, waitBefore: 72h", "spec.stages[0].waitBefore"),
        (f"name: qa, {DEV}, minSuccessTime: 7d, waitBefore: 2d", None),
    ],
)
def test_a_soak_or_wait_above_the_ceiling_is_an_error(stage: str, path: str | None) -> None:
    limits = documents(lifecycle("maxSoak: 14d, maxStageWait: 2d", "fleetform-system"), lifecycle("maxSoak: 7d"))
    fleet = fleet_with(policy=policy(stage, "name: rest, remainder: true"), limits=limits)
    assert found(fleet) == ([("above-ceiling", path)] if path else [])


@pytest.mark.rule("R2-12")
def test_the_ceiling_holds_for_policies_that_are_written_on_a_preset() -> None:
    inline = preset("rollout: {stages: [{name: all, remainder: true, minSuccessTime: 30d}]}")
    one = only(fleet_with(preset=inline, limits=lifecycle("maxSoak: 14d")))
    assert (one.code, one.path, one.hint) == (
        "above-ceiling",
        "spec.rollout.stages[0].minSuccessTime",
        "write at most 14d",
    )


@pytest.mark.rule("R2-12")
def test_a_duration_of_more_than_a_hundred_years_is_none() -> None:
    stages = policy("name: all, remainder: true, minSuccessTime: 99999999999d, deadline: 3000000d")
    paths = ["spec.stages[0].minSuccessTime", "spec.stages[0].deadline"]
    assert sorted(found(fleet_with(policy=stages))) == sorted(("bad-value", each) for each in paths)
    assert found(fleet_with(limits=lifecycle("unreachableAfter: 3000000d"))) == [("bad-value", "spec.unreachableAfter")]


# ---- Stages


@pytest.mark.rule("R2-8")
def test_clusters_that_no_stage_selects_are_named() -> None:
    fleet = fleet_with(policy=policy(f"name: qa, {DEV}"), preset=preset("rolloutPolicy: standard"))
    one = only(fleet)
    assert (one.code, one.severity, one.path) == ("unstaged-cluster", "error", "spec.stages")
    assert "eu-1, us-1" in one.message
    assert "eu-2" not in one.message


@pytest.mark.rule("R2-8")
def test_leftovers_of_an_organizations_default_policy_and_of_one_on_a_preset_are_found() -> None:
    default = thing("Organization", "acme", "{defaultRolloutPolicy: standard}")
    fleet = fleet_with(policy=policy(f"name: qa, {DEV}"), organization=default)
    assert found(fleet) == [("unstaged-cluster", "spec.stages")]
    inline = fleet_with(preset=preset(f"rollout: {{stages: [{{name: qa, {DEV}}}]}}"), organization=default)
    assert ("unstaged-cluster", "spec.rollout.stages") in found(inline)


@pytest.mark.rule("R2-8")
@pytest.mark.parametrize(
    ("stages", "used"),
    [
        ([f"name: qa, {DEV}", "name: rest, remainder: true"], "rolloutPolicy: standard"),
        ([f"name: qa, {DEV}"], "deletionPolicy: Retain"),
        ([f"name: qa, {DEV}"], "rollout: External"),
    ],
)
def test_nobody_is_left_over_where_a_stage_takes_the_rest_or_nobody_uses_the_policy(
    stages: list[str], used: str
) -> None:
    assert found(fleet_with(policy=policy(*stages), preset=preset(used))) == []


@pytest.mark.rule("R2-8")
@pytest.mark.parametrize("selector", ["{matchLabels: {tier: platinum}}", "{clusterNames: [eu-2]}"])
def test_a_stage_that_no_cluster_comes_to_warns(selector: str) -> None:
    stages = (f"name: qa, {DEV}", f"name: top, clusterSelector: {selector}", "name: rest, remainder: true")
    fleet = fleet_with(policy=policy(*stages))
    assert found(fleet, "warning") == [("nothing-selected", "spec.stages[1].clusterSelector")]


@pytest.mark.rule("S30")
def test_two_stages_that_take_the_remainder_are_refused() -> None:
    stages = ("name: a, remainder: true", "name: b, remainder: true")
    assert found(fleet_with(policy=policy(*stages))) == [("duplicate-stage", "spec.stages[1].remainder")]


# ---- Approvals

PEOPLE = "people: [{name: Dana, subjects: [dana, release-manager]}, {name: Tom, subjects: [tom]}]"


@pytest.mark.rule("R2-32")
@pytest.mark.parametrize(
    ("asked", "possible"),
    [
        ("required: 2, from: {users: [dana, tom]}", True),
        ("required: 3, from: {users: [dana, tom]}", False),
        ("required: 2, from: {users: [dana, release-manager]}", False),
        ("required: 9, from: {users: [dana], groups: [sre]}", True),
        ("required: 2", False),
        ("required: 1", True),
    ],
)
def test_more_approvals_than_people_who_may_give_one_are_an_error(asked: str, possible: bool) -> None:
    organization = thing("Organization", "acme", f"{{approvers: {{users: [tom]}}, {PEOPLE}}}")
    stages = policy(f"name: all, remainder: true, approvals: {{{asked}}}")
    errors = found(fleet_with(policy=stages, organization=organization))
    assert errors == ([] if possible else [("impossible-approval", "spec.stages[0].approvals.required")])


# ---- Windows


@pytest.mark.rule("R2-30")
@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ("schedule: '0 22 * *', duration: 1h", "spec.schedule"),
        ("schedule: '0 22 30 2 *', duration: 1h", "spec.schedule"),
        ("schedule: '0 25 * * *', duration: 1h", "spec.schedule"),
        ("schedule: '0 22 * * *', duration: 1h, timeZone: Europe/Atlantis", "spec.timeZone"),
        ("schedule: '0 22 * * *', duration: 99999999999d", "spec.duration"),
        ("from: 2026-12-02, to: 2026-12-01", "spec.to"),
        ("from: 2026-12-01, to: 2026-12-01", "spec.to"),
    ],
)
@pytest.mark.parametrize("type_", ["Allow", "HardFreeze"])
def test_what_cannot_be_read_of_a_window_is_an_error_at_its_field(spec: str, path: str, type_: str) -> None:
    assert found(fleet_with(window=window(spec, type_=type_))) == [("bad-value", path)]


@pytest.mark.rule("R2-29")
@pytest.mark.parametrize(
    ("spec", "code", "path"),
    [
        ("schedule: '0 22 1 * *', duration: 4h", "rare-window", "spec.schedule"),
        ("from: 2026-12-01, to: 2026-12-02", "rare-window", "spec.to"),
        ("from: 2026-10-01, to: 2026-10-02", "never-opens", "spec.to"),
        ("schedule: '0 22 * * SUN', duration: 4h", None, None),
        ("days: [Mon], start: '22:00', duration: 4h", None, None),
    ],
)
def test_a_window_that_opens_too_seldom_or_never_warns(spec: str, code: str | None, path: str | None) -> None:
    expected = [] if code is None else [(code, path)]
    assert found(fleet_with(window=window(spec)), "warning") == expected
    # A freeze that is over, or seldom, is as it should be.
    assert found(fleet_with(window=window(spec, type_="SoftFreeze")), "warning") == []


@pytest.mark.rule("R2-29")
def test_a_window_whose_end_that_is_kept_free_is_all_of_it_is_an_error() -> None:
    short = window("schedule: '0 22 * * *', duration: 30m, noStartInLast: 30m")
    assert found(fleet_with(window=short)) == [("never-opens", "spec.duration")]


@pytest.mark.rule("R2-29")
@pytest.mark.parametrize(
    ("named", "scope", "missing"),
    [
        ("updateWindows: [nights]", "", None),
        ("updateWindows: [nights]", ", clusterSelector: {matchLabels: {region: eu}}", "spec.updateWindows"),
        ("updateWindows: [nights]", ", pluginDefinitionNames: [web]", None),
        ("updateWindows: []", "", "spec.updateWindows"),
        ("deletionPolicy: Retain", "", "spec"),
        ("rollout: External", "", None),
    ],
)
def test_where_windows_are_mandatory_one_must_reach_each_plugin(named: str, scope: str, missing: str | None) -> None:
    nights = window(f"schedule: '0 22 * * *', duration: 4h{scope}")
    fleet = fleet_with(window=nights, preset=preset(named), limits=lifecycle("requireUpdateWindow: true"))
    assert found(fleet) == ([("missing-window", missing)] if missing else [])
    relaxed = fleet_with(window=nights, preset=preset(named), limits=lifecycle("requireUpdateWindow: false"))
    assert found(relaxed) == []


@pytest.mark.rule("R2-29")
def test_an_organizations_default_window_satisfies_what_the_platform_requires() -> None:
    nights, required = window("schedule: '0 22 * * *', duration: 4h"), "requireUpdateWindow: true"
    default = thing("Organization", "acme", "{defaultUpdateWindows: [nights]}")
    limits = lifecycle(required, "fleetform-system")
    assert found(fleet_with(window=nights, limits=limits, organization=default)) == []
    one = only(fleet_with(window=nights, limits=limits))
    assert one.code == "missing-window"
    assert "eu-1, eu-2, us-1" in one.message


# ---- Names


@pytest.mark.rule("R2-8", "R2-29")
@pytest.mark.parametrize(
    ("named", "path"),
    [
        ("rolloutPolicy: standrad", "spec.rolloutPolicy"),
        ("updateWindows: [nihgts]", "spec.updateWindows[0]"),
    ],
)
def test_a_policy_or_window_that_does_not_exist_is_an_error_with_the_nearest_name(named: str, path: str) -> None:
    there = {"policy": policy("name: all, remainder: true"), "window": window("schedule: '@daily', duration: 4h")}
    one = only(fleet_with(**there, preset=preset(named)))
    assert (one.code, one.severity, one.path) == ("missing-reference", "error", path)
    assert one.hint.startswith("did you mean ")
    organization = thing("Organization", "acme", "{defaultRolloutPolicy: standrad, defaultUpdateWindows: [nihgts]}")
    paths = ["spec.defaultRolloutPolicy", "spec.defaultUpdateWindows[0]"]
    assert found(fleet_with(**there, organization=organization)) == [("missing-reference", each) for each in paths]


@pytest.mark.rule("B13")
def test_naming_a_freeze_opens_nothing() -> None:
    freeze = window("from: 2026-12-01, to: 2026-12-02", "xmas", "HardFreeze")
    one = only(fleet_with(window=freeze, preset=preset("updateWindows: [xmas]")))
    assert (one.code, one.severity, one.path) == ("no-effect", "warning", "spec.updateWindows[0]")


@pytest.mark.rule("R2-8")
def test_a_group_that_moves_by_itself_is_held_to_its_own_stages() -> None:
    groups = "groups: [{name: gold, clusterSelector: {matchLabels: {tier: gold}}, rollout: {stages: [%s]}}]"
    whole = preset("rolloutPolicy: standard\n  " + groups % "{name: all, remainder: true}")
    assert found(fleet_with(policy=policy(f"name: qa, {DEV}"), preset=whole)) == []
    one = preset("rolloutPolicy: standard\n  " + groups % "{name: eu, clusterSelector: {matchLabels: {region: eu}}}")
    fleet = fleet_with(policy=policy(f"name: qa, {DEV}"), preset=one)
    assert found(fleet) == [("unstaged-cluster", "spec.groups[0].rollout.stages")]
    assert "us-1" in only(fleet).message


# ---- Quotas


def test_more_plugins_than_an_organizations_quota_are_an_error() -> None:
    def fleet(most: int) -> Fleet:
        return fleet_with(organization=thing("Organization", "acme", f"{{quota: {{plugins: {most}}}}}"))

    assert found(fleet(2)) == [("above-quota", "spec.quota.plugins")]
    assert found(fleet(3)) == []
