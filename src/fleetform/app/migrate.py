"""convert --migrate: the edits that write into people's files what migrations do in memory.

A value is rewritten only where every plugin it reaches reads it as the new one: as long as one still runs the older
version, it needs the value as it was written.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from msgspec import UNSET, structs

from fleetform.app.answering.references import reference
from fleetform.app.fleet import Fleet
from fleetform.engine.check.values import misfit
from fleetform.engine.report.effects import hidden_items, winning_items
from fleetform.model.answers.base import MASKED, Json
from fleetform.model.answers.conversion import MigrationEdit, MigrationResult, UnmadeEdit
from fleetform.model.kinds.preset import PluginOverrideSpec
from fleetform.model.objects import At, Object, Path
from fleetform.model.results.decisions import ABSENT, Item, PluginDecision, Shared, Slot, Steps
from fleetform.ports.files import Files
from fleetform.ports.inputs import Locator
from fleetform.syntax.option_paths import normal_form, parse_path, text_of
from fleetform.syntax.trees import same_value
from fleetform.syntax.variables import variable_references_in
from fleetform.syntax.yaml_edit import Edit, EditError, Remove, RenameKey, Replace, edit_yaml
from fleetform.syntax.yaml_spans import line_starts

# A value that somebody wrote: its object, the collection it stands in, and its place there.
Written = tuple[Object[object], Path, str | int]


class Outcome(NamedTuple):
    """How a plugin reads a value: where it goes (None: nowhere any more), and what becomes of it (ABSENT: it stays)."""

    steps: Steps | None
    value: Json = ABSENT


class Move(NamedTuple):
    """A value and how it is to be written instead."""

    item: Item
    outcome: Outcome
    secret: bool = False

    @property
    def at(self) -> At:
        return self.item.at

    @property
    def renamed(self) -> str | None:
        """Its new name, where it gets one."""
        steps = self.outcome.steps
        if steps is None or normal_form(steps) == normal_form(parse_path(self.item.text)):
            return None
        return text_of(steps)


class Migration(NamedTuple):
    """New texts of files, the moves they hold, and the moves that cannot be made, with the reason."""

    files: dict[str, str]
    moves: list[Move]
    left: list[tuple[Move, str]]


def migrate(fleet: Fleet, files: Files) -> Migration:
    """What to write. Files are read as they are now; one that cannot be edited safely is left alone."""
    moves, left = _settled(_Readings(fleet))
    moves, left = _keeping_one(moves, left)
    by_file: dict[str, list[Move]] = {}
    for move in moves:
        by_file.setdefault(move.at.origin.file, []).append(move)
    texts, made = {}, []
    for file, members in sorted(by_file.items()):
        try:
            text = files.read(file)
            texts[file] = _edited(text, members)
            made += members
        except (EditError, OSError, UnicodeDecodeError) as error:
            left += [(move, f"{file} cannot be edited: {error}") for move in members]
    return Migration(texts, made, left)


def _edited(text: str, moves: list[Move]) -> str:
    """A file's text with its moves made, document by document, the last one first: lines above stay where they are."""
    documents: dict[tuple[int, int], list[Edit]] = {}
    for move in moves:
        path, in_map = move.at.path, isinstance(move.item.index, str)
        edits = documents.setdefault((move.at.origin.first_line, move.at.origin.last_line), [])
        if move.outcome.steps is None:
            edits.append(Remove(path))
            continue
        if move.renamed is not None:
            name = "path" if move.item.layer.name == "override" else "name"
            edits.append(RenameKey(path, move.renamed) if in_map else Replace((*path, name), move.renamed))
        if move.outcome.value is not ABSENT:
            edits.append(Replace(path if in_map else (*path, "value"), move.outcome.value))
    starts = [*line_starts(text), len(text)]
    for lines in sorted(documents, reverse=True):
        start, end = starts[lines[0] - 1], starts[min(lines[1], len(starts) - 1)]
        text = text[:start] + edit_yaml(text[start:end], documents[lines]) + text[end:]
    return text


# ---- How plugins read values


class _Readings:
    """How every plugin reads every value, blocked upgrades among them: they read it in the old way and the new."""

    def __init__(self, fleet: Fleet) -> None:
        self.values: dict[Written, dict[str, tuple[Move, PluginDecision]]] = {}
        self._homes: dict[tuple[Object[object], Path], set[str | int]] = {}
        self._seen: set[Shared] = set()
        self._definitions = fleet.decisions.index.definitions
        # Those that another owner keeps from their release read what is written, too.
        candidates = [each for cluster in fleet.decisions.clusters.values() for each in cluster.candidates]
        plugins = [each for plugin in candidates for each in (plugin, plugin.upgrade)]
        for plugin in (each for each in plugins if each is not None):
            if plugin.shared not in self._seen:
                self._seen.add(plugin.shared)
                for settled in plugin.shared.options:
                    secret = _is_secret(settled.slot)
                    for item, inside in (*settled.below, *settled.above):
                        self._note(plugin, item, Outcome((*settled.start, *inside)), secret)
                for skipped in plugin.shared.skipped:
                    self._skip(plugin, skipped.item, skipped.reason)
            for decision in plugin.own:
                for item in (*winning_items(decision), *hidden_items(decision)):
                    self._note(plugin, item, Outcome(item.steps), _is_secret(decision.slot))
            for skipped in plugin.own_skipped:
                self._skip(plugin, skipped.item, skipped.reason)

    def beside(self, move: Move) -> str | None:
        """Another value of the same object that would meet this one where it goes: both there would not load, or count
        the items of one list together that they count one after the other now (S60)."""
        if move.renamed is None:
            return None
        home = (move.item.layer.object, move.item.collection)
        for index in sorted(self._homes[home] - {move.item.index}, key=str):
            for other, _ in self.values[*home, index].values():
                if other.outcome.steps is not None and _meet(move, other):
                    return text_of(other.outcome.steps)
        return None

    def misfit(self, move: Move, plugin: PluginDecision) -> str | None:
        """Why the new form of a value would be refused: by what reads it, or by a definition that an override names."""
        steps, item = move.outcome.steps, move.item
        if steps is None:
            return None
        value = item.value if move.outcome.value is ABSENT else move.outcome.value
        revision, spec = plugin.target.revision, item.layer.object.spec
        readers = [[revision] if revision is not None else []]
        if isinstance(spec, PluginOverrideSpec):
            for name in spec.plugin_definition_names or ():
                versions = self._definitions.of(item.layer.object.ref.organization, name)
                if versions and not spec.allow_undeclared and not any(each.find(steps) for each in versions):
                    return f"{name} has no option {text_of(steps)}"
                readers.append(versions)
        if value is ABSENT or variable_references_in(value):
            return None
        for versions in readers:
            matches = [match for each in versions if (match := each.find(steps)) is not None]
            problems = [misfit(*match, value, item.strategy, move.secret) for match in matches]
            if problems and all(problems):
                return problems[0]
        return None

    def _skip(self, plugin: PluginDecision, item: Item, reason: str) -> None:
        # What a revision does not know yet, or nobody declares, stays as it is.
        self._note(plugin, item, Outcome(None) if reason == "removed" else Outcome(item.steps))

    def _note(self, plugin: PluginDecision, item: Item, outcome: Outcome, secret: bool = False) -> None:
        if item.layer.name in ("default", "config"):
            # Written by the definition's author, or in an object that is none of ours.
            return
        if item.migrated_from is not None and outcome.steps is not None:
            outcome = Outcome(item.steps, item.value)
        key = (item.layer.object, item.collection, item.index)
        self._homes.setdefault(key[:2], set()).add(item.index)
        known = self.values.setdefault(key, {})
        known.setdefault(repr((outcome.steps, outcome.value)), (Move(item, outcome, secret), plugin))


def _meet(one: Move, other: Move) -> bool:
    """Whether two values would overlap, or be in one list that are in two as they are written."""
    to, there = normal_form(one.outcome.steps or ()), normal_form(other.outcome.steps or ())
    same = next((at for at, pair in enumerate(zip(to, there, strict=False)) if pair[0] != pair[1]), None)
    if same is None:
        return True
    if not (to[same].isdigit() and there[same].isdigit()):
        return False
    # Steps below a renamed option stay, so the list is found in what is written by counting from the end.
    lists = [normal_form(parse_path(each.item.text))[: same - len(end)] for each, end in ((one, to), (other, there))]
    return lists[0] != lists[1]


def _is_secret(slot: Slot) -> bool:
    return slot.secret or bool(slot.secret_inside)


def _settled(readings: _Readings) -> tuple[list[Move], list[tuple[Move, str]]]:
    """The moves that all plugins agree on, and those that some are not ready for."""
    moves: list[Move] = []
    left: list[tuple[Move, str]] = []
    for outcomes in readings.values.values():
        found = [(_as_written(move), plugin) for move, plugin in outcomes.values()]
        changing = [move for move, _ in found if _changes(move)]
        problems = [problem for move, plugin in found if (problem := readings.misfit(move, plugin)) is not None]
        staying = [plugin for move, plugin in found if not _changes(move)]
        if not changing:
            continue
        if staying:
            left.append((changing[0], f"{staying[0].cluster.ref.name} still reads it as it is"))
        elif len(changing) > 1:
            left.append((changing[0], "plugins read it in several ways"))
        elif (beside := readings.beside(changing[0])) is not None:
            left.append((changing[0], f"{beside} is set beside it already"))
        elif problems:
            left.append((changing[0], problems[0]))
        else:
            moves.append(changing[0])
    return sorted(moves, key=_place), sorted(left, key=lambda entry: _place(entry[0]))


def _keeping_one(moves: list[Move], left: list[tuple[Move, str]]) -> tuple[list[Move], list[tuple[Move, str]]]:
    """The moves without those that would leave nothing of an override: it would no longer load."""
    removed: dict[Object[object], list[Move]] = {}
    for move in moves:
        if move.outcome.steps is None and move.item.layer.name == "override":
            removed.setdefault(move.item.layer.object, []).append(move)
    emptied = {each for each, gone in removed.items() if len(gone) == len(getattr(each.spec, "overrides", ()))}
    kept = [each for each in moves if each.item.layer.object not in emptied]
    unmade = [
        (each, f"nothing would be left of {each.item.layer.object.ref.name}: delete it")
        for each in moves
        if each.item.layer.object in emptied
    ]
    return kept, sorted([*left, *unmade], key=lambda entry: _place(entry[0]))


def _place(move: Move) -> tuple[str, int, str]:
    return move.at.origin.file, move.at.origin.first_line, str(move.at.path)


def _as_written(move: Move) -> Move:
    """The move without a value if that is the one that stands there already: a migrated item holds the new one."""
    value, item = move.outcome.value, move.item
    if value is ABSENT:
        return move
    tree: Json = {"spec": msgspec.to_builtins(item.layer.object.spec)}
    for step in (*item.collection, item.index):
        tree = tree[step]
    written = tree.get("value", ABSENT) if isinstance(item.index, int) else tree
    if written is not ABSENT and same_value(value, written):
        return move._replace(outcome=move.outcome._replace(value=ABSENT))
    return move


def _changes(move: Move) -> bool:
    return move.outcome.steps is None or move.renamed is not None or move.outcome.value is not ABSENT


# ---- As an answer


def migration_result(fleet: Fleet, migration: Migration) -> MigrationResult:
    """The edits, and those that are not made."""
    locator = fleet.input.locator
    return MigrationResult(
        files=sorted(migration.files),
        edits=[_edit(move, locator) for move in migration.moves],
        left=[UnmadeEdit(**structs.asdict(_edit(move, locator)), reason=reason) for move, reason in migration.left],
        diagnostics=[],
    )


def _edit(move: Move, locator: Locator) -> MigrationEdit:
    value = move.outcome.value
    return MigrationEdit(
        path=move.item.text,
        action="remove" if move.outcome.steps is None else "rename" if move.renamed is not None else "retype",
        object=reference(move.item.layer.object.ref, move.at, locator),
        to=move.renamed if move.renamed is not None else UNSET,
        value=UNSET if value is ABSENT else MASKED if move.secret else value,
    )
