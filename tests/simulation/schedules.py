"""Random schedules: a seed draws what people and clusters do, which kinds of faults there are, and when they happen."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

from simulation.faults import KINDS, OLDER_FILES, Fault, Where
from simulation.laws import LawBrokenError, law
from simulation.scripts import (
    Act,
    abort,
    answers,
    approve,
    edit,
    heal,
    health,
    join,
    leave,
    pause,
    release,
    replace_it,
    resume,
    retry,
    roll_back,
    silence,
    wait,
    went_back,
)
from simulation.situations import open_rollouts
from simulation.world import World

_LAST = "9.0.0"
_PASSES, _COMMITS, _DELIVERIES = 45, 60, 14


class Schedule(NamedTuple):
    """What happens; after that comes an ending, in which everything gets where it should be."""

    seed: int
    script: Sequence[Act]
    faults: Sequence[Fault]

    @property
    def ending(self) -> list[Act]:
        """Whatever still runs goes first; each rollout may need somebody's consent.

        So may one more wherever files were those before the last edit: what they said replaced a rollout, and what was
        agreed to then is void (B8, B26). And where a clock was set forward over a window, what ran before ends later.
        """
        later = sum(each.kind in (OLDER_FILES, "clock-forward") for each in self.faults)
        again = [approve, wait(13)] * later
        last = [release(_LAST), wait(3), approve, wait(8), approve, wait(13)]
        return [heal, resume, wait(3), went_back, *last, *again]

    def __str__(self) -> str:
        script = " ".join(each.name for each in self.script)
        faults = " ".join(f"{each.where}-{each.number}:{each.kind}" for each in self.faults)
        return f"seed {self.seed}\n  script: {script}\n  faults: {faults}"


def drawn(seed: int) -> Schedule:
    chance = Random(seed)
    script = [wait(2), approve, wait(3)]
    for number in range(1, chance.randint(1, 2) + 1):
        script += _chapter(chance, f"1.{number}.0", f"1.{number - 1}.0")
    return Schedule(seed, _with_silence(Random(f"silence {seed}"), script), _faults(chance))


def _chapter(chance: Random, version: str, before: str) -> list[Act]:
    """A change, and what may come across it."""
    cluster = chance.choice(["eu-1", "eu-2", "us-1"])
    first = chance.choice(
        [
            [release(version)],
            [health(cluster, version, "Failed"), release(version)],
            [health(cluster, version, "Failed"), health(cluster, before, "Failed"), release(version)],
            [edit("replicas", replicas=chance.randint(3, 9))],
            [health(cluster, version, "Failed"), release(version, replicas=chance.randint(3, 9))],
            [
                *(health("eu-2", version, "Unknown"), release(version), wait(0.1), pause, wait(0.05), resume),
                *(edit("replicas", replicas=chance.randint(3, 9)), wait(0.1), health("eu-2", version, "Healthy")),
            ],
            [edit("supersede", supersede="Replace"), release(version)],
        ]
    )
    across = chance.choice(
        [
            *([], [], [join("us-2")], [join("eu-3")], [leave("us-1")], [leave("eu-2")]),
            *([pause, wait(0.1), resume], [replace_it], [abort, wait(0.1), retry], [roll_back], [retry]),
        ]
    )
    early = [approve] if chance.random() < 0.4 else []
    late = [approve] if chance.random() < 0.6 else []
    hours = [wait(chance.choice([0.2, 1.5, 3, 6])) for _ in range(3)]
    return [*first, hours[0], *early, *across, hours[1], *late, hours[2]]


def _with_silence(chance: Random, script: list[Act]) -> list[Act]:
    """In some runs a cluster does not answer for long, and mostly does again before the end."""
    if chance.random() < 0.5:
        return script
    cluster = chance.choice(["eu-1", "eu-2", "us-1", "us-2", "eu-3"])
    begin = chance.randint(3, len(script))
    end = chance.randint(begin, len(script) + 3)
    back = [answers(cluster)] if end <= len(script) else []
    return [*script[:begin], silence(cluster), *script[begin:end], *back, *script[end:]]


def _faults(chance: Random) -> list[Fault]:
    """Each run has some kinds of faults and not others: what two rare ones do together comes up sooner."""
    every: list[tuple[Where, str]] = [(where, kind) for where, kinds in KINDS.items() for kind in kinds]
    every.append(("pass", OLDER_FILES))
    kinds = chance.sample(every, chance.randint(2, 8))
    most = {"pass": _PASSES, "commit": _COMMITS, "delivery": _DELIVERIES}
    found = {}
    for _ in range(chance.randint(2, 10)):
        where, kind = chance.choice(kinds)
        fault = Fault(where, chance.randint(1, most[where]), kind)
        found[fault[:2]] = fault
    return sorted(found.values())


def played(schedule: Schedule) -> World:
    """Plays it to its end: everything runs what was released last, nothing is on its way, and all is at rest."""
    world = World([*schedule.script, *schedule.ending], schedule.faults).play()
    law("end", world.versions == dict.fromkeys(sorted(world.fleet.wanted), _LAST), f"{world.versions}")
    law("end", not open_rollouts(world.image), "a rollout is still open")
    return world


def shrunk(schedule: Schedule) -> Schedule:
    """With fewer faults, and less that people do, as long as the same law is broken."""
    broken, smaller = _broken(schedule), True
    while smaller:
        smaller = False
        for part in ("faults", "script"):
            every: list[Any] = getattr(schedule, part)
            for index in range(len(every)):
                other = schedule._replace(**{part: [*every[:index], *every[index + 1 :]]})  # type: ignore[arg-type]
                if _broken(other) == broken:
                    schedule, smaller = other, True
                    break
    return schedule


def _broken(schedule: Schedule) -> str:
    """The law that it breaks."""
    try:
        played(schedule)
    except LawBrokenError as error:
        return error.law
    except AssertionError as error:
        return type(error).__name__
    return ""
