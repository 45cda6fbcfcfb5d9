"""One manifest of another system while it is read: who it is, what its parts say, what is to be said of it."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from fleetform.dialects.envelope import misfit_diagnostics, read_tolerantly
from fleetform.dialects.native.spellings import Pair, closest_first, written_at
from fleetform.model.conventions import Conventions
from fleetform.model.kinds.base import Metadata, Record
from fleetform.model.objects import At, Object, Origin, Path, Ref
from fleetform.model.results.diagnostics import Diagnostic, Severity
from fleetform.model.shape import Misfit, did_you_mean

R = TypeVar("R", bound=Record)
_ENVELOPE = ("apiVersion", "kind", "metadata", "spec", "status")


def written(tree: dict[str, Any], field: str) -> str | None:
    """A text of the metadata, where there is one."""
    metadata = tree.get("metadata")
    text = metadata.get(field) if isinstance(metadata, dict) else None
    return text if isinstance(text, str) else None


def check_envelope(tree: dict[str, Any], origin: Origin, ref: Ref) -> list[Diagnostic]:
    """What is wrong around the spec: no name, or a field that no manifest has."""
    found = []
    if not written(tree, "name"):
        message, at = f"the {tree['kind']} has no name", At(origin, (*origin.base, "metadata"))
        found.append(Diagnostic("bad-name", message, "write metadata.name", object=ref, at=at))
    for key in tree:
        if key not in _ENVELOPE:
            hint = did_you_mean(key, _ENVELOPE, f"known here: {', '.join(_ENVELOPE)}")
            message = f"a {tree['kind']} has no field {key}"
            found.append(Diagnostic("unknown-field", message, hint, "warning", ref, At(origin, (*origin.base, key))))
    return found


class Manifest:
    """A manifest with a name, on its way to objects; found collects the findings.

    Of a tree that was respelt, respelt says which path stands where in the document.
    """

    def __init__(
        self,
        tree: dict[str, Any],
        origin: Origin,
        ref: Ref,
        metadata: Metadata,
        dialect: str,
        conventions: Conventions,
        namespace: str = "default",
        respelt: tuple[Pair, ...] = (),
    ) -> None:
        self._tree, self._origin, self._respelt = tree, origin, respelt
        self._dialect, self._conventions = dialect, conventions
        self.ref, self.metadata, self.namespace = ref, metadata, namespace
        self.kind = str(tree.get("kind"))
        self.name = metadata.name or ""
        self.version = str(tree.get("apiVersion")).partition("/")[2]
        self.found: list[Diagnostic] = []

    def spec(self, record: type[R]) -> R | None:
        """The spec, unless it does not fit; its unknown fields warn."""
        return self._part("spec", record, told=True)

    def status(self, record: type[R]) -> R | None:
        """The status, unless it does not fit; what is unknown of it is their controllers' business."""
        return self._part("status", record, told=False)

    def _part(self, field: str, record: type[R], told: bool) -> R | None:
        tree = self._tree.get(field)
        read, misfits, unknown = read_tolerantly({} if tree is None else tree, record, field)
        self.misfits(misfits, field)
        if told:
            self.misfits(unknown, field, "warning")
        return read

    def misfits(self, misfits: list[Misfit], field: str, severity: Severity = "error") -> None:
        """Say what does not fit below a field of the manifest."""
        placed = [each._replace(path=written_at((field, *each.path), self._respelt)) for each in misfits]
        self.found += misfit_diagnostics(placed, self._origin, self.ref, (), severity)

    def note(self, message: str, hint: str, *path: str | int, code: str = "foreign-note") -> None:
        self._say("info", code, message, hint, path)

    def warn(self, code: str, message: str, hint: str, *path: str | int) -> None:
        self._say("warning", code, message, hint, path)

    def error(self, code: str, message: str, hint: str, *path: str | int, related: Path | None = None) -> None:
        self._say("error", code, message, hint, path, related)

    def _say(
        self, severity: Severity, code: str, message: str, hint: str, path: Path, related: Path | None = None
    ) -> None:
        others = () if related is None else (self._at(related),)
        self.found.append(Diagnostic(code, message, hint, severity, self.ref, self._at(path), others))

    def _at(self, path: Path) -> At:
        return At(self._origin, self._origin.base + written_at(path, self._respelt))

    def object(self, spec: Record, *moved: Pair, kind: str | None = None, name: str | None = None) -> Object[Any]:
        """An object of this manifest; moved says which path of the native shape stands where in this one."""
        ref = self.ref._replace(kind=kind or self.ref.kind, name=name or self.ref.name)
        metadata = self.metadata if name is None else msgspec.structs.replace(self.metadata, name=name)
        places = closest_first(self._as_written(moved))
        return Object(ref, metadata, spec, self._origin, self._dialect, places, conventions=self._conventions)

    def _as_written(self, moved: tuple[Pair, ...]) -> list[Pair]:
        """The pairs with their ends where they stand in the document, and what was respelt below each of them."""
        pairs = [(native, written_at(theirs, self._respelt)) for native, theirs in moved]
        for native, theirs in moved:
            below = [each for each in self._respelt if each[0][: len(theirs)] == theirs != each[0]]
            pairs += [(native + path[len(theirs) :], place) for path, place in below]
        return pairs
