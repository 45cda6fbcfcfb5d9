"""Mutants: small faults put into the product one at a time, to see whether a test notices.

    make mutants                        60 of everything, seeded
    make mutants N=300 SEED=2           more of them
    make mutants SINCE=main             only of lines that a change touches
    make mutants IN=engine/options      only here; 'engine/versions/choose.py _forced' is one function

A first run measures which test runs which line, kept until the product or the tests change. Each mutant is then met by
the tests that run its line, cheap ones first, until one fails. A mutant that no test notices is a survivor: behaviour
without a test, or a fault that makes no difference; the latter stand in tools/mutants/equal.txt, with the reason. What
was found is kept: a run that ends early, or that is asked for again after a new test, tries only what is not known.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tools.mutants.children import Child
from tools.mutants.equal import LIST, EqualMutants
from tools.mutants.faults import Mutant, sample
from tools.mutants.runs import ROOT, Runs, Test, measure, opened, states_of_tests
from tools.mutants.trials import Trial, WarmRoom, fresh_child, killer

_SHOWN = 8
# What has begun may end after the time that was given.
_LAST = 3600


class Verdict(NamedTuple):
    """Which test noticed a mutant, if one did, and how many were to run."""

    killer: str | None
    tried: int


class Verdicts:
    """What is known of mutants, as long as what it was found with stays the same."""

    def __init__(self, kept: sqlite3.Connection, states: Mapping[str, str]) -> None:
        self._kept = kept
        self._states = states
        self._all = ",".join(sorted(self._states.values()))

    def known(self, mutant: Mutant) -> Verdict | None:
        row = self._kept.execute("select state, killer, tried from verdicts where mutant = ?", (mutant.id,)).fetchone()
        return Verdict(*row[1:]) if row and row[0] == self._state(row[1]) else None

    def keep(self, mutant: Mutant, verdict: Verdict) -> None:
        row = (mutant.id, self._state(verdict.killer), *verdict)
        self._kept.execute("insert or replace into verdicts values (?, ?, ?, ?)", row)
        self._kept.commit()

    def forget(self, mutant: Mutant) -> None:
        self._kept.execute("delete from verdicts where mutant = ?", (mutant.id,))
        self._kept.commit()

    def _state(self, noticed_by: str | None) -> str:
        """One test is enough to notice a mutant; that none does is true of all of them together."""
        return self._states.get((noticed_by or "").partition("::")[0], self._all)


class Session:
    """Mutants tried as long as there is time, and what becomes of them."""

    def __init__(self, verdicts: Verdicts, jobs: int, until: float) -> None:
        self._verdicts = verdicts
        self._jobs = jobs
        self._until = until
        # What tests print goes to a file, in this process, too.
        self._shown = os.fdopen(os.dup(2), "w")

    def try_out(self, trials: Sequence[Trial], begin: Callable[[Trial], Child]) -> None:
        left = list(trials)
        running: dict[Child, Trial] = {}
        while left or running:
            while left and len(running) < self._jobs and time.monotonic() < self._until:
                trial = left.pop(0)
                running[begin(trial)] = trial
            if not running:
                break
            for child in Child.ended(running):
                trial = running.pop(child)
                found = killer(child)
                self._verdicts.keep(trial.mutant, Verdict(found, len(trial.tests)))
                print("." if found else "S", end="", file=self._shown, flush=True)

    def in_room(self, trials: Sequence[Trial], room: WarmRoom) -> None:
        """Those that a warm room can take. What noticed them must pass where there is no fault."""
        taken = [each for each in trials if room.can_take(each.mutant)]
        self.try_out(taken, room.child)
        killers = {verdict.killer for each in taken if (verdict := self._verdicts.known(each.mutant)) is not None}
        failing = room.failing(
            [test for test in {test for each in taken for test in each.tests} if test.name in killers]
        )
        for each in taken:
            verdict = self._verdicts.known(each.mutant)
            if verdict is not None and verdict.killer in failing:
                print(f"\n{verdict.killer} fails without a fault, too", file=self._shown)
                self._verdicts.forget(each.mutant)


def try_all(chosen: Sequence[Mutant], runs: Runs, given: argparse.Namespace, until: float) -> Verdicts:
    """Tries what is not known yet: in a warm room what can be, the rest in processes that import the product anew."""
    # As the files are now: whoever edits tests meanwhile finds them tried at the next run.
    states = states_of_tests()
    verdicts = Verdicts(opened(), states)
    trials = [
        Trial(mutant, list(_within(given.seconds, runs.tests_of(mutant.file, mutant.lines))))
        for mutant in chosen
        if verdicts.known(mutant) is None
    ]
    for each in trials:
        if not each.tests:
            verdicts.keep(each.mutant, Verdict(None, 0))
    warm = [each for each in trials if each.tests and not runs.while_reading(each.mutant.file, each.mutant.lines)]
    files = sorted({test.file for each in warm for test in each.tests})

    def work(said: int, scratch: Path) -> None:
        # A connection of its own: SQLite's do not live in two processes.
        session = Session(Verdicts(opened(), states), given.jobs, until)
        WarmRoom.enter(files, lambda room: session.in_room(warm, room))

    if warm:
        Child.ended([Child(work, max(0.0, until - time.monotonic()) + _LAST)])
    fresh = [each for each in trials if verdicts.known(each.mutant) is None]
    Session(verdicts, given.jobs, until).try_out(fresh, fresh_child)
    print(file=sys.stderr)
    return verdicts


def _within(seconds: float, tests: Iterable[Test]) -> Iterator[Test]:
    """The first test, and those after it that still fit."""
    used = 0.0
    for test in tests:
        if not used or used + test.seconds <= seconds:
            used += test.seconds
            yield test


def _report(chosen: Sequence[Mutant], runs: Runs, verdicts: Verdicts) -> None:
    equal = EqualMutants.kept()
    known = {mutant: verdict for mutant in chosen if (verdict := verdicts.known(mutant)) is not None}
    survivors = [mutant for mutant, verdict in known.items() if verdict.killer is None]
    for mutant in survivors:
        if equal.reason(mutant) is None:
            tests = runs.tests_of(mutant.file, mutant.lines)
            print(f"survives {known[mutant].tried} of {len(tests)} tests that run it\n{mutant}")
            print("".join(f"    {each.name}\n" for each in tests[:_SHOWN]))
    explained = sum(equal.reason(mutant) is not None for mutant in survivors)
    killed = len(known) - len(survivors)
    print(f"{killed} of {len(known)} mutants killed ({_share(killed, len(known))})", end="")
    print(f"; {explained} of the others are equal, and {len(survivors) - explained} are not explained")
    if len(known) < len(chosen):
        print(f"{len(chosen) - len(known)} were not tried for want of time: the same command goes on with them")
    for place in equal.gone():
        print(f"{LIST.relative_to(ROOT)}: there is no {place} any more")


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else "none was tried"


def _changed_lines(since: str) -> dict[Path, set[int]]:
    """The lines of each file that differ from a revision."""
    command = ["git", "diff", "-U0", since, "--", "src"]
    out = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found: dict[Path, set[int]] = {}
    file = ROOT
    for line in out.split("\n"):
        if line.startswith("+++ b/"):
            file = ROOT / line.removeprefix("+++ b/")
        elif line.startswith("@@"):
            first, _, count = line.split("+")[1].split(" ")[0].partition(",")
            found.setdefault(file, set()).update(range(int(first), int(first) + int(count or 1)))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-n", type=int, default=60, help="how many")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--since", help="only lines that differ from this revision")
    parser.add_argument(
        "--within", default="", help="only places that begin so: a path below src/fleetform, a function"
    )
    parser.add_argument(
        "--seconds", type=float, default=40, help="of tests that run a line, those that fit into this time"
    )
    parser.add_argument("--minutes", type=float, default=24 * 60, help="begin nothing after this time")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    until = time.monotonic() + 60 * given.minutes
    changed = _changed_lines(given.since) if given.since is not None else None
    chosen = sample(given.n, given.seed, changed, given.within)
    kept = opened()
    not_measured = measure(kept, given.jobs, until)
    if not_measured:
        print(f"{not_measured} test files are not measured yet: the same command goes on with them")
        return 1
    runs = Runs(kept)
    _report(chosen, runs, try_all(chosen, runs, given, until))
    return 0


if __name__ == "__main__":
    sys.exit(main())
