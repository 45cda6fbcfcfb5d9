"""Many random schedules, one of them again, every pair of faults, or the real process killed at every write on disk.

`PYTHONPATH=tests python -m simulation --schedules 100000`, `--replay 17`, `--pairs`, `--killed`, `--killed page fsync`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Sequence
from multiprocessing import Pool
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from simulation.exploring import explore
from simulation.fleet import FleetText
from simulation.killing import KINDS, Killing
from simulation.schedules import drawn, played, shrunk
from simulation.scripts import SHORT
from simulation.situations import SITUATIONS

# So many schedules are played in a row by one process; how often it is told how far they are.
_ROW, _TOLD = 50, 5000


def main() -> int:
    parser = argparse.ArgumentParser(prog="simulation", description=__doc__)
    parser.add_argument("--schedules", type=int, default=1000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="so many at once")
    parser.add_argument("--replay", type=int, metavar="SEED", help="this one alone, made small if it breaks a law")
    parser.add_argument("--pairs", action="store_true", help="every pair of faults of all kinds")
    killed = "the real process, killed at every write of these kinds, without any: of all"
    parser.add_argument("--killed", nargs="*", choices=KINDS, metavar="KIND", help=killed)
    asked = parser.parse_args()
    if asked.replay is not None:
        return _replay(asked.replay)
    if asked.pairs:
        found = explore(SHORT, FleetText(guarded=False))
        print(f"every pair of faults: {found.steps:,} steps between {found.worlds:,} distinct worlds")
        return 0
    if asked.killed is not None:
        return _killed(asked.killed or KINDS)
    seen: Counter[str] = Counter()
    failed: list[str] = []
    done = 0
    end = asked.first + asked.schedules
    rows = [range(first, min(first + _ROW, end)) for first in range(asked.first, end, _ROW)]
    with Pool(asked.jobs) as pool:
        for row in pool.imap_unordered(_row, rows):
            seen.update(row.seen)
            failed += row.failed
            done += row.played
            print("".join(row.failed), end="", flush=True)
            if done % _TOLD < row.played:
                print(f"{done:,} of {asked.schedules:,} played, {len(failed)} broke a law", file=sys.stderr, flush=True)
    for situation, count in seen.most_common():
        print(f"{count:8,}  {situation}", file=sys.stderr)
    missing = sorted(SITUATIONS - seen.keys())
    print(f"{asked.schedules:,} schedules, {len(failed)} broke a law; {len(missing)} situations never came up")
    print("".join(f"  never: {each}\n" for each in missing), end="")
    return 1 if failed or missing else 0


class _Row(NamedTuple):
    """What came of some schedules: which situations came up, and what is told of those that broke a law."""

    played: int
    seen: Counter[str]
    failed: list[str]


def _row(seeds: Sequence[int]) -> _Row:
    seen: Counter[str] = Counter()
    failed = []
    for seed in seeds:
        try:
            seen.update(played(drawn(seed)).situations)
        except AssertionError as error:
            failed.append(f"{drawn(seed)}\n  {error}\n  again: python -m simulation --replay {seed}\n")
    return _Row(len(seeds), seen, failed)


def _killed(kinds: Sequence[str]) -> int:
    failed = 0
    with TemporaryDirectory() as folder:
        killing = Killing(Path(folder))
        for kind in kinds:
            broken = []
            for number in range(1, killing.counts[kind] + 1):
                try:
                    killing.killed_at(kind, number)
                except AssertionError as error:
                    broken.append(number)
                    print(f"  {error}", flush=True)
            print(f"{killing.counts[kind]:8,}  killed at {kind}, {len(broken)} did not end as undisturbed", flush=True)
            failed += len(broken)
    return 1 if failed else 0


def _replay(seed: int) -> int:
    try:
        world = played(drawn(seed))
    except AssertionError as error:
        print(f"{drawn(seed)}\n  {error}\nmade small:")
        print(shrunk(drawn(seed)))
        return 1
    for each in world.witness.events:
        print(f"{each.at:%d %H:%M}  {each.cluster}  {each.event:<10}  {each.version}  {each.rollout}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
