"""Validity gates that follow from a plugin's options and configs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fleetform.engine.options.conclusion import message_of
from fleetform.engine.options.holes import marks_in
from fleetform.model.results.bindings import Failure
from fleetform.model.results.configs import Configs
from fleetform.model.results.decisions import ABSENT, Gate, OptionDecision
from fleetform.syntax.option_paths import normal_form

# What to do about an option that must be set, by its path.
Hints = Mapping[tuple[str, ...], str]


def gates_with_own(shared: tuple[Gate, ...], own: tuple[OptionDecision, ...], hints: Hints) -> tuple[Gate, ...]:
    odd = [each for each in own if each.problem is not None or each.value is ABSENT]
    gates = [gate for each in odd for gate in gates_of_option(each, hints)]
    if not shared:
        return tuple(gates)
    names = {each.slot.name for each in own}
    return tuple([gate for gate in shared if gate.option not in names] + gates)


def missing_configs(configs: Configs) -> Iterator[Gate]:
    """Configs that are named and do not exist: that plugin on that cluster waits for them (R1-12)."""
    for each in configs.effective:
        if each.config is None:
            group, resource, namespace, name = each.identity
            what = f"{resource}{'.' if group else ''}{group} {namespace}{'/' if namespace else ''}{name}"
            message = f"the config {what} does not exist"
            yield Gate("config-missing", message, "add it, or name another", ref=each.object.ref, at=each.at)


def gates_of_option(decision: OptionDecision, hints: Hints) -> Iterator[Gate]:
    """What is wrong with an option's value: each hole by itself, else the value, or that there is none."""
    option, fix = decision.slot.option, "fix the value where it is set"
    if decision.problem is not None:
        holes = [each for each in marks_in(decision.partial) if isinstance(each, Failure)]
        for hole in dict.fromkeys(holes):
            yield Gate("value-type", message_of(hole, decision.slot), fix, decision.name, hole.ref, hole.at)
        if not holes:
            item = decision.parts[-1].winner if decision.parts else decision.winner
            ref, at = (item.layer.object.ref, item.at) if item is not None else (None, None)
            yield Gate("value-type", decision.problem, fix, decision.name, ref, at)
    elif decision.partial is ABSENT and decision.value is ABSENT and option is not None and option.required:
        hint = hints.get(normal_form(decision.slot.steps))
        do = f"set {decision.name} in the preset, in a group, or in an override for this cluster"
        message = f"{decision.name} is required and has no value here"
        yield Gate("required-option", message, f"{do}: {hint}" if hint else do, decision.name)
