"""Answers as `-o json` prints them: verbs whose records are turned into plain data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from fleetform.app import diff as diffing
from fleetform.app import explain as explaining
from fleetform.app import get as getting
from fleetform.app import validate as validating
from fleetform.app.fleet import Fleet
from fleetform.app.scope import Scope
from fleetform.model.answers import base
from fleetform.model.results.decisions import PluginDecision
from fleetform.model.results.diagnostics import Diagnostic

Answer = dict[str, Any]
MASKED: Answer = msgspec.to_builtins(base.MASKED)


def get(fleet: Fleet, scope: Scope, plural: str, names: Iterable[str] = ()) -> Answer:
    return plain(getting.get(fleet, scope, plural, names))


def explain(fleet: Fleet, plugin: PluginDecision, option: str | None = None) -> Answer:
    return plain(explaining.explain(fleet, plugin, option))


def diff(before: Fleet, after: Fleet, scope: Scope) -> Answer:
    return plain(diffing.diff(before, after, scope))


def validate(fleet: Fleet, more: Sequence[Diagnostic] = ()) -> Answer:
    return plain(validating.validate(fleet, more))


def plain(answer: base.AnswerRecord) -> Answer:
    found: Answer = msgspec.to_builtins(answer)
    return found
