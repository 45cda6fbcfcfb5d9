"""Laws that hold at every moment, whatever happens. They are judged from what was stored, told and delivered, by a
reckoning of their own that shares nothing with the planner.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from fleetform.engine.plan.rollouts import Rollout
from fleetform.loop.image import Image
from fleetform.loop.records import file_ref, packed
from fleetform.model.results.decisions import PluginKey
from fleetform.ports.delivery import Parcel
from fleetform.ports.store import Commit, Event, StoreReader

DEV = frozenset({"eu-2", "eu-3"})
SOAK = timedelta(hours=1)
LAWS = (
    "concurrency",  # of gold one is changed at a time; who joins waits for nobody until it is installed (S51)
    "budget",  # while a cluster stands failed with a change, and not on its way back, nothing new starts with it (B24)
    "window",  # of gold, nothing that runs already is changed in an odd hour
    "stage",  # gold follows dev: every cluster of dev is healthy with what gold gets, and one that left is no proof
    "soak",  # and was so for an hour by the clock of some pass: once over it stays over, wherever the clock is set
    "approval",  # and somebody agreed to that rollout
    "joining",  # what starts beside rollouts is a first install, and of what a rollout brought as far as that stage
    "admitted",  # what is delivered is what is stored as admitted, to the byte
    "removal",  # nothing is removed that whole files want, neither a plugin nor all that is in it
    "back",  # once all has had time, what a rollout brought that was rolled back is on no cluster that answers
    "rest",  # passes end, and then nothing more is written
    "end",  # where the undisturbed world ends, every other one ends
)


class LawBrokenError(AssertionError):
    """A law was broken: which, and how."""

    def __init__(self, law: str, how: str) -> None:
        super().__init__(f"{law}: {how}")
        self.law = law


def law(name: str, holds: bool, how: str) -> None:
    assert name in LAWS
    if not holds:
        raise LawBrokenError(name, how)


class Witness:
    """Sees every commit that took place, every delivery that is tried and what is stored after every pass.

    wanted says which clusters whole files want; guarded whether gold needs an approval and has a window. soaked are
    rollouts of which dev was seen to be done, founders the clusters that were there from the first on and never left.
    silent are those that did not answer since a rollout last started something there, unheard those that did not since
    it did so while they answered, which mute do not: nobody waits for them, and they catch up when they do (B25). What
    was started before anybody noticed holds its slot, and is no sign that they answer. away are those that left since
    something was last started there: should they come again before it was removed, they catch up as well.
    """

    def __init__(self, guarded: bool = True) -> None:
        self.guarded = guarded
        self.events: list[Event] = []
        self.approved: set[tuple[str, str]] = set()
        self.soaked: set[str] = set()
        self.wanted: dict[int, frozenset[str]] = {}
        self.founders: frozenset[str] | None = None
        self.silent: set[str] = set()
        self.unheard: set[str] = set()
        self.mute: set[str] = set()
        self.away: set[str] = set()

    def copy(self) -> Witness:
        other = Witness(self.guarded)
        other.events, other.approved, other.soaked = [*self.events], {*self.approved}, {*self.soaked}
        other.wanted, other.founders, other.silent = self.wanted, self.founders, {*self.silent}
        other.unheard, other.away = {*self.unheard}, {*self.away}
        return other

    @property
    def facts(self) -> object:
        """All that it has come to know, for telling worlds apart."""
        events = [(each.at, each.cluster, each.event, each.rollout, each.input_hash) for each in self.events]
        known = sorted(self.approved), sorted(self.soaked), sorted(self.founders or ()), sorted(self.silent)
        return events, known, sorted(self.unheard), sorted(self.away)

    # ---- What took place

    def committed(self, commit: Commit, stored: Callable[[], Image]) -> None:
        """stored is what there was before."""
        for deed in commit.deeds:
            if deed.verb == "rollout approve" and deed.outcome == "done":
                self.approved.add((deed.subject, "gold"))
        for event in commit.events:
            if event.event == "Started":
                self._judge_start(event, self._accepted(stored()))
            if event.event in _TOLD:
                self.events.append(event)

    def _accepted(self, image: Image) -> frozenset[str]:
        """The clusters of the files that were accepted: who left is gone as soon as that is known (B21)."""
        return self.wanted.get(fingerprint(image.files), frozenset())

    def _judge_start(self, start: Event, accepted: frozenset[str]) -> None:
        where = f"{start.cluster} starts {start.version} at {start.at:%d %H:%M}"
        if not start.rollout:
            self._judge_start_beside(start, where)
            return
        self.away.discard(start.cluster)
        self.silent.discard(start.cluster)
        self.unheard -= {start.cluster} - self.mute
        failed = [each for each in sorted(accepted - {start.cluster}) if self._stands_failed(each, start.change_id)]
        law("budget", not failed or self._is_retry(start), f"{where}, and {failed} failed with that")
        if start.cluster in DEV:
            return
        if self.guarded:
            law("approval", (start.rollout, "gold") in self.approved, f"{where}, and nobody approved {start.rollout}")
            law("window", start.at.hour % 2 == 0 or not self._runs(start.cluster), f"{where}, outside of the window")
        broken, how = self._dev_lacks(start, accepted, start.at)
        law(broken or "stage", not broken, f"{where}, and {how}")
        self.soaked.add(start.rollout)

    def _is_retry(self, start: Event) -> bool:
        """Whether what failed last on that very cluster is tried again, by the rollout that had started it: that is
        nothing new, and goes on counting (B34, S2). The same by another rollout is new there, and so is another state.
        """
        here = [each for each in self.events if each.cluster == start.cluster]
        attempt = (here[-1].event, here[-1].rollout, here[-1].input_hash) if here else None
        return attempt == ("Failed", start.rollout, start.input_hash)

    def _stands_failed(self, cluster: str, change: str) -> bool:
        """Whether a cluster has a change and failed with it, by whatever rollout. What fails on its way back fails with
        what it had before; that change starts again only if somebody asks for that (B10)."""
        here = [each for each in self.events if each.cluster == cluster]
        if not here or here[-1].event != "Failed" or here[-1].change_id != change:
            return False
        return [each.event for each in here if each.event in _STARTS_AND_ENDS][-1] == "Started"

    def _judge_start_beside(self, start: Event, where: str) -> None:
        """A stage has what a rollout brought to it, or to one that follows: it went there by way of this one, also if
        nobody was in it then (B21)."""
        catches_up = start.cluster in self.unheard | self.away
        law(
            "joining",
            catches_up or not self._was_healthy(start.cluster),
            f"{where} by no rollout, and something runs there",
        )
        so_far = [each for each in self.events if start.cluster in DEV or each.cluster not in DEV]
        brought = {each.input_hash for each in so_far if each.event == "Started" and each.rollout}
        law("joining", start.input_hash in brought, f"{where}, which no rollout brought as far as its stage")
        if self.guarded and start.cluster not in DEV:
            law("window", start.at.hour % 2 == 0 or not self._runs(start.cluster), f"{where}, outside of the window")
        self.away.discard(start.cluster)

    def _dev_lacks(self, start: Event, accepted: frozenset[str], now: datetime) -> tuple[str, str]:
        """What of dev keeps gold from what a start brings: a law, and how it would be broken.

        A cluster of dev has come to that by the rollout itself, and soaks; or had it before, and is no part of it. Who
        joins while dev is not done is waited for, too; who joins later is not (B21).
        """
        if start.rollout in self.soaked:
            return "", ""
        last = {each.cluster: each for each in self.events}
        took_part = any(each.rollout == start.rollout and each.cluster in DEV for each in self.events)
        if took_part and not DEV & accepted:
            return "stage", "all of dev left before it was done"
        lacking = {each: self._lacks(each, start, last.get(each), now) for each in sorted(DEV & accepted)}
        # Nobody waits for those that do not answer; but one that does there must be.
        if all(each[0] for each in lacking.values()):
            return next(iter(lacking.values()), ("", ""))
        return next((each for cluster, each in lacking.items() if each[0] and cluster not in self.unheard), ("", ""))

    def _lacks(self, cluster: str, start: Event, told: Event | None, now: datetime) -> tuple[str, str]:
        if told is None or told.event != "Healthy":
            return "stage", f"{cluster} is not healthy"
        if told.rollout == start.rollout:
            return ("soak", f"{cluster} is healthy since {told.at:%H:%M} only") if told.at + SOAK > now else ("", "")
        return ("stage", f"{cluster} has not got it") if told.input_hash != start.input_hash else ("", "")

    def _runs(self, cluster: str) -> bool:
        """Whether something is installed there already: a first install passes windows."""
        here = [each.event for each in self.events if each.cluster == cluster and each.event in _STARTS_AND_ENDS]
        return bool(here) and here[-1] != "Deleted"

    def _was_healthy(self, cluster: str) -> bool:
        """Whether what is installed there was ever healthy."""
        here = [each.event for each in self.events if each.cluster == cluster and each.event in ("Healthy", "Deleted")]
        return bool(here) and here[-1] != "Deleted"

    # ---- What is delivered

    def judge_delivery(
        self, store: StoreReader, image: Image, parcels: Sequence[Parcel], removals: Sequence[PluginKey]
    ) -> None:
        for parcel in parcels:
            admitted = image.plugin(parcel.key).admitted
            law("admitted", admitted is not None and admitted.input_hash == parcel.input_hash, f"{parcel.key} is not")
            digest, _ = packed(parcel.files)
            state = image.states.get(parcel.input_hash)
            law("admitted", state is not None and state.files == digest, f"{parcel.key} gets other bytes")
            law("admitted", store.blob(digest) is not None, f"the bytes of {parcel.key} are not stored")
            law("removal", bool(parcel.files), f"{parcel.key} loses all that is in it")
        if removals:
            wanted = self.wanted.get(fingerprint(image.files))
            law("removal", wanted is not None, "files were accepted that nobody wrote")
            assert wanted is not None
            taken = sorted(key[1] for key in removals if key[1] in wanted)
            law("removal", not taken, f"{taken} loses what is wanted there")

    # ---- What is stored after a pass

    def judge_way_back(self, image: Image) -> None:
        """For a time at which every cluster answers, and has done so for hours. What is retried is not rejected."""
        every = [each for of_owner in image.known.rollouts.rollouts.values() for each in of_owner]
        gone_back = [each for each in every if each.phase == "Halted" and each.rejected and not each.is_open]
        succeeded = {each.name for each in every if each.phase == "Succeeded"}
        for cluster in sorted(self._accepted(image)):
            here = [each for each in self.events if each.cluster == cluster]
            deeds = [each for each in here if each.event in _STARTS_AND_ENDS]
            starts = [each for each in deeds if each.event == "Started" and each.input_hash == deeds[-1].input_hash]
            if not starts or deeds[-1].event == "Deleted":
                continue
            last, brought = deeds[-1], starts[-1]
            by = [each for each in gone_back if each.name == brought.rollout and last is brought]
            if brought.rollout not in succeeded:
                by += [each for each in gone_back if _came_again(each, brought, last)]
            before = here[: here.index(brought)]
            installed = any(each.event == "Healthy" for each in before) and before[-1].event != "Deleted"
            names = [each.name for each in by]
            law("back", not (by and installed), f"{cluster} has {brought.version} of {names}, which went back")

    def judge_state(self, image: Image, now: datetime) -> None:
        accepted = self._accepted(image)
        if accepted:
            self.founders = accepted if self.founders is None else self.founders & accepted
            self.away |= {each.cluster for each in self.events} - accepted
        self._see_who_has_soaked(accepted, now)
        # Who left is no member of anything, and nobody hears any more what comes of it.
        members = accepted - DEV - self.silent
        flying = [
            cluster.name
            for cluster, here in image.known.plugins.items()
            for state in here.values()
            if state.in_flight and cluster.name in members and not self._is_being_joined(cluster.name)
        ]
        law("concurrency", len(flying) <= 1, f"{sorted(flying)} at once")

    def _is_being_joined(self, cluster: str) -> bool:
        return cluster not in (self.founders or ()) and not self._was_healthy(cluster)

    def _see_who_has_soaked(self, accepted: frozenset[str], now: datetime) -> None:
        brought = {each.rollout: each for each in self.events if each.event == "Started" and each.cluster in DEV}
        for rollout, start in brought.items():
            if rollout and rollout not in self.soaked and self._dev_lacks(start, accepted, now) == ("", ""):
                self.soaked.add(rollout)


_TOLD = frozenset({"Started", "RolledBack", "Healthy", "Failed", "Deleted"})
_STARTS_AND_ENDS = frozenset({"Started", "RolledBack", "Deleted"})


def _came_again(rollout: Rollout, brought: Event, last: Event) -> bool:
    """Whether a rollout is a later one of the change that brought something to a cluster, and nothing was done to the
    cluster since it began."""
    same = rollout.change_id == brought.change_id and rollout.name != brought.rollout
    return same and rollout.started is not None and rollout.started > last.at


def fingerprint(files: Mapping[str, bytes]) -> int:
    return hash(frozenset((file_ref(name), content) for name, content in files.items()))
