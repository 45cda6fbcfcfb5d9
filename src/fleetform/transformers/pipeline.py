"""Transforms and patches after a render: what a plugin on a cluster gets is what comes out here (B5).

It renders through another renderer, and changes what that gives. What is rendered is kept by that one's own key, so
that an edit of a patch renders nothing anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from threading import Lock
from typing import Any

import msgspec

from fleetform.engine.transform.apply import apply_settled
from fleetform.engine.transform.patches import patch_objects
from fleetform.engine.transform.records import Proposal, TransformError
from fleetform.engine.transform.select import hashed_transforms, options_as_text, sees
from fleetform.engine.transform.settle import settle
from fleetform.model.kinds.definition import Transform
from fleetform.model.results.rendering import (
    IgnoredChange,
    KeptChange,
    Rendered,
    RenderFailure,
    RenderInput,
    Transformation,
)
from fleetform.model.shape import did_you_mean
from fleetform.ports.rendering import Renders, RenderSource, Rerenders
from fleetform.renderers.failures import RenderError
from fleetform.renderers.parse import check_distinct
from fleetform.syntax.hashing import render_key
from fleetform.syntax.names import object_label
from fleetform.syntax.tree_diff import patch_between
from fleetform.transform.runner import Failure, ask
from fleetform.transform.views import read_only
from fleetform.transformers.opened import OpenedPlugins
from fleetform.transformers.plugins import BoundPlugin, TransformPlugin


class TransformingRenders:
    """Renders, and then transforms and patches; each distinct combination once."""

    def __init__(self, renders: Renders, opened: Callable[[], OpenedPlugins], again: Rerenders | None = None) -> None:
        """opened is called when an input names a transform, and not before; again is for what is rendered again."""
        self._renders, self._open = renders, opened
        self._again: Rerenders = again if again is not None else _NoRerenders()
        self._transforming = Lock()
        self._known: dict[str, Rendered | RenderFailure] = {}

    @cached_property
    def _plugins(self) -> dict[str, TransformPlugin]:
        # Of two of one name the earliest counts (R4-7).
        found: dict[str, TransformPlugin] = {}
        for each in self._open().plugins:
            found.setdefault(each.name, each)
        return found

    def render(self, inputs: Sequence[RenderInput]) -> list[Rendered | RenderFailure]:
        rendered = self._renders.render(inputs)
        return [self._changed(result, each) for result, each in zip(rendered, inputs, strict=True)]

    def source(self, input_: RenderInput) -> RenderSource | None:
        return self._renders.source(input_)

    def render_from(self, input_: RenderInput, files: Mapping[str, bytes]) -> Rendered | RenderFailure:
        """The same out of these very files; nothing is kept of it."""
        result = self._again.render_from(input_, files)
        if isinstance(result, RenderFailure) or not (input_.transforms or input_.patches):
            return result
        for each in input_.transforms:
            failure = self._unusable(each)
            if failure is not None:
                return failure
        try:
            # Plugins that are kept running take one request at a time.
            with self._transforming:
                return self._transformed(result, "", input_)
        except TransformError as error:
            return RenderFailure(error.message, error.hint)
        except RenderError as error:
            return error.failure

    def _changed(self, result: Rendered | RenderFailure, input_: RenderInput) -> Rendered | RenderFailure:
        if isinstance(result, RenderFailure) or not (input_.transforms or input_.patches):
            return result
        for each in input_.transforms:
            failure = self._unusable(each)
            if failure is not None:
                return failure
        parts = {
            "render": result.key,
            "transforms": hashed_transforms(
                input_.transforms, {each.plugin: self._plugins[each.plugin].identity for each in input_.transforms}
            ),
            "patches": [msgspec.to_builtins(each) for each in input_.patches],
        }
        key = render_key(parts)
        if key not in self._known:
            try:
                with self._transforming:
                    self._known[key] = self._transformed(result, key, input_)
            except TransformError as error:
                self._known[key] = RenderFailure(error.message, error.hint)
            except RenderError as error:
                self._known[key] = error.failure
        return self._known[key]

    def _unusable(self, transform: Transform) -> RenderFailure | None:
        plugin = self._plugins.get(transform.plugin)
        if plugin is None:
            hint = did_you_mean(transform.plugin, sorted(self._plugins), "give the folder it is in with --plugin-dir")
            for each in self._open().problems:
                if transform.plugin in (each.file, each.file.partition(".")[0]):
                    hint = f"{each.file}: {each.message}; {each.hint}"
            return RenderFailure(f"there is no transform plugin {transform.plugin}", hint, unavailable=True)
        if transform.digest is not None and plugin.identity != transform.digest:
            message = f"the transform plugin {transform.plugin} is {plugin.identity}, and {transform.digest} is pinned"
            return RenderFailure(message, "bring the pinned bytes back, or pin the new ones")
        return None

    def _transformed(self, result: Rendered, key: str, input_: RenderInput) -> Rendered:
        objects: list[dict[str, Any]] = []
        added: list[dict[str, Any]] = []
        kept: list[KeptChange] = []
        ignored: list[IgnoredChange] = []
        whiteouts: list[tuple[str, tuple[str, ...]]] = []
        for tree in result.objects:
            label = object_label(tree)
            settled = settle(tree, self._proposals(tree, input_.transforms))
            kept += [KeptChange(label, each.plugin, each.operation.op, each.operation.path) for each in settled.kept]
            ignored += [
                IgnoredChange(label, each.plugin, msgspec.to_builtins(each.operation), each.reason, each.winner)
                for each in settled.ignored
            ]
            if settled.whiteouts:
                whiteouts.append((label, settled.whiteouts))
            added += [each.tree for each in settled.new_resources]
            found = apply_settled(tree, settled)
            if found is not None:
                objects.append(found)
        patched = patch_objects([*objects, *added], input_.patches)
        for change in patched.changes:
            kept += _by_patch(object_label(change.before), change.patch, change.before, change.after)
        check_distinct(patched.objects, input_.release_namespace)
        transformation = Transformation(tuple(kept), tuple(ignored), tuple(whiteouts), patched.unmatched)
        return Rendered(key, patched.objects, result.unsteady, result.odd_keys, transformation)

    def _proposals(self, tree: Mapping[str, Any], transforms: Sequence[Transform]) -> list[Proposal]:
        view = read_only(tree)
        found = []
        for each in transforms:
            if not sees(each.selector, tree):
                continue
            answer = ask(BoundPlugin(self._plugins[each.plugin], options_as_text(each.options)), view)
            if isinstance(answer, Failure):
                message = f"the transform {each.plugin} fails on {object_label(tree)}: {answer.message}"
                raise TransformError(message, "correct the plugin or its options, or leave it out")
            found.append(Proposal(each.plugin, answer, each.priority))
        return found


class _NoRerenders:
    def render_from(self, input_: RenderInput, files: Mapping[str, bytes]) -> Rendered | RenderFailure:
        return RenderFailure("nothing is rendered again here", "")


def _by_patch(label: str, number: int, before: dict[str, Any], after: dict[str, Any] | None) -> Iterable[KeptChange]:
    if after is None:
        return [KeptChange(label, f"patches[{number}]", "remove", "")]
    return [KeptChange(label, f"patches[{number}]", each["op"], each["path"]) for each in patch_between(before, after)]
