"""Made of: the objects that an owner's plugins are made of, beside the clusters that they are on."""

from __future__ import annotations

from collections.abc import Iterable

from fleetform.engine.decisions import Decisions
from fleetform.engine.desired import Inputs
from fleetform.model.kinds.preset import OwnerSpec
from fleetform.model.objects import AnyObject, Object
from fleetform.model.results.decisions import PluginDecision


def objects_of(
    decisions: Decisions, inputs: Inputs, owner: Object[OwnerSpec], plugins: Iterable[PluginDecision]
) -> set[AnyObject]:
    """The objects that reach some plugins of an owner, as they are wanted; the owner itself is always one of them."""
    found: set[AnyObject] = {owner}
    wanted = [each.upgrade or each for each in plugins]
    for shared in {each.shared for each in wanted}:
        found.update(shared.overrides)
        found.update(each.config for each in shared.configs.effective if each.config is not None)
    found.update(each.object for each in {each.target.revision for each in wanted} if each is not None)
    found.update(each.instance for each in wanted if each.instance is not None)
    compiled = decisions.index.owners.get(owner)
    if compiled is not None and compiled.program is not None and any(True for _ in compiled.program.references):
        for plugin in wanted:
            sources = [each.source for each in inputs.bound(plugin)]
            found.update(each for each in sources if each is not None and each.ref.kind != "Cluster")
    return found
