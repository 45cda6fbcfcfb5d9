"""What a release answers, plans, stores and tells is what the one before did, unless somebody meant it to be another.

Each case is a fleet of the transcripts or examples with edits by chance, or some days of a control plane that runs it;
of everything that is told there a digest is kept. A digest says that something differs, not what is right: rules have
tests of their own. `PYTHONPATH=tests python -m recorded edits values 3 --since main` shows what a change makes another.
Once that is what was meant: `APPROVE=1 .venv/bin/pytest -n 0 tests/recorded`.
"""

from __future__ import annotations

import os

import pytest

from recorded.kept import KINDS, digest, keep, kept, seeds
from recorded.pages import pages


@pytest.mark.rule("R0-14")
@pytest.mark.parametrize("page", sorted(pages()))
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_told_otherwise_than_before(kind: str, page: str) -> None:
    found = [digest(KINDS[kind](pages()[page], seed)) for seed in seeds(kind, page)]
    if "APPROVE" in os.environ:
        keep(kind, page, found)
    before = kept(kind).get(page, [])
    differing = [seed for seed in seeds(kind, page) if before[seed : seed + 1] != found[seed : seed + 1]]
    look = [f"PYTHONPATH=tests python -m recorded {kind} {page} {seed} --since main" for seed in differing[:3]]
    assert not differing, "something is told otherwise; what, say\n" + "\n".join(look)
