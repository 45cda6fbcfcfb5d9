"""What was decided, and why. Provenance is references: an item is made once and every decision points at it.

Records are msgspec structs for their size and speed: a fleet has millions of them. They form no cycles, so the garbage
collector need not look at them.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

from msgspec import Struct, structs

from fleetform.model.kinds.base import SecretKey
from fleetform.model.kinds.definition import Option, PluginDefinitionSpec
from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.kinds.preset import OwnerSpec, PluginOverrideSpec, PluginSpec
from fleetform.model.objects import At, Object, Path, Ref
from fleetform.model.reasons import TIMING_GATES
from fleetform.model.results.bindings import Unresolved
from fleetform.model.results.configs import NO_CONFIGS, Configs

LayerName = Literal["default", "preset", "group", "cluster", "instance", "override", "config"]
Strategy = Literal["Replace", "Merge", "Remove"]
Steps = tuple[str | int, ...]
# A plugin by organization, cluster and name.
PluginKey = tuple[str, str, str]


class _Absent:
    """No value at all, which is not the same as null."""

    def __repr__(self) -> str:
        return "ABSENT"

    def __bool__(self) -> bool:
        return False


ABSENT: Final = _Absent()


class SecretOnCluster(SecretKey, frozen=True):
    """A key of a Secret on the plugin's own cluster, known here by its keyed digest alone (B16, B18).

    Without a namespace it is in the release's.
    """

    namespace: str = ""
    digest: str = ""


class Secret(NamedTuple):
    """A secret inside a tree of values: by reference, or written in plain text (never printed)."""

    ref: SecretKey | None
    plain: Any = None

    def __repr__(self) -> str:
        return "Secret(…)"


class Layer(Struct, frozen=True, eq=False, gc=False):
    """What one object, or one part of it, contributes to a plugin.

    part is the group's name, the block's cluster, the default's version, or what an override names.
    """

    name: LayerName
    rank: int
    object: Object[object]
    part: str = ""
    created: datetime | None = None


class Item(Struct, frozen=True, eq=False, gc=False):
    """One value that one layer gives one path: exactly one of value, secret, expression (Remove has none).

    It stands at the index (or, in a map, the key) of a collection whose path all its siblings share.
    """

    layer: Layer
    text: str
    steps: Steps
    collection: Path
    index: str | int
    value: Any = ABSENT
    secret: SecretKey | None = None
    expression: str | None = None
    strategy: Strategy = "Replace"
    migrated_from: str | None = None

    @property
    def at(self) -> At:
        return self.layer.object.at(*self.collection, self.index)


TieBreak = Literal["created", "name"]


def how_settled(winner: Item | None, loser: Item | None) -> TieBreak | None:
    """How two overrides of one rank that disagree were settled."""
    if winner is None or loser is None:
        return None
    return "created" if winner.layer.created != loser.layer.created else "name"


class Part(Struct, frozen=True, eq=False, gc=False):
    """A path inside an option's value that an item of its own decides. value is ABSENT if it was removed."""

    steps: Steps
    value: Any
    winner: Item
    hidden: tuple[Item, ...] = ()
    tied_with: Item | None = None

    @property
    def tie(self) -> TieBreak | None:
        return how_settled(self.winner, self.tied_with)


class Sides(NamedTuple):
    """Of the items that overrides have for an option, those that have a part in it, and those that others hide."""

    won: tuple[Item, ...]
    lost: tuple[Item, ...]


# The option as the version declares it that retypes it, and the expression that does.
Retype = tuple[Option | None, str]


class Slot(Struct, frozen=True, eq=False, gc=False):
    """An option's name, its path in the values, and its declaration (None if nobody declares it).

    It is secret if any version of its definition says so: a value does not become harmless by being older.
    secret_inside are the paths inside its value of which a version says so. retypes make its value out of what earlier
    versions took, oldest first.
    """

    name: str
    steps: Steps
    option: Option | None
    secret: bool = False
    secret_inside: tuple[Steps, ...] = ()
    retypes: tuple[Retype, ...] = ()


class Family(Struct, frozen=True, eq=False, gc=False):
    """Options of which one lies inside another, down from the outermost: what is said of them is folded as one value.

    Most options have none. Paths that nobody declares are options here, too.
    """

    steps: Steps
    members: tuple[Slot, ...]


class OptionDecision(Struct, frozen=True, eq=False, gc=False):
    """An option's value, the item that won, and what it hid, from specific to generic.

    problem says what is wrong with the value; misfits are the items whose paths do not fit, hidden ones among them.
    unresolved says why variables that it refers to cannot be resolved. Where a part is not known there is no value, and
    partial is the value with its holes. sides is there where overrides reach inside the value; else the winner has won.
    """

    slot: Slot
    value: Any
    winner: Item | None
    hidden: tuple[Item, ...] = ()
    parts: tuple[Part, ...] = ()
    tied_with: Item | None = None
    removed_by: Item | None = None
    problem: str | None = None
    misfits: tuple[Item, ...] = ()
    unresolved: tuple[Unresolved, ...] = ()
    partial: Any = ABSENT
    sides: Sides | None = None

    @property
    def name(self) -> str:
        return self.slot.name

    @property
    def decider(self) -> Item | None:
        """The item that made the whole value what it is: a removal that stands, else the winner."""
        return self.removed_by if self.removed_by is not None else self.winner

    @property
    def tie(self) -> TieBreak | None:
        return how_settled(self.decider, self.tied_with)


class Gate(Struct, frozen=True, eq=False, gc=False):
    """Something that keeps a plugin from its target, by its name in the closed list; until when, if that is known."""

    gate: str
    message: str
    do: str
    option: str = ""
    ref: Ref | None = None
    at: At | None = None
    until: datetime | None = None


def gate_of(unresolved: Unresolved) -> Gate:
    return Gate(unresolved.gate, unresolved.message, unresolved.do, at=unresolved.at)


class Revision(Struct, frozen=True, eq=False, gc=False):
    """One version of a definition, with its options by path."""

    object: Object[PluginDefinitionSpec]
    version: str
    options: dict[Steps, Option]
    default_layer: Layer
    forms: dict[tuple[str, ...], Option]

    def find(self, steps: Steps) -> tuple[Option, Steps] | None:
        """The declared option a path belongs to, and the path inside it: the longest name wins (R0-8)."""
        form = tuple([str(step) for step in steps])
        for length in range(len(form), 0, -1):
            option = self.forms.get(form[:length])
            if option is not None:
                return option, steps[length:]
        return None


SkipReason = Literal["not-declared", "not-yet-known", "removed", "left-out"]


class Skipped(NamedTuple):
    """An item that does not count here, and why."""

    item: Item
    reason: SkipReason


Entry = tuple[Item, Steps]


class Settled(Struct, frozen=True, eq=False, weakref=True):
    """An option as all plugins of a kind have it, with the items under and over the place of a cluster's own.

    decision is None if an expression or a variable makes the value differ from cluster to cluster. plain says that
    every item replaces the whole value, so that a cluster's own need no second look at the others. outline is there
    where only the value is open, and who wins and what that hides is not. With a family, the items are those of all its
    members, and their paths start where the family does.
    """

    slot: Slot
    decision: OptionDecision | None
    below: tuple[Entry, ...]
    above: tuple[Entry, ...]
    plain: bool
    outline: OptionDecision | None = None
    family: Family | None = None

    @property
    def start(self) -> Steps:
        """Where the paths of its items start."""
        return self.family.steps if self.family is not None else self.slot.steps


class Shared(Struct, frozen=True, eq=False, weakref=True):
    """What all plugins with the same owner, groups and overrides have in common; options in path order.

    unresolved are those among the options that refer to a variable which cannot be resolved, whatever the cluster;
    positions are those of each option, by name.
    """

    options: tuple[Settled, ...]
    dynamic: tuple[Settled, ...]
    overrides: tuple[Object[PluginOverrideSpec], ...]
    skipped: tuple[Skipped, ...]
    gates: tuple[Gate, ...]
    configs: Configs = NO_CONFIGS
    unresolved: tuple[OptionDecision, ...] = ()
    positions: dict[str, int] = {}


class Target(Struct, frozen=True, eq=False, gc=False):
    """What an owner wants, wherever it is installed."""

    owner: Object[OwnerSpec]
    definition: str
    wanted: str | None
    revision: Revision | None
    release_namespace: str
    release_name: str
    forced: bool = False


class PluginDecision(Struct, frozen=True, eq=False, gc=False):
    """What one plugin on one cluster gets. own holds the options that differ from what is shared.

    Where gates keep it from the revision that is wanted, this is the one that runs, and upgrade holds the wanted one
    with its gates: a blocked upgrade does not freeze a cluster. unresolved are the variables that have no value here
    and that something refers to; idle are others, to which nothing does that counts.
    """

    name: str
    cluster: Object[ClusterSpec]
    target: Target
    instance: Object[PluginSpec] | None
    shared: Shared
    own: tuple[OptionDecision, ...]
    own_skipped: tuple[Skipped, ...]
    gates: tuple[Gate, ...]
    running: str | None = None
    upgrade: PluginDecision | None = None
    unresolved: tuple[Unresolved, ...] = ()
    idle: tuple[Unresolved, ...] = ()

    @property
    def waits(self) -> tuple[Gate, ...]:
        """What it waits for before it can be rendered: values of its cluster, or of other plugins there."""
        return tuple(gate_of(each) for each in self.unresolved if each.gate in TIMING_GATES)

    @property
    def blocked_by(self) -> tuple[Gate, ...]:
        """What keeps the plugin from what is wanted."""
        return self.upgrade.gates if self.upgrade is not None else self.gates

    @property
    def wanted_version(self) -> str | None:
        return self.upgrade.version if self.upgrade is not None else self.version

    @property
    def organization(self) -> str:
        return self.cluster.ref.organization

    @property
    def ref(self) -> Ref:
        return Ref("Plugin", self.organization, self.name)

    @property
    def key(self) -> PluginKey:
        return self.organization, self.cluster.ref.name, self.name

    @property
    def version(self) -> str | None:
        return self.target.revision.version if self.target.revision else None

    @property
    def options(self) -> dict[str, OptionDecision]:
        """Every option by name, in path order: the shared ones, with this plugin's own in their places."""
        merged = {each.slot.name: each.decision for each in self.shared.options}
        known = len(merged)
        merged.update((each.slot.name, each) for each in self.own)
        found = {name: each for name, each in merged.items() if each is not None}
        if len(merged) == known:
            return found
        return dict(sorted(found.items(), key=lambda entry: sort_key(entry[1].slot.steps)))

    @property
    def configs(self) -> Configs:
        return self.shared.configs

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        return self.shared.skipped + self.own_skipped


class Claim(Struct, frozen=True, eq=False, gc=False):
    """Two objects want one release, or one plugin's name, on one cluster; claimed says which.

    candidate is what the one that loses would get if it were alone; gate is what keeps it from that.
    """

    claimed: str
    keeps: Object[OwnerSpec]
    candidate: PluginDecision
    gate: Gate

    @property
    def plugin(self) -> PluginDecision:
        """What the one that loses would get, with the gate of the claim before its other ones."""
        blocked = structs.replace(self.candidate, gates=(self.gate, *self.candidate.gates))
        if self.candidate.upgrade is None:
            return blocked
        wanted = self.candidate.upgrade
        return structs.replace(blocked, upgrade=structs.replace(wanted, gates=(self.gate, *wanted.gates)))

    @property
    def cluster(self) -> Object[ClusterSpec]:
        return self.candidate.cluster

    @property
    def loses(self) -> Object[OwnerSpec]:
        return self.candidate.target.owner


class ClusterDecisions(Struct, frozen=True, eq=False, gc=False):
    """What one cluster gets: its plugins by name, and what owners claim there beside them."""

    cluster: Object[ClusterSpec]
    plugins: dict[str, PluginDecision]
    claims: tuple[Claim, ...] = ()

    @property
    def candidates(self) -> list[PluginDecision]:
        """What every owner wants there, before claims are settled."""
        if not self.claims:
            return list(self.plugins.values())
        return [*self.plugins.values(), *(claim.candidate for claim in self.claims)]


def sort_key(steps: Steps) -> tuple[tuple[int, int, str], ...]:
    """Path order that does not mix numbers and texts up."""
    return tuple((0, step, "") if isinstance(step, int) else (1, 0, step) for step in steps)
