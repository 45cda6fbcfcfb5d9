"""Candidate: one plugin on one cluster, and what its owner wants of it, as a plan takes it.

What plugins have in common is made once: most share their options and so their hash, their installer and their times.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from fleetform.engine.decisions import Decisions
from fleetform.engine.desired import Inputs
from fleetform.engine.index.clusters import Cluster
from fleetform.engine.plan.records import Candidate, ClusterFacts
from fleetform.engine.plan.rollouts import TRIGGERS
from fleetform.engine.versions.lifecycle import Lifecycle, upgrade_times
from fleetform.engine.world.hashes import is_known, unknown_hash
from fleetform.engine.world.missing_secrets import missing_secrets
from fleetform.engine.world.opening import OpeningOf
from fleetform.engine.world.staging import Staging
from fleetform.model.kinds.preset import WaitFor
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import (
    ABSENT,
    ClusterDecisions,
    Gate,
    Item,
    PluginDecision,
    PluginKey,
    Revision,
    Shared,
    Target,
)
from fleetform.model.state import Deployed, Installer, Parts, PluginState
from fleetform.syntax.hashing import content_hash
from fleetform.syntax.names import generated_name
from fleetform.syntax.option_paths import normal_form
from fleetform.syntax.times import parse_time

_VERSION = frozenset({"version"})
_OTHERS = TRIGGERS - _VERSION
_UNREACHABLE = "cluster.open-cluster-management.io/unreachable"
# Since when a cluster is silent of which nobody says since when.
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class _Way(NamedTuple):
    """What is known of the way from one version to another: the same for all plugins that go it."""

    irreversible: bool
    not_before: datetime | None
    forced_at: datetime | None


_NO_WAY = _Way(False, None, None)


class Candidates:
    """Makes the candidates of one organization's plugins."""

    def __init__(self, decisions: Decisions, inputs: Inputs, lifecycle: Lifecycle) -> None:
        self._decisions, self._inputs, self._lifecycle = decisions, inputs, lifecycle
        self._deployed: dict[tuple[Shared, Target], Deployed] = {}
        self._installers: dict[Target, Installer] = {}
        self._ways: dict[tuple[str, Revision], _Way] = {}

    def candidate(
        self,
        key: PluginKey,
        plugin: PluginDecision,
        state: PluginState,
        cluster: ClusterFacts,
        staging: Staging,
        opening: OpeningOf,
    ) -> Candidate:
        """What its owner wants of a plugin. What a new cluster gets meanwhile depends on the others (baseline)."""
        wanted_plugin = plugin.upgrade if plugin.upgrade is not None else plugin
        restricted = staging.policy.trigger != TRIGGERS
        wanted = self.deployed(wanted_plugin, restricted)
        target, admitted, way = wanted_plugin.target, state.admitted, _NO_WAY
        differs = not _same_version(admitted, wanted)
        if differs and admitted is not None and target.revision is not None:
            way = self._way(admitted, target)
        gates = plugin.blocked_by
        if wanted_plugin.unresolved:
            gates = (*gates, *wanted_plugin.waits)
        gates = (*gates, *self._missing_secrets(wanted_plugin, wanted))
        meanwhile = self.deployed(plugin, restricted) if plugin.upgrade is not None else None
        if meanwhile is not None and self._missing_secrets(plugin, meanwhile):
            meanwhile = None
        here = plugin.cluster
        return Candidate(
            key,
            cluster,
            wanted,
            staging.stage_of(here),
            _kinds(admitted, wanted) if restricted else _VERSION if differs else _OTHERS,
            gates,
            way.not_before,
            self._depends_on(plugin, wanted_plugin),
            way.irreversible,
            target.forced,
            opening.on(here),
            None,
            meanwhile,
            way.forced_at,
        )

    def deployed(self, plugin: PluginDecision, with_parts: bool = False) -> Deployed:
        """What a plugin becomes by what is written now."""
        owner = plugin.target.owner
        # What a system adds by itself has the cluster's name in it.
        alone = plugin.own or plugin.unresolved or owner.spec.substitute or owner.conventions.injected is not None
        shares = not alone
        key = (plugin.shared, plugin.target)
        if shares:
            known = self._deployed.get(key)
            if known is not None:
                return known
        version = plugin.version
        input_hash = self._inputs.state_hash(plugin)
        found = Deployed(
            version,
            plugin.target.definition,
            input_hash if input_hash is not None else unknown_hash(plugin.key, version),
            self._parts(plugin) if with_parts else None,
            self._installer(plugin.target),
        )
        # A hash that is not known is the plugin's own; and what is made of variables is a cluster's own.
        if shares and input_hash is not None and not self._inputs.varies(plugin):
            self._deployed[key] = found
        return found

    def _missing_secrets(self, plugin: PluginDecision, state: Deployed) -> tuple[Gate, ...]:
        """The Secrets without which a state cannot be filled in. What is known to the last secret lacks none."""
        if is_known(state.input_hash):
            return ()
        return missing_secrets(self._inputs, plugin, self._decisions.index.snapshot)

    def _installer(self, target: Target) -> Installer:
        found = self._installers.get(target)
        if found is None:
            retain = target.owner.spec.deletion_policy == "Retain"
            found = Installer(target.owner.ref, target.release_namespace, target.release_name, retain)
            self._installers[target] = found
        return found

    def _parts(self, plugin: PluginDecision) -> Parts:
        """Values as they are written, so that another value of a variable in them is a change of bindings alone.

        Paths count by their steps: another spelling of one is no change of values. What a secret is does not count:
        a hash of it alone could be guessed.
        """
        options = sorted(
            [
                normal_form(each.slot.steps),
                [
                    [normal_form(item.steps), "" if each.slot.secret else _written(item)]
                    for item in (each.winner, *(part.winner for part in each.parts))
                    if item is not None
                ],
            ]
            for each in plugin.options.values()
        )
        configs = [[*each.identity, each.spec_hash] for each in plugin.configs.effective]
        bound = [[each.name, str(each.value)] for each in self._inputs.bound(plugin)]
        return Parts(*(content_hash(part)[:16] for part in (options, configs, bound)))

    def _way(self, admitted: Deployed, target: Target) -> _Way:
        """Versions of another definition lie on no way to this one."""
        if admitted.version is None or target.revision is None or admitted.definition not in (None, target.definition):
            return _NO_WAY
        key = admitted.version, target.revision
        found = self._ways.get(key)
        if found is None:
            step = self._decisions.sharing.step(*key)
            found = _Way(bool(step.irreversible), None, None)
            if not step.downgrade:
                times = upgrade_times(self._lifecycle, step.breaking, target.revision, self._decisions.index.snapshot)
                not_before = times.not_before if self._lifecycle.notice else None
                found = _Way(found.irreversible, not_before, times.forced)
            self._ways[key] = found
        return found

    def _depends_on(self, plugin: PluginDecision, wanted: PluginDecision) -> tuple[str, ...]:
        """The plugins of the same cluster that come first: those of definitions, and those that the owner names."""
        revision = wanted.target.revision
        definitions = revision.object.spec.depends_on if revision is not None else None
        named = plugin.target.owner.spec.wait_for
        if not definitions and not named:
            return ()
        here = self._decisions.clusters[plugin.cluster.ref]
        found = [name for each in definitions or () for name in plugins_of(here, each.name) or [each.name]]
        found += [_awaited(each, plugin.cluster.ref.name) for each in named or ()]
        return tuple(dict.fromkeys(each for each in found if each and each != plugin.name))


def plugins_of(here: ClusterDecisions, definition: str) -> list[str]:
    return [name for name, each in here.plugins.items() if each.target.definition == definition]


def _awaited(wait: WaitFor, cluster: str) -> str:
    return wait.plugin if wait.plugin is not None else generated_name(wait.preset or "", cluster)


def _same_version(admitted: Deployed | None, wanted: Deployed) -> bool:
    if admitted is None or admitted.version != wanted.version:
        return False
    return admitted.definition is None or admitted.definition == wanted.definition


def _kinds(admitted: Deployed | None, wanted: Deployed) -> frozenset[str]:
    """In what a plugin differs from what is admitted. What nobody can tell apart may be anything, and is staged."""
    if admitted is None:
        return TRIGGERS
    version = frozenset() if _same_version(admitted, wanted) else _VERSION
    then, now = admitted.parts, wanted.parts
    if then is None or now is None:
        return version | _OTHERS
    others = {name for name, one, other in zip(Parts._fields, then, now, strict=True) if one != other}
    return version | others if version or others else _OTHERS


def _written(item: Item) -> Any:
    return item.value if item.value is not ABSENT else item.expression or ""


class Facts:
    """What matters of clusters, each once: vetoes, and since when they have not answered."""

    def __init__(self, silent_since: Mapping[Ref, datetime], before: Facts | None = None) -> None:
        self._silent = silent_since
        self._known: dict[Cluster, ClusterFacts] = {}
        self._before: Mapping[Cluster, ClusterFacts] = before._known if before is not None else {}

    def of(self, cluster: Cluster) -> ClusterFacts:
        found = self._known.get(cluster)
        if found is None:
            ref = cluster.ref
            since = self._silent.get(ref) or _unreachable_since(cluster)
            found = ClusterFacts(ref.organization, ref.name, cluster.spec.hold, since)
            known = self._before.get(cluster)
            self._known[cluster] = found = known if known == found else found
        return found


def _unreachable_since(cluster: Cluster) -> datetime | None:
    """Open Cluster Management taints a cluster that does not answer."""
    for taint in cluster.spec.taints or ():
        if taint.key == _UNREACHABLE:
            try:
                return parse_time(taint.time_added) if taint.time_added is not None else _LONG_AGO
            except ValueError:
                return _LONG_AGO
    return None
