"""What people can do, with kubectl: nobody takes requests there, and objects say the same."""

from __future__ import annotations

from collections.abc import Mapping

from fleetform.model.results.advice import Deed, Do
from fleetform.syntax.names import object_name_of

_REPLACE = "set supersede: Replace in its RolloutPolicy"
WITH_KUBECTL: Mapping[Deed, str] = {
    # With all that has to stand there: a removal has no Rollout from which the change could be taken.
    "approve": "create an Approval in {organization} with spec: {{rollout: {rollout}, stage: {stage}, "
    'changeId: "{change_id}", user: NAME}}, NAME as kubectl auth whoami prints it',
    "resume": f"{_REPLACE}, and change what {{owner}} gives",
    "change-or-retry": "change what {owner} gives, or publish a higher version",
    "retry-or-change": "publish a higher version, or change what it gets",
    "mend-or-retry": "repair the failed clusters, or publish a fix",
    "replace-rollout": f"wait for it, or replace it: {_REPLACE}",
    "go-on-without-stage": f"add a cluster to {{stage}}; or go on without it: {_REPLACE}, and change what "
    "{owner} gives",
    "see-earlier-stage": "see what {stage} waits for: kubectl get rollouts -n {organization}",
    "see-rollout": "kubectl describe rollout {rollout_object} -n {organization}",
    "see-plugin": "kubectl describe plugin {plugin_object} -n {organization}",
    "wait-for-plugin": "wait: kubectl describe plugin {plugin_object} -n {organization}",
    "see-render": "kubectl events --for plugin/{plugin_object} -n {organization}",
    "take-newer-version": "take a newer version: kubectl get plugindefinitionrevisions -n {organization}; "
    "then one is forced",
}


def with_kubectl(do: Do) -> str:
    if isinstance(do, str):
        return do
    owner = do.owner
    return WITH_KUBECTL[do.deed].format(
        organization=do.organization,
        # A part of a preset is changed where the preset is.
        owner=f"the {owner.kind} {owner.name.partition('/')[0]}" if owner is not None else "it",
        rollout=do.rollout,
        stage=do.stage,
        change_id=do.change_id,
        rollout_object=object_name_of(do.rollout),
        plugin_object=object_name_of(do.plugin),
    )
