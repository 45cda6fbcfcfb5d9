"""Days of a control plane by chance: files are edited, clusters fail, fall silent and answer again, people ask."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random

from fleetform.loop.asking import RolloutRequest, Verb
from fleetform.model.identity import Identity
from fleetform.model.objects import Ref
from fleetform.ports.delivery import Failure
from fleetform.ports.store import Commit, Delete, Put
from fleetform.store.known_state import SECRET_KEY
from fleetform.store.memory import MemoryStore
from recorded.pages import Page, Tree, edited, texts_of, without_errors
from support.fleets import NOW
from support.plane import Files, Plane

_ACTS = 8
_STEP = timedelta(hours=9)
_MOST_PASSES = 60
_VERBS: tuple[Verb, ...] = ("approve", "approve", "pause", "resume", "abort", "retry", "rollback", "start")
_PEOPLE = tuple(Identity(name, owner=True) for name in ("ann", "bob", "carol"))


class _Log(MemoryStore):
    """A store that keeps what was committed as lines."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def commit(self, commit: Commit, now: datetime) -> int:
        for write in commit.writes:
            if isinstance(write, Delete):
                self.lines.append(f"delete {write.ref}")
            else:
                self.lines.append(f"put {write.ref} {write.body!r}")
        self.lines += [repr(each) for each in (*commit.events, *commit.deeds, *commit.messages)]
        self.lines.append("committed")
        return super().commit(commit, now)

    def taken(self) -> list[str]:
        lines, self.lines = self.lines, []
        return lines


def told_of_days(page: Page, seed: int) -> Iterator[str]:
    """What is stored and told at each step of a play, in order."""
    play = Play(page, Random(f"{page.name} {seed}"))
    yield from play.step("begin")
    for number in range(_ACTS):
        yield from play.step(play.act(number))
    yield repr(sorted((key, parcel.input_hash) for key, parcel in play.plane.targets.there.items()))


class Play:
    def __init__(self, page: Page, dice: Random) -> None:
        self.dice = dice
        self.moments = [without_errors(each) for each in page.moments]
        self.files = self.moments.pop(0)
        self.store = _Log()
        # Drawn by chance otherwise: digests of secrets would be others every time.
        self.store.commit(Commit([Put(Ref(SECRET_KEY, "", "digests"), b"the key")]), NOW)
        self.plane = Plane(Files(texts_of(self.files)), self.store)

    def act(self, number: int) -> str:
        """What somebody or something does next."""
        dice, plane = self.dice, self.plane
        clusters = sorted(ref.name for ref in plane.control.fleet.snapshot.clusters) if plane.control.fleet else []
        cluster = dice.choice(clusters or ["none"])
        what = dice.choice(("edit", "edit", "next", "health", "health", "silent", "broken", "ask", "ask", "restart"))
        match what:
            case "edit":
                self._edit(edited(self.files, dice))
            case "next" if self.moments:
                self._edit(self.moments.pop(0))
            case "health":
                plane.health.says[cluster] = dice.choice(("Failed", "Failed", "Healthy", "Unknown"))
            case "silent":
                plane.health.silent ^= {cluster}
            case "broken":
                if plane.targets.broken.pop(cluster, None) is None:
                    failure = Failure("it says no", "ask it", dice.random() < 0.5, dice.random() < 0.3)
                    plane.targets.broken[cluster] = failure
            case "ask":
                _ask(plane, dice, number)
            case "restart":
                plane.restart()
        plane.clock.at += dice.choice((timedelta(0), timedelta(hours=1), timedelta(hours=7), timedelta(days=3)))
        return f"{what} {cluster}"

    def _edit(self, files: Tree) -> None:
        """Mostly what is accepted; what is not is seen and refused."""
        if self.dice.random() < 0.9:
            files = without_errors(files)
        self.files = files
        self.plane.files.files = texts_of(files)

    def step(self, what: str) -> Iterator[str]:
        """Passes until nothing is due for some hours."""
        plane = self.plane
        until = plane.clock.at + _STEP
        yield f"{what} at {plane.clock.at}"
        for _ in range(_MOST_PASSES):
            report = plane.control.run_pass()
            yield from self.store.taken()
            yield f"pass: {report.next_look}, {report.refusal}, {dict(report.unavailable)}, {report.endings}"
            if report.wrote:
                continue
            if report.next_look is None or report.next_look > until:
                break
            plane.clock.at = report.next_look


def _ask(plane: Plane, dice: Random, number: int) -> None:
    fleet = plane.control.fleet
    if fleet is None:
        return
    owner = dice.choice(fleet.plan.owners) if fleet.plan.owners else None
    if owner is None:
        return
    rollout = owner.rollout
    verb = dice.choice(_VERBS)
    name = rollout.name if rollout is not None and verb != "start" else owner.change.owner.name
    stage = dice.choice(rollout.policy.stages).name if rollout is not None and rollout.policy.stages else "deletes"
    request = RolloutRequest(
        verb=verb,
        name=name,
        who=dice.choice(_PEOPLE),
        organization=owner.change.owner.organization,
        stage=stage if verb == "approve" else "",
        reason="so" if dice.random() < 0.5 else "",
        emergency=verb == "start" and dice.random() < 0.5,
        supersede=verb == "start" and dice.random() < 0.7,
        key=f"{number}",
    )
    plane.control.ask(request)
