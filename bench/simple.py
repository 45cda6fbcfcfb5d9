"""The simple resolver of the tests, for the ratio."""

from __future__ import annotations

import sys

from bench.fresh import ROOT

sys.path.insert(0, str(ROOT / "tests"))

from support.oracle import PluginAnswer, resolve_simply

__all__ = ["PluginAnswer", "resolve_simply"]
