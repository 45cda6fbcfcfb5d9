"""Asks plugins about an object, and settles what they answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from msgspec import UNSET

from fleetform.engine.transform.apply import apply_settled
from fleetform.engine.transform.priorities import PluginNames, by_index, prioritise
from fleetform.engine.transform.records import Ignored, Kept, NewResource, Proposal, Response, Settled, TransformError
from fleetform.engine.transform.settle import settle
from fleetform.syntax.json_patch import Operation, PatchError, parse_operation, parse_patch
from fleetform.syntax.printable import printable
from fleetform.transform.views import plain, read_only, unwrapped
from fleetform.transform.wire import WireError, parse_reply

# What a plugin may answer: a Response, operations, a reply as the wire format has it, or nothing.
Answer = Response | Mapping[str, Any] | Sequence[Operation | Mapping[str, Any]] | None


class Plugin(Protocol):
    """Something with a name that answers for an object. It may also have a file, by which priorities may call it."""

    @property
    def name(self) -> str: ...

    def run(self, resource: Mapping[str, Any], /) -> Answer: ...


class PluginError(Exception):
    """A plugin cannot answer for an object."""


class Failure(NamedTuple):
    """A plugin that failed on an object, and what it says."""

    plugin: str
    message: str


class Outcome(NamedTuple):
    """What a run gives for one object. A failure beats a whiteout, which beats patches (R4-5)."""

    resource: Mapping[str, Any]
    settled: Settled
    failures: tuple[Failure, ...] = ()

    @property
    def kept(self) -> tuple[Kept, ...]:
        return self.settled.kept

    @property
    def ignored(self) -> tuple[Ignored, ...]:
        return self.settled.ignored

    @property
    def whiteouts(self) -> tuple[str, ...]:
        return self.settled.whiteouts

    @property
    def new_resources(self) -> tuple[NewResource, ...]:
        return self.settled.new_resources

    def transformed(self) -> dict[str, Any] | None:
        """The object with what is kept; None where it is left out. The object before is unchanged."""
        if self.failures:
            failed = self.failures[0]
            raise TransformError(f"{failed.plugin} failed: {failed.message}", "nothing of this object was transformed")
        return apply_settled(plain(self.resource), self.settled)


class Runner:
    """Plugins in run order, with priorities that belong to this run (R4-17).

    Priorities are a map of names to numbers, of which the lower wins and any wins over none, or a list of names, of
    which the earlier wins. unknown are names among them that no plugin has.
    """

    def __init__(self, plugins: Sequence[Plugin], priorities: Mapping[str, int] | Sequence[str] = ()) -> None:
        self.plugins = tuple(plugins)
        wanted = priorities if isinstance(priorities, Mapping) else by_index(priorities)
        names = [PluginNames(each.name, getattr(each, "file", "")) for each in self.plugins]
        self._priorities, self.unknown = prioritise(wanted, names)

    def run(self, resource: Mapping[str, Any]) -> Outcome:
        """Ask every plugin about the object, and settle what they answer."""
        view = read_only(resource)
        return self.settle(resource, [ask(each, view) for each in self.plugins])

    def settle(self, resource: Mapping[str, Any], answers: Sequence[Response | Failure]) -> Outcome:
        """Settle answers that are there already, one for each plugin."""
        responses = [each if isinstance(each, Response) else Response() for each in answers]
        proposals = [
            Proposal(plugin.name, response, priority)
            for plugin, response, priority in zip(self.plugins, responses, self._priorities, strict=True)
        ]
        failures = tuple([each for each in answers if isinstance(each, Failure)])
        if failures:
            return Outcome(
                resource,
                Settled(whiteouts=tuple(each.plugin for each in proposals if each.response.whiteout)),
                failures,
            )
        return Outcome(resource, settle(plain(resource), proposals))


def ask(plugin: Plugin, resource: Mapping[str, Any]) -> Response | Failure:
    """What a plugin answers for an object. Whatever it raises is its failure, and nobody else's."""
    try:
        return as_response(plugin.run(resource))
    except (PluginError, WireError, PatchError) as error:
        return Failure(plugin.name, printable(str(error)))
    except (Exception, SystemExit) as error:
        return Failure(plugin.name, printable(f"{type(error).__name__}: {error}"))


def as_response(answer: Answer) -> Response:
    """An answer in whichever form; operations are checked here, once."""
    if answer is None:
        return Response()
    if isinstance(answer, Response):
        if all(map(_is_sound, answer.operations)) and not answer.new_resources:
            return answer
        operations = [parse_operation(each, number) for number, each in enumerate(answer.operations)]
        new = unwrapped(answer.new_resources)
        found = Response(tuple(operations), answer.whiteout, tuple(new), answer.changes_identity)
    elif isinstance(answer, Mapping):
        found = parse_reply(answer)
    else:
        found = Response(parse_patch([unwrapped(each) for each in answer]))
    for tree in (*(each.value for each in found.operations), *found.new_resources):
        if not _is_json(tree):
            raise PluginError(f"it answers with a value that JSON does not have: {tree!r}")
    return found


def _is_sound(operation: Operation) -> bool:
    """Whether an operation needs no closer look: most set or remove something at a path without escapes."""
    if operation.__class__ is not Operation or operation.path[:1] != "/" or "~" in operation.path:
        return False
    return operation.op == "remove" or (operation.op in ("add", "replace") and _is_json(operation.value, True))


def _is_json(tree: Any, must_be: bool = False) -> bool:
    """Whether a value is one of JSON; no value at all is, unless there must be one."""
    kind = tree.__class__
    if kind in _SINGLE:
        return True
    if kind is dict:
        return all(key.__class__ is str and _is_json(each, True) for key, each in tree.items())
    if kind is list:
        return all(_is_json(each, True) for each in tree)
    return tree is UNSET and not must_be


_SINGLE = frozenset({str, int, float, bool, type(None)})
