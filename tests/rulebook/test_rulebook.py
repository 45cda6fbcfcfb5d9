"""Fleetform against a second reading of the rules, on a few hundred random fleets; `make soak` takes many.

A failure prints the fleet made small, with both answers; `PYTHONPATH=tests python -m rulebook --seed N` does, too.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from fleetform.engine.decide import decide
from properties.files import shuffled_keys
from rulebook.__main__ import report
from rulebook.comparing import disagreements, explained, opened
from rulebook.inventing import NOW, Invented, invented
from rulebook.model import Fleet
from support.bound import edited, everything

BUNCHES = 10
BUNCH = 40


@pytest.mark.parametrize("bunch", range(BUNCHES))
def test_fleetform_answers_as_the_rules_say(bunch: int) -> None:
    failed = [seed for seed in range(bunch * BUNCH, (bunch + 1) * BUNCH) if disagreements(invented(seed))]
    assert not failed, report(failed[0])


def without_places(answer: Any) -> Any:
    """An answer without the lines that things stand at, and without findings, which stand in their order."""
    if isinstance(answer, dict):
        left_out = ("place", "related", "diagnostics")
        return {key: without_places(each) for key, each in answer.items() if key not in left_out}
    return [without_places(each) for each in answer] if isinstance(answer, list) else answer


def answers(fleet: Invented) -> dict[str, Any]:
    read = opened(fleet)
    if read.findings.errors:
        return {"invalid": sorted({each.code for each in read.findings.errors})}
    plugins = Fleet(fleet.documents, fleet.state, NOW).plugins
    return {each.name: without_places(explained(read, each)) for each in plugins}


@pytest.mark.rule("R0-14")
@pytest.mark.parametrize("bunch", range(4))
def test_the_order_of_documents_and_keys_changes_nothing(bunch: int) -> None:
    for seed in range(bunch * 20, bunch * 20 + 20):
        fleet, dice = invented(seed), Random(seed)
        documents = [shuffled_keys(each, dice) for each in dice.sample(fleet.documents, len(fleet.documents))]
        shuffled = Invented(documents, shuffled_keys(fleet.state, dice))
        assert answers(shuffled) == answers(fleet), f"seed {seed}"


@pytest.mark.rule("R0-15")
@pytest.mark.parametrize("bunch", range(4))
def test_an_override_that_comes_and_goes_leaves_no_trace(bunch: int) -> None:
    for seed in range(bunch * 20, bunch * 20 + 20):
        fleet = invented(seed)
        overrides = [each for each in fleet.documents if each["kind"] == "PluginOverride"]
        for override in overrides[:1]:
            others = [each for each in fleet.documents if each is not override]
            there, gone = (opened(Invented(each, fleet.state)) for each in ([*others, override], others))
            came = decide(edited(gone.snapshot, there.snapshot), gone.decisions)
            went = decide(edited(came.index.snapshot, gone.snapshot), came)
            assert str(everything(went)) == str(everything(decide(gone.snapshot))), f"seed {seed}"
