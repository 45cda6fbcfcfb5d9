"""What all tests share."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

# Tests are not timed: what is fast enough on a quiet machine must not fail on a busy one.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

ROOT = Path(__file__).parent.parent


@pytest.fixture
def root() -> Path:
    """The repository."""
    return ROOT
