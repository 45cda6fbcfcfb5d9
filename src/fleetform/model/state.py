"""What is known of each plugin from earlier passes: what was admitted and healthy, what was started last and what came
of it, its place in a rollout, and what was seen on its cluster.

One record per plugin, so that a change of one plugin's state is a change of one record; it is the only one. Everything
in it is a fact that was written down when it happened. Decisions read what is admitted, last healthy and observed; the
rest is for the plan alone. A phase binds the input hash that it is about: a plugin is done when that very hash was
observed healthy, and no version, generation or later time can stand in for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Literal, NamedTuple

from msgspec import Struct

from fleetform.model.objects import Ref

NOTHING_OBSERVED: Mapping[str, object] = MappingProxyType({})
Phase = Literal["Applying", "Healthy", "Failed", "SetAside"]


class Parts(NamedTuple):
    """What a state was made of, in hashes of the parts that may change beside the version."""

    values: str
    configs: str
    bindings: str


class Installer(Struct, frozen=True, gc=False):
    """Who installed a plugin, as which release, and whether it stays when it is no longer wanted.

    It is stored with what was admitted: an owner that is gone can no longer be asked.
    """

    owner: Ref
    release_namespace: str
    release_name: str
    retain: bool = False


class Deployed(Struct, frozen=True, gc=False):
    """A state that a plugin reached: a version of a definition, and the hash of all that it was made of.

    version is None if a state holds none that can be read: nobody knows then what runs. definition is None if a state
    does not say: it is then taken for the one that the plugin's owner names. input_hash is None if it is not known:
    nothing is then known to be the same (B30).
    """

    version: str | None
    definition: str | None = None
    input_hash: str | None = None
    parts: Parts | None = None
    installer: Installer | None = None


class Attempt(Struct, frozen=True, gc=False):
    """The last time that something was started on a plugin: which hash, by which rollout, and what came of it.

    since is when the phase began. failures counts since the hash was first started, so that retries end; back marks a
    way back to what was healthy before.
    """

    input_hash: str
    rollout: str
    started: datetime
    since: datetime
    phase: Phase = "Applying"
    failures: int = 0
    timed_out: bool = False
    back: bool = False


class Enrolment(Struct, frozen=True, gc=False):
    """A plugin's place in a rollout, fixed when the rollout starts (B21).

    target is what the rollout brings it to: a newer wish does not disturb a rollout that runs (B8). before is what was
    healthy when it was started, to which a rollback returns; on a cluster that came later (joined) what its stage had
    before the rollout. stage is "" for a kind of change that is not staged, and None where no stage selects the
    cluster. blocked is the gate that kept the plugin from its target while that was what is wanted: once something
    newer is, nobody judges it again. earlier is the place in the rollout that had brought what the plugin had when this
    one began, if that change may come again or is still to be taken back there: with it goes what was there before
    that. There may be one before that in turn.
    """

    rollout: str
    stage: str | None
    target: Deployed
    before: Deployed | None = None
    irreversible: bool = False
    joined: bool = False
    blocked: str = ""
    earlier: Enrolment | None = None


class Trouble(Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """What keeps a plugin from arriving where it should be, its files from going away where they should not, or anybody
    from telling how it is doing there: since when, and what to do.

    where is the destination. tries counts those that failed in a row, and retry_at is when the next is made; nothing is
    tried about health: it is looked at again and again. So is what a render needs and what is not there for now.
    """

    of: Literal["render", "delivery", "removal", "health"]
    message: str
    since: datetime
    hint: str = ""
    where: str = ""
    tries: int = 0
    retry_at: datetime | None = None


class Reading(Struct, frozen=True, gc=False):
    """How a value was read on a cluster: of which field, in which namespace it was looked for, and since when it is
    what it is.

    digest is that of a Secret's value, which is itself not stored. problem is why it cannot be read now, if it cannot,
    and do what to do about it, or about a field that is not there: what was read before counts until it can. is_known:
    it was read once.
    """

    of: str
    since: datetime
    namespace: str = ""
    digest: str = ""
    is_known: bool = True
    problem: str = ""
    do: str = ""


NOT_READ: Mapping[str, Reading] = MappingProxyType({})


class PluginState(Struct, frozen=True, gc=False):
    """What is known of one plugin on one cluster.

    observed holds values that were read on the cluster, by the binding's name (None: there was nothing to read), and
    readings how that was; secrets have a reading alone. render_failed is the input hash that could not be rendered
    (B2), and render_failure why, in a line. failure is what the cluster said when it failed last, until something else
    is started or it recovers: after a rollback it still tells why. drift names files that are not as they were
    delivered.
    """

    admitted: Deployed | None = None
    last_healthy: Deployed | None = None
    observed: Mapping[str, object] = NOTHING_OBSERVED
    attempt: Attempt | None = None
    enrolment: Enrolment | None = None
    render_failed: str | None = None
    failure: str = ""
    drift: tuple[str, ...] = ()
    readings: Mapping[str, Reading] = NOT_READ
    render_failure: str = ""

    @property
    def in_flight(self) -> bool:
        return self.attempt is not None and self.attempt.phase == "Applying"

    @property
    def failed(self) -> str | None:
        """The input hash that failed there last, if nothing was started since."""
        return self.attempt.input_hash if self.attempt is not None and self.attempt.phase == "Failed" else None

    @property
    def is_healthy(self) -> bool:
        """What is admitted was observed healthy; a state that says no more than that much counts too."""
        if self.admitted is None or self.last_healthy is None:
            return False
        if self.attempt is not None and self.attempt.phase != "Healthy":
            return False
        if self.admitted.input_hash is None:
            return self.last_healthy == self.admitted
        return self.last_healthy.input_hash == self.admitted.input_hash


UNKNOWN = PluginState()

# By cluster, then plugin: a change of one plugin leaves the records of all other clusters as they are.
PluginStates = Mapping[Ref, Mapping[str, PluginState]]
