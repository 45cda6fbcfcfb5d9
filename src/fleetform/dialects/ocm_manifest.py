"""One manifest of Open Cluster Management while it is read: who it is, what its parts say, what is to be said of it."""

from __future__ import annotations

from typing import Any, TypeVar

from fleetform.dialects.reading import misfit_diagnostics, read_tolerantly
from fleetform.model.kinds.base import Metadata, Record
from fleetform.model.objects import At, Object, Origin, Path, Ref
from fleetform.model.results.diagnostics import Diagnostic, Severity

R = TypeVar("R", bound=Record)
Pair = tuple[Path, Path]


class Manifest:
    """A manifest with a name, on its way to objects; found collects the findings."""

    def __init__(self, tree: dict[str, Any], origin: Origin, ref: Ref, metadata: Metadata, namespace: str) -> None:
        self._tree, self._origin = tree, origin
        self.ref, self.metadata, self.namespace = ref, metadata, namespace
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
        written = self._tree.get(field)
        read, misfits, unknown = read_tolerantly({} if written is None else written, record, field)
        self.found += misfit_diagnostics(misfits, self._origin, self.ref, (field,))
        if told:
            self.found += misfit_diagnostics(unknown, self._origin, self.ref, (field,), "warning")
        return read

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
        return At(self._origin, self._origin.base + path)

    def object(self, spec: Record, *moved: Pair, kind: str | None = None) -> Object[Any]:
        """An object of this manifest; moved says which path of the native shape stands where in this one."""
        ref = self.ref if kind is None else self.ref._replace(kind=kind)
        # The first pair that fits is taken, so the closest must come first.
        closest_first = tuple(sorted(moved, key=lambda pair: -len(pair[0])))
        return Object(ref, self.metadata, spec, self._origin, "ocm", closest_first)
