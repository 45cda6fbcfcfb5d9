"""The objects of plugins, each distinct input rendered once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import msgspec
from msgspec import structs

from fleetform.app.fleet import Fleet
from fleetform.app.rendering.flux_delivery import ThroughFlux, place_of_secret, travels
from fleetform.engine.configs.items import addon_template
from fleetform.model.answers.base import JsonMap
from fleetform.model.kinds.definition import Patch
from fleetform.model.objects import At, Object
from fleetform.model.results.decisions import Gate, PluginDecision, Revision, Target
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.model.results.rendering import NO_TRANSFORMATION, Rendered, RenderInput, Transformation
from fleetform.ports.rendering import Renders


class PluginRender(NamedTuple):
    """What became of a plugin: its objects, or what keeps it from having any.

    unavailable says that a tool or a source is missing here. unsteady: what is rendered differs from time to time.
    input is what was rendered, if a render was asked for.
    """

    plugin: PluginDecision
    objects: Sequence[JsonMap] = ()
    blocked: tuple[Gate, ...] = ()
    unavailable: bool = False
    unsteady: bool = False
    key: str | None = None
    transformation: Transformation = NO_TRANSFORMATION
    odd_keys: tuple[str, ...] = ()
    input: RenderInput | None = None


_FAILURES = ("render-failed", "plain-secret")
# Without what these ask for there is nothing to render; all others keep a plugin from being installed only.
_INCOMPLETE = frozenset({"required-option", "value-type", "config-missing", "version", "downstream", "dependency"})


def render_plugins(
    fleet: Fleet,
    plugins: Iterable[PluginDecision],
    renders: Renders,
    to_folder: bool = False,
    despite_gates: bool = False,
    transforming: bool = True,
    by_reference: Callable[[PluginDecision], bool] = lambda plugin: False,
) -> list[PluginRender]:
    """Every plugin rendered, in order. to_folder: a secret that would be written there in plain text is refused (S40);
    of plugins by_reference only what is not kept in a Secret: the others are filled in where they are applied (S5).

    despite_gates: also what may not be installed yet, as long as nothing of it is missing. Without transforming,
    transforms and patches are left out.
    """
    answers: dict[int, PluginRender] = {}
    waiting: list[tuple[int, PluginDecision, RenderInput]] = []
    through_flux = ThroughFlux(fleet)
    for index, plugin in enumerate(plugins):
        gates = (*plugin.gates, *plugin.waits)
        stopping = tuple(each for each in gates if not despite_gates or each.gate in _INCOMPLETE)
        secrets: list[str] = []
        if to_folder:
            inputs_ = fleet.inputs
            secrets = inputs_.plain_secrets(plugin) if by_reference(plugin) else inputs_.holds_secrets(plugin)
        found = _without_renderer(fleet, through_flux, plugin, stopping, secrets)
        if isinstance(found, PluginRender):
            answers[index] = found
        else:
            waiting.append((index, plugin, found))
    inputs = [input_ for _, _, input_ in waiting]
    if not transforming:
        inputs = [structs.replace(each, transforms=(), patches=()) for each in inputs]
    rendered = renders.render(inputs)
    for (index, plugin, input_), result in zip(waiting, rendered, strict=True):
        if isinstance(result, Rendered):
            answers[index] = PluginRender(
                plugin,
                result.objects,
                unsteady=result.unsteady,
                key=result.key,
                transformation=result.transformation,
                odd_keys=result.odd_keys,
                input=input_,
            )
            continue
        revision, hint = plugin.target.revision, result.hint
        assert revision is not None
        if not result.unavailable and fleet.inputs.holds_secrets(plugin):
            hint += "; secrets are placeholders here, and a check of their values may fail for that reason alone"
        template = addon_template(plugin.configs) if revision.object.spec.source is None else None
        at = revision.object.at("spec", "source") if template is None else template.at
        gate = Gate("render-failed", result.message, hint, ref=revision.object.ref, at=at)
        answers[index] = PluginRender(plugin, blocked=(gate,), unavailable=result.unavailable)
    return [answers[index] for index in sorted(answers)]


def _without_renderer(
    fleet: Fleet, through_flux: ThroughFlux, plugin: PluginDecision, blocked: tuple[Gate, ...], secrets: list[str]
) -> PluginRender | RenderInput:
    """What is known at once, or what is to be rendered."""
    delivery = fleet.inputs.delivery(plugin)
    flux = delivery.flux if delivery is not None else None
    if blocked and not (flux is not None and travels(plugin)):
        return PluginRender(plugin, blocked=blocked)
    if flux is not None:
        objects = through_flux.objects(plugin, flux)
        return PluginRender(plugin, blocked=(objects,)) if isinstance(objects, Gate) else PluginRender(plugin, objects)
    if secrets:
        message = (
            f"{', '.join(secrets[:4])}{' and more' if len(secrets) > 4 else ''} would be written there in plain text"
        )
        do = "give it the name of a Secret instead, or deliver this plugin through Flux, which takes references"
        ref, at = place_of_secret(plugin, secrets[0])
        return PluginRender(plugin, blocked=(Gate("plain-secret", message, do, ref=ref, at=at),))
    input_ = fleet.render_input(plugin)
    if input_ is None:
        message = f"{plugin.target.definition} has nothing to render"
        gate = Gate(
            "render-failed", message, "add source: helm, kustomize or manifests, or an AddOnTemplate as a config"
        )
        return PluginRender(plugin, blocked=(gate,))
    return input_


def unsteady_findings(rendered: Iterable[PluginRender]) -> list[Diagnostic]:
    """Charts that come out otherwise each time, once for each version (B28)."""
    found: dict[Revision, Diagnostic] = {}
    for each in rendered:
        revision = each.plugin.target.revision
        if not each.unsteady or revision is None or revision in found:
            continue
        message = f"{revision.object.ref.name} {revision.version} renders differently every time"
        hint = "look for randAlphaNum, genCA, now or uuidv4 in its templates, and set the values that it generates"
        at = revision.object.at("spec", "source")
        found[revision] = Diagnostic("nondeterministic-chart", message, hint, "warning", revision.object.ref, at)
    return list(found.values())


def odd_key_findings(rendered: Iterable[PluginRender]) -> list[Diagnostic]:
    """Keys of plain manifests such as `y`, which is read as `true`, once for each version."""
    found: dict[Revision, list[Diagnostic]] = {}
    for each in rendered:
        revision = each.plugin.target.revision
        if revision is not None and revision not in found:
            ref, at = revision.object.ref, revision.object.at("spec", "source")
            found[revision] = [
                Diagnostic("odd-key", text, "quote the key", "warning", ref, at) for text in each.odd_keys
            ]
    return [finding for findings in found.values() for finding in findings]


def notes_on(rendered: Sequence[PluginRender]) -> list[Diagnostic]:
    """Everything about renders that people should know although they came about."""
    return [*unsteady_findings(rendered), *unmatched_findings(rendered), *odd_key_findings(rendered)]


def unmatched_findings(rendered: Iterable[PluginRender]) -> list[Diagnostic]:
    """Patches whose target is none of the rendered objects, once for each patch."""
    found: dict[At, Diagnostic] = {}
    for each in rendered:
        for number, nearest in each.transformation.unmatched:
            object_, at, patch = patch_written(each.plugin.target, number)
            target = msgspec.to_builtins(patch.target)
            named = [f"{name} {value}" for name, value in target.items() if value is not None]
            hint = f"did you mean {nearest}?" if nearest else "correct its target"
            message = f"the patch of {' '.join(named)} changes nothing: no rendered object is that"
            found.setdefault(at, Diagnostic("unmatched-patch", message, hint, "warning", object_.ref, at))
    return list(found.values())


def patch_written(target: Target, number: int) -> tuple[Object[object], At, Patch]:
    """The object that a patch is written in, and where: patches of a definition come before those of its owner."""
    own = (target.revision.object.spec.patches if target.revision is not None else None) or []
    if number < len(own):
        assert target.revision is not None
        object_: Object[object] = target.revision.object
        return object_, object_.at("spec", "patches", number), own[number]
    number -= len(own)
    return target.owner, target.owner.at("spec", "patches", number), (target.owner.spec.patches or [])[number]


def lint_renders(fleet: Fleet, renders: Renders) -> tuple[list[Diagnostic], bool]:
    """What does not render, once for each reason; what blocks a plugin otherwise is reported anyway.

    And whether that is only for want of a tool or a source here.
    """
    rendered = render_plugins(fleet, fleet.decisions.plugins.values(), renders, despite_gates=True)
    found: dict[tuple[Revision | None, str], list[PluginRender]] = {}
    for each in rendered:
        for gate in each.blocked:
            if gate.gate in _FAILURES:
                found.setdefault((each.plugin.target.revision, gate.message), []).append(each)
    failed = [each for where in found.values() for each in where]
    unavailable = bool(failed) and all(each.unavailable for each in failed)
    failures = []
    for where in found.values():
        first = where[0]
        gate = next(each for each in first.blocked if each.gate in _FAILURES)
        plugin, owner = first.plugin, first.plugin.target.owner
        more = f" and {len(where) - 1:,} more" if len(where) > 1 else ""
        message = f"{plugin.target.definition} {plugin.version} on {plugin.cluster.ref.name}{more}: {gate.message}"
        at = gate.at or owner.at("spec")
        failures.append(Diagnostic(gate.gate, message, gate.do, "error", gate.ref or owner.ref, at))
    return [*failures, *notes_on(rendered)], unavailable
