"""Fleets that are delivered to real API servers, as several files of tests have them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.api_servers import ApiServer
from support.workloads import OPTIONS, TOKEN, WITH_SECRET, Started, Workloads


@pytest.fixture
def start(tmp_path: Path, workload_servers: list[ApiServer]) -> Iterator[Started]:
    made: list[Workloads] = []

    def start(clusters: int = 1, **delivery: Any) -> Workloads:
        made.append(Workloads(tmp_path, workload_servers[:clusters], **delivery))
        return made[-1]

    yield start
    for each in made:
        each.close()


@pytest.fixture
def fleet(tmp_path: Path, workload_servers: list[ApiServer]) -> Iterator[Workloads]:
    """One cluster, on which a Secret is made of a value that refers to one."""
    found = Workloads(tmp_path, workload_servers[:1])
    found.keep_secret("web", token="tell-nobody")
    found.offer("1.0.1", WITH_SECRET, options=OPTIONS)
    found.write_preset(optionValues=[TOKEN])
    yield found
    found.close()
