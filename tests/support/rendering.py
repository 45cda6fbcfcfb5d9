"""Fixtures of tests that render with the real tools: the tools, a place to render in, and no proxies.

A conftest.py that imports them gives them to the tests of its folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from support.kit import Place, path_with, tools
from support.repositories import PLAIN_GIT


@pytest.fixture(scope="session")
def tools_folder() -> Path:
    """Where helm and kubectl are."""
    return tools()


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, tools_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tools on the path, and nothing of the user's own."""
    monkeypatch.setenv("PATH", path_with(tools_folder))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    for name, value in PLAIN_GIT.items():
        monkeypatch.setenv(name, value)
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name in ("FLEETFORM_HELM", "FLEETFORM_KUSTOMIZE"):
            monkeypatch.delenv(name)
    monkeypatch.setattr("fleetform.outside.http._PAUSES", (0.0, 0.0))


@pytest.fixture(autouse=True)
def clients_are_closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    made: list[httpx2.Client] = []

    def new_client(timeout: float, trust_env: bool = True) -> httpx2.Client:
        made.append(httpx2.Client(timeout=timeout))
        return made[-1]

    monkeypatch.setattr("fleetform.outside.http.new_client", new_client)
    yield
    assert all(each.is_closed for each in made)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)
