"""`PYTHONPATH=tests python -m rulebook --seeds 5000`: many fleets; `--seed 17`: one again."""

from __future__ import annotations

import argparse
import sys

from rulebook.comparing import disagreements, shown, shrunk
from rulebook.inventing import Invented, invented


def main() -> int:
    parser = argparse.ArgumentParser(prog="rulebook", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000, help="how many fleets")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first")
    parser.add_argument("--seed", type=int, help="this one alone")
    asked = parser.parse_args()
    seeds = [asked.seed] if asked.seed is not None else range(asked.first, asked.first + asked.seeds)
    failed = []
    for seed in seeds:
        if disagreements(invented(seed)):
            failed.append(seed)
            print(report(seed), flush=True)
    print(f"{len(seeds)} fleets, {len(failed)} disagree{': ' if failed else ''}{', '.join(map(str, failed[:50]))}")
    return 1 if failed else 0


def report(seed: int) -> str:
    """A disagreement made small: the fleet, what the rules say, what Fleetform says."""
    fleet = invented(seed)
    what = disagreements(fleet)[0].what

    def still(smaller: Invented) -> bool:
        return any(each.what == what for each in disagreements(smaller))

    fleet = shrunk(fleet, still)
    return f"# seed {seed}\n{shown(fleet, disagreements(fleet))}\n"


if __name__ == "__main__":
    sys.exit(main())
