"""Small print of answers: what only shows in the second case, the second organization or the second time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Literal

import pytest
from msgspec import structs

from fleetform.app.answering.advice import in_commands
from fleetform.app.answering.simulated import Side, simulated
from fleetform.app.converting.ocm_to_native import NativeConfigs
from fleetform.app.errors import NoAnswerError, NotRenderedError
from fleetform.app.rendering.field_causes import Asked, trace
from fleetform.app.rendering.flux_delivery import place_of_secret
from fleetform.app.rendering.plugin_renders import PluginRender, odd_key_findings
from fleetform.app.rollout import Person, Rollouts
from fleetform.app.scope import Scope
from fleetform.app.support_ends import EndDates
from fleetform.app.telling.plans import _blocking
from fleetform.app.telling.rollouts import rollout_notices
from fleetform.app.why import why
from fleetform.engine.plan.records import Reason, Step
from fleetform.engine.plan.rollouts import Policy, Rollout
from fleetform.engine.plan.simulate import simulate
from fleetform.engine.world.stored import NOTHING_STORED
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import PluginKey
from fleetform.model.results.rendering import Rendered, RenderFailure, RenderInput
from fleetform.model.state import UNKNOWN, Trouble
from fleetform.syntax.times import parse_time
from support.fleets import BASE, DEFINITION, NOW, PRESET, fleet_of, fleet_with, plugin_on
from support.plane import PlainRenders
from support.worlds import Folder, definition, installed, manifest, policy

ACME = Scope("acme")
HOUR = timedelta(hours=1)
MAP = Asked("ConfigMap", None, "web", "/data/sum")


class Sums(PlainRenders):
    """Renders one ConfigMap that shows none of the values, and changes with each."""

    def render(self, inputs: Sequence[RenderInput]) -> list[Rendered | RenderFailure]:
        return [Rendered("r1:sum", (self._tree(each),)) for each in inputs]

    def _tree(self, input_: RenderInput) -> dict[str, object]:
        data = {"sum": str(sum(map(len, map(str, input_.variables.values()))))}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}, "data": data}


# ---- Waits


@pytest.mark.parametrize(("cluster", "also"), [("qa-1", ""), ("eu-1", "; also once the stages before it are done")])
def test_beside_a_window_that_never_opens_again_other_conditions_are_told(cluster: str, also: str) -> None:
    over = manifest("UpdateWindow", "over", "{type: Allow, from: 2026-01-01, to: 2026-01-02}")
    organization = "{defaultRolloutPolicy: standard, defaultUpdateWindows: [over]}"
    folder = installed()
    folder.edit(certs=definition("1.1.0"), over=over, organization=manifest("Organization", "acme", organization))
    folder.go()
    [item] = why(folder.fleet, Scope("acme", cluster)).items
    assert item.summary == f"waiting, never by itself: no window opens again, or a freeze has no end{also}"


@pytest.mark.parametrize(
    ("of", "told", "said"),
    [
        ("delivery", "no answer", "; it cannot be delivered"),
        ("removal", "no answer", "; its files cannot be removed"),
        ("health", None, ""),
    ],
)
def test_while_nothing_is_under_way_trouble_with_files_is_told_and_trouble_with_judging_is_not(
    of: Literal["delivery", "removal", "health"], told: str | None, said: str
) -> None:
    folder = installed()
    before = why(folder.fleet, Scope("acme", "eu-1")).items[0].summary
    folder.known = replace(folder.known, troubles={("acme", "eu-1", "certs-eu-1"): Trouble(of, "no answer", NOW)})
    [item] = why(folder.fleet, Scope("acme", "eu-1")).items
    assert (item.state, item.summary) == ("UpToDate", f"{before}{said}")
    assert (item.trouble.message if item.trouble is not None else None) == told


def test_what_keeps_a_plugin_from_being_judged_is_told_while_it_is_under_way() -> None:
    folder = installed()
    folder.edit(certs=definition("1.1.0"))
    assert folder.go() == ["qa-1"]
    folder.known = replace(folder.known, troubles={("acme", "qa-1", "certs-qa-1"): Trouble("health", "no answer", NOW)})
    [item] = why(folder.fleet, Scope("acme", "qa-1")).items
    assert item.state == "InFlight"
    assert item.trouble is not None
    assert item.trouble.message == "no answer"


# ---- Simulations


def test_a_simulation_of_a_time_before_shows_nothing_that_was_started_since() -> None:
    folder = installed()
    folder.edit(certs=definition("1.1.0"))
    assert folder.wait(HOUR) == ["qa-1"]
    world = folder.fleet.world

    def levels(start: timedelta) -> list[object]:
        played = structs.replace(simulate(world, folder.now), start=folder.now + start, events=())
        stages = simulated(played, world, Side("a", "b"), ()).stages
        return [(each.at, each.in_flight) for stage in stages for each in stage.levels]

    assert levels(timedelta()) == [(folder.now, 1)]
    assert levels(-HOUR / 2) == []


# ---- Renders


def test_keys_that_are_read_otherwise_are_told_once_for_each_version() -> None:
    fleet = fleet_with()
    rendered = [PluginRender(plugin_on(fleet, name), odd_keys=("y is true",)) for name in ("eu-1", "eu-2")]
    [finding] = odd_key_findings(rendered)
    assert (finding.code, finding.message, finding.object) == (
        "odd-key", "y is true", Ref("PluginDefinition", "acme", "web"),
    )  # fmt: skip


@pytest.mark.rule("S40")
def test_a_secret_in_a_variable_is_found_where_that_variable_is_written() -> None:
    plugin = plugin_on(fleet_with(preset=f"{PRESET}  substitute: {{PORT: '80', PASSWORD: hush}}\n"), "eu-1")
    owner = plugin.target.owner
    assert place_of_secret(plugin, "PASSWORD") == (owner.ref, owner.at("spec", "substitute", "PASSWORD"))
    assert place_of_secret(plugin, "PORT") == (owner.ref, owner.at("spec", "substitute", "PORT"))


def test_why_a_plugin_has_no_fields_is_told() -> None:
    required = DEFINITION.replace("{name: host, type: string}", "{name: host, type: string, required: true}")
    nothing = DEFINITION.replace("  source: {manifests: {path: ./manifests}}\n", "")
    for text, why_not in ((required, "host"), (nothing, "web has nothing to render")):
        fleet = fleet_with(definition=text)
        plugin = plugin_on(fleet, "eu-1")
        expected = plugin.gates[0].message if plugin.gates else why_not
        with pytest.raises(NotRenderedError) as caught:
            trace(fleet, plugin, Sums(), MAP)
        assert caught.value.message == f"web-eu-1 cannot be rendered: {expected}"
        assert why_not in expected


def test_as_many_as_200_values_are_tried_one_by_one_and_the_others_are_listed() -> None:
    names = [f"V{number:03}" for number in range(200)]
    values = ", ".join(f"{name}: a" for name in names)
    fleet = fleet_with(preset=f"{PRESET}  substitute: {{{values}}}\n")
    found = trace(fleet, plugin_on(fleet, "eu-1"), Sums(), MAP)
    assert [each.path for each in found.causes] == [*names[:199], "replicas"]
    assert found.untold == names[199:]


# ---- Other systems


@pytest.mark.parametrize(("length", "kept"), [(253, True), (254, False)])
def test_configs_keep_names_that_are_as_long_as_names_may_be(length: int, kept: bool) -> None:
    fleet = fleet_with()
    configs, owner = NativeConfigs(fleet), plugin_on(fleet, "eu-1").target.owner
    written = {"group": "", "resource": "configmaps", "name": "x" * length, "namespace": "acme"}
    assert (configs.reference(owner, written) == written) is kept
    assert (configs.copied == {}) is kept


# ---- What people are told


def test_a_rollout_that_stays_halted_is_told_once() -> None:
    preset = Ref("PluginPreset", "acme", "certs")
    going = Rollout("certs-1", preset, "c1:a", Policy(), NOW, phase="Progressing", started=NOW)
    halted = structs.replace(going, phase="Halted")
    queued = structs.replace(halted, queued="c1:b")
    stored = [NOTHING_STORED.with_rollout(each) for each in (going, halted, queued)]
    told = [rollout_notices(before, after, {}, NOW, in_commands) for before, after in pairwise(stored)]
    assert [len(each) for each in told] == [1, 0]


def test_what_blocks_many_clusters_alike_is_told_once() -> None:
    def blocked(cluster: str) -> tuple[Reason, list[Step]]:
        key: PluginKey = ("acme", cluster, f"web-{cluster}")
        reason = Reason("veto", f"{cluster} holds web-{cluster} back", "")
        return reason, [Step(key, "block", "Blocked", UNKNOWN)]

    [told] = _blocking([blocked("eu-1"), blocked("us-1")])
    assert told.message == "the cluster holds the plugin back"


# ---- Rollouts


def test_what_went_back_is_not_rolled_back_again() -> None:
    folder = installed(policy=policy("{name: all, remainder: true}"))
    folder.edit(certs=definition("1.1.0"))
    folder.finish()
    assert "rolls back on 3 clusters" in asked(folder)
    folder.go()
    folder.healthy("eu-1", "eu-2", "qa-1")
    folder.go()
    assert folder.state("eu-1").admitted == folder.state("eu-1").last_healthy
    with pytest.raises(NoAnswerError, match="has nothing to roll back"):
        asked(folder)


def asked(folder: Folder) -> str:
    answer = Rollouts(folder.fleet, ACME, Person("ann")).roll_back("certs")
    folder.known = answer.known
    return answer.message


# ---- Ends of support


def test_support_ends_by_ones_own_policy_and_the_platforms() -> None:
    def ends(organization: str, at: str) -> str:
        rule = f"{{support: [{{definition: web, ends: [{{version: 1.0.x, at: '{at}'}}]}}]}}"
        return manifest("LifecyclePolicy", "default", rule, organization=organization)

    def end_of(**policies: str) -> object:
        files = {f"{each}.yaml": ends(each.replace("_", "-"), at) for each, at in policies.items()}
        return EndDates(fleet_of({**BASE, **files})).end_of("acme", "web", "1.0.0")

    early, late = "2027-01-01T00:00:00Z", "2027-02-01T00:00:00Z"
    assert end_of(beta=early) is None
    assert end_of(beta=early, acme=late) == parse_time(late)
    assert end_of(fleetform_system=early, acme=late) == parse_time(early)
