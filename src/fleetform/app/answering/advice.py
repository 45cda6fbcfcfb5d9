"""What people can do, in commands of the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from fleetform.model.results.advice import Deed, Do

# How somebody is told what to do: here in commands, elsewhere in words of that place.
Words: TypeAlias = Callable[[Do], str]

COMMANDS: Mapping[Deed, str] = {
    "approve": "fleetform rollout approve {rollout} --stage {stage}",
    "resume": "fleetform rollout resume {rollout}",
    "change-or-retry": "change it, or fleetform rollout retry {owner}",
    "retry-or-change": "fleetform rollout retry {owner}, or change the input",
    "mend-or-retry": "repair the failed clusters, publish a fix, or fleetform rollout retry {owner}",
    "replace-rollout": "wait for it, or replace it: fleetform rollout start {owner} --supersede",
    "go-on-without-stage": "add a cluster to {stage}; or go on without it: fleetform rollout abort {rollout}, "
    "then fleetform rollout retry {owner}",
    "see-earlier-stage": "see what {stage} waits for: fleetform plan",
    "see-rollout": "fleetform rollout status {rollout}",
    "see-plugin": "fleetform why {cluster} {plugin}",
    "wait-for-plugin": "wait: fleetform why {cluster} {plugin}",
    "see-render": "fleetform render {plugin}",
    "take-newer-version": "take a newer version: fleetform get revisions -n {organization}; then one is forced",
}


def in_commands(do: Do) -> str:
    if isinstance(do, str):
        return do
    return COMMANDS[do.deed].format(
        organization=do.organization,
        owner=do.owner.name if do.owner is not None else "",
        rollout=do.rollout,
        stage=do.stage,
        cluster=do.cluster,
        plugin=do.plugin,
    )
