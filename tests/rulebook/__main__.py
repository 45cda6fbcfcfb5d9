"""`PYTHONPATH=tests python -m rulebook --seeds 5000`: many fleets; `--seed 17`: one again."""

from __future__ import annotations

import argparse
import sys

from rulebook.comparing import disagreements, shown, shrunk
from rulebook.inventing import Invented, invented
from rulebook.laws import LAWS


def main() -> int:
    parser = argparse.ArgumentParser(prog="rulebook", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000, help="how many fleets")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first")
    parser.add_argument("--seed", type=int, help="this one alone")
    asked = parser.parse_args()
    seeds = [asked.seed] if asked.seed is not None else range(asked.first, asked.first + asked.seeds)
    failed = []
    for seed in seeds:
        fleet = invented(seed)
        broken = [f"# seed {seed}\n# {law.__doc__} {what}\n" for law in LAWS if (what := law(fleet)) is not None]
        broken += [report(seed)] if disagreements(fleet) else []
        if broken:
            failed.append(seed)
            print(*broken, sep="\n", flush=True)
    which = f": {', '.join(map(str, failed[:50]))}" if failed else ""
    print(f"{len(seeds)} fleets, {len(failed)} disagree or break a law{which}")
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
