"""Changes by their cause: one edited object is one block, however many definitions it touches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fleetform.app.diff import signature
from fleetform.model.answers.base import Json, ObjectReference
from fleetform.model.answers.diff import ChangedPlugin, Diff


class CauseRow(NamedTuple):
    """One option that went from one value to another, by owner; and on how many clusters."""

    path: str
    before: Json
    after: Json
    owners: list[str]
    clusters: int


class CauseBlock(NamedTuple):
    """An object that alone makes plugins of several owners differ."""

    cause: ObjectReference
    members: list[ChangedPlugin]

    @property
    def clusters(self) -> int:
        return len({(each.organization, each.cluster) for each in self.members})

    def rows(self) -> Iterator[CauseRow]:
        """What it changes, the most common first."""
        found: dict[str, list[tuple[ChangedPlugin, Json, Json, str]]] = {}
        for change in self.members:
            for option in change.options:
                key = repr((option.path, option.from_, option.to))
                found.setdefault(key, []).append((change, option.from_, option.to, option.path))
        for alike in sorted(found.values(), key=lambda each: (-len(each), each[0][3])):
            owners = sorted({change.preset or change.plugin for change, *_ in alike})
            clusters = len({(change.organization, change.cluster) for change, *_ in alike})
            _, before, after, path = alike[0]
            yield CauseRow(path, before, after, owners, clusters)


def by_cause(answer: Diff) -> tuple[list[CauseBlock], list[list[ChangedPlugin]]]:
    """Blocks of causes that make several different changes, and all other changes, those that are alike together."""
    of_cause: dict[tuple[str, str, str], list[ChangedPlugin]] = {}
    causes: dict[tuple[str, str, str], ObjectReference] = {}
    for change in answer.changes:
        cause = _only_cause(change)
        if cause is not None:
            key = (cause.kind, cause.organization, cause.name)
            causes.setdefault(key, cause)
            of_cause.setdefault(key, []).append(change)
    blocks: list[CauseBlock] = []
    inside: set[int] = set()
    for key, members in of_cause.items():
        # What is one group by itself needs no block around it.
        if len({signature(each) for each in members}) > 1:
            blocks.append(CauseBlock(causes[key], members))
            inside.update(id(each) for each in members)
    blocks.sort(key=lambda block: (-len(block.members), block.cause.name))
    return blocks, _alike([each for each in answer.changes if id(each) not in inside])


def _alike(changes: Sequence[ChangedPlugin]) -> list[list[ChangedPlugin]]:
    """Changes that are the same but for the cluster, the most common first."""
    groups: dict[str, list[ChangedPlugin]] = {}
    for change in changes:
        groups.setdefault(signature(change), []).append(change)
    return sorted(groups.values(), key=lambda members: (-len(members), members[0].plugin))


def _only_cause(change: ChangedPlugin) -> ObjectReference | None:
    """The object that makes all of a change, if there is one and nothing else differs."""
    more = change.variables or change.configs or change.blocked or change.manifests or change.also
    if change.action != "reconfigure" or more or not change.options:
        return None
    causes = [each.cause for each in change.options]
    first = causes[0]
    if first is None or any(each is None or (each.kind, each.name) != (first.kind, first.name) for each in causes):
        return None
    return first
