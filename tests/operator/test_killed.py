"""The operator, killed at every kind of write of a rollout on real API servers: it ends as an undisturbed one does.

`make soak` kills it at every single write.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.api_servers import ApiServers
from support.operator_kills import KINDS, kills
from support.waiting import until


@pytest.mark.rule("B1", "R0-19")
def test_killed_at_each_kind_of_write_it_ends_the_same(api_servers: ApiServers, tmp_path: Path) -> None:
    with kills(api_servers, tmp_path) as found:
        # Each is killed while it goes on with what the one before it left.
        left = [(kind, ("before", "after")[number % 2]) for number, kind in enumerate(KINDS)]
        found.release()
        while left:
            kind, moment = left[0]
            found.start(kind, 1, "before" if moment == "before" else "after")
            until(lambda: found.was_killed or found.is_settled)
            if found.was_killed:
                left.pop(0)
            else:
                # It came to its end without such a write: another release has one.
                found.wait_for_the_end()
                found.stop()
                found.release()
        found.start()
        found.wait_for_the_end()
        assert "Traceback" not in found.log()
