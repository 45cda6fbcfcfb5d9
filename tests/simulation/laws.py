"""Laws that hold at every moment, whatever happens. They are judged from what was stored, told and delivered, by a
reckoning of their own that shares nothing with the planner.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from fleetform.loop.image import Image
from fleetform.loop.records import file_ref, packed
from fleetform.model.results.decisions import PluginKey
from fleetform.ports.delivery import Parcel
from fleetform.ports.store import Commit, Event, StoreReader

DEV = frozenset({"eu-2", "eu-3"})
SOAK = timedelta(hours=1)
LAWS = (
    "concurrency",  # of gold one is changed at a time; a cluster that joins waits for nobody (S51)
    "budget",  # after a failure nothing else starts in that rollout
    "window",  # of gold, nothing that runs already is changed in an odd hour
    "stage",  # gold follows dev
    "soak",  # which was healthy for an hour
    "approval",  # and somebody agreed
    "admitted",  # what is delivered is what is stored as admitted, to the byte
    "removal",  # nothing is removed that whole files want
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
    """Sees every commit that took place and every delivery that is tried. wanted says which clusters whole files want;
    guarded whether gold needs an approval and has a window."""

    def __init__(self, guarded: bool = True) -> None:
        self.guarded = guarded
        self.events: list[Event] = []
        self.approved: set[tuple[str, str]] = set()
        self.wanted: dict[int, frozenset[str]] = {}
        self.present: frozenset[str] = frozenset()

    def copy(self) -> Witness:
        other = Witness(self.guarded)
        other.events, other.approved, other.wanted = [*self.events], {*self.approved}, self.wanted
        other.present = self.present
        return other

    # ---- What took place

    def committed(self, commit: Commit) -> None:
        for deed in commit.deeds:
            if deed.verb == "rollout approve" and deed.outcome == "done":
                self.approved.add((deed.subject, "gold"))
        for event in commit.events:
            if event.event == "Started" and event.rollout:
                self._judge_start(event)
            self.events.append(event)

    def _judge_start(self, start: Event) -> None:
        before = [each for each in self.events if each.rollout == start.rollout]
        last = {each.cluster: each for each in before if each.event in ("Failed", "Healthy", "Started")}
        others = sorted({name for name, each in last.items() if each.event == "Failed"} - {start.cluster})
        law("budget", not others, f"{start.cluster} starts after {others} failed")
        if start.cluster in DEV:
            return
        where = f"{start.cluster} starts {start.version} at {start.at:%d %H:%M}"
        if self.guarded:
            law("approval", (start.rollout, "gold") in self.approved, f"{where}, and nobody approved {start.rollout}")
            law("window", start.at.hour % 2 == 0 or not self._runs(start), f"{where}, outside of the window")
        others_of_dev = [name for name in last if name in DEV and not self._is_gone(name)]
        dev = {name: last[name] for name in others_of_dev if not self._joined_since(name, before[0])}
        law("stage", bool(others_of_dev) or not self._behind(start), f"{where}, and no dev cluster did")
        unhealthy = sorted(cluster for cluster, each in dev.items() if each.event != "Healthy")
        law("stage", not unhealthy, f"{where}, and {unhealthy} is not healthy")
        if all(each.cluster in DEV for each in before):
            # Once over it stays over, also where the clock is set back then.
            law("soak", all(each.at + SOAK <= start.at for each in dev.values()), f"{where}, too early after dev")

    def _runs(self, start: Event) -> bool:
        """Whether something is installed there already: a first install passes windows."""
        here = [each.event for each in self.events if each.cluster == start.cluster and each.event in _STARTS_AND_ENDS]
        return bool(here) and here[-1] != "Deleted"

    def _joined_since(self, cluster: str, begin: Event) -> bool:
        """Whether a cluster came after a rollout began: nobody waits for it."""
        first = next(each for each in self.events if each.cluster == cluster)
        return cluster != begin.cluster and self.events.index(first) > self.events.index(begin)

    def _is_gone(self, cluster: str) -> bool:
        """Whether it left: what became of it there holds nobody up (B21)."""
        return self._last(cluster) == "Deleted" or cluster not in self.present

    def _behind(self, start: Event) -> bool:
        """Whether a dev cluster runs something else than what starts."""
        last = {each.cluster: each for each in self.events if each.cluster in DEV}
        return any(not self._is_gone(each.cluster) and each.version != start.version for each in last.values())

    def _last(self, cluster: str) -> str:
        return next((each.event for each in reversed(self.events) if each.cluster == cluster), "")

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
        if removals:
            wanted = self.wanted.get(fingerprint(image.files))
            law("removal", wanted is not None, "files were accepted that nobody wrote")
            assert wanted is not None
            taken = sorted(key[1] for key in removals if key[1] in wanted)
            law("removal", not taken, f"{taken} loses what is wanted there")

    def judge_state(self, image: Image) -> None:
        flying = [
            cluster.name
            for cluster, here in image.known.plugins.items()
            for state in here.values()
            if state.in_flight and state.last_healthy is not None and cluster.name not in DEV
        ]
        law("concurrency", len(flying) <= 1, f"{sorted(flying)} at once")


_STARTS_AND_ENDS = frozenset({"Started", "RolledBack", "Deleted"})


def fingerprint(files: Mapping[str, bytes]) -> int:
    return hash(frozenset((file_ref(name), content) for name, content in files.items()))
