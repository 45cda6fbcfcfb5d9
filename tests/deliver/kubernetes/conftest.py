from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.api_servers import ApiServer
from support.targets import KEY, OTHER, Target


@pytest.fixture
def target(hub: ApiServer, tmp_path: Path) -> Iterator[Target]:
    found = Target(hub, tmp_path)
    yield found
    # A plugin's inventory is found in whichever namespace it is.
    for key in (KEY, OTHER):
        found.remove(key)
    found.client.close()
