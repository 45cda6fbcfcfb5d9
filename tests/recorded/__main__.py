"""All that is told in a case, or what of it differs from an earlier revision of the product.

`PYTHONPATH=tests python -m recorded edits values 3`, `… --since main`.
"""

from __future__ import annotations

import argparse
import difflib
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from recorded.kept import KINDS
from recorded.pages import TESTS, pages


def main() -> int:
    parser = argparse.ArgumentParser(prog="recorded", description=__doc__)
    parser.add_argument("kind", choices=list(KINDS))
    parser.add_argument("page", choices=sorted(pages()), metavar="page")
    parser.add_argument("seed", type=int)
    parser.add_argument("--since", metavar="REVISION", help="only what that revision of the product told otherwise")
    asked = parser.parse_args()
    lines = list(KINDS[asked.kind](pages()[asked.page], asked.seed))
    if asked.since is None:
        print("\n".join(lines))
        return 0
    before = _told_by(asked.since, [asked.kind, asked.page, str(asked.seed)])
    found = difflib.unified_diff(before, lines, asked.since, "now", lineterm="", n=2)
    print("\n".join(found))
    return 0


def _told_by(revision: str, case: list[str]) -> list[str]:
    """The same case, told by the product as it was."""
    with TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", revision, "src"], cwd=TESTS.parent, capture_output=True)
        if archive.returncode:
            raise SystemExit(archive.stderr.decode().strip())
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        path = os.pathsep.join([str(Path(folder) / "src"), str(TESTS)])
        command = [sys.executable, "-m", "recorded", *case]
        done = subprocess.run(
            command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True
        )
    return done.stdout.splitlines()


if __name__ == "__main__":
    sys.exit(main())
