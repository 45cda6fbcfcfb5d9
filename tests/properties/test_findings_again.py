"""What decisions show: found from what the pass before gathered, it is what is found anew."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fleetform.engine.check.checked import CheckedObjects
from fleetform.engine.check.decided import lint_decisions
from fleetform.engine.check.gathered import Gathered
from fleetform.engine.decide import decide
from fleetform.engine.decisions import Decisions
from fleetform.model.snapshot import Snapshot
from properties.edits import KINDS_OF_EDITS, Edit
from properties.strategies import examples, fleets


def _assert_gathered_as_anew(gathered: Gathered, decisions: Decisions) -> None:
    anew = Gathered(decisions)
    assert list(gathered.gated) == list(anew.gated)
    assert gathered.owned == anew.owned
    plugins = decisions.plugins.values()
    assert list(anew.gated) == [each for each in plugins if (each.upgrade or each).gates]
    having = {(owner, name) for owner, clusters in anew.owned.items() for name in clusters}
    assert having == {(each.target.owner, each.cluster.ref.name) for each in plugins}


@examples(150)
@given(fleets(), st.data())
def test_findings_made_step_by_step_are_those_made_anew(snapshot: Snapshot, data: st.DataObject) -> None:
    checked = CheckedObjects()
    decisions = decide(snapshot)
    _assert_gathered_as_anew(checked.gathered(decisions), decisions)
    for kind in data.draw(st.lists(st.sampled_from(sorted(KINDS_OF_EDITS)), min_size=1, max_size=4)):
        edit: Edit = data.draw(KINDS_OF_EDITS[kind](snapshot))
        snapshot = edit.after
        decisions = decide(snapshot, decisions)
        gathered = checked.gathered(decisions)
        _assert_gathered_as_anew(gathered, decisions)
        found = sorted(map(repr, lint_decisions(decisions, gathered)))
        assert found == sorted(map(repr, lint_decisions(decisions)))
