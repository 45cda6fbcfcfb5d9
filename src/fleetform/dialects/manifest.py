"""One manifest of another system while it is read: its identity, its parts as records, and findings about it."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from fleetform.dialects.envelope import lacks_name, misfit_diagnostics, read_tolerantly
from fleetform.dialects.native.spellings import Pair, closest_first, written_at
from fleetform.model.conventions import Conventions
from fleetform.model.kinds.base import Metadata, Record
from fleetform.model.objects import At, Object, Origin, Path, Ref
from fleetform.model.results.diagnostics import Diagnostic, Severity
from fleetform.model.shape import Misfit, did_you_mean
from fleetform.syntax.trees import YamlMap, as_map

R = TypeVar("R", bound=Record)
_ENVELOPE = ("apiVersion", "kind", "metadata", "spec", "status")


def metadata_text(tree: YamlMap, field: str) -> str | None:
    """A text of the metadata, if there is one."""
    text = as_map(tree.get("metadata")).get(field)
    return text if isinstance(text, str) else None


def check_envelope(tree: YamlMap, origin: Origin, ref: Ref) -> list[Diagnostic]:
    """Findings about all but the spec: no name, or a field that no manifest has."""
    found = []
    if lacks_name(tree):
        message, at = f"the {tree['kind']} has no name", At(origin, (*origin.base, "metadata"))
        found.append(Diagnostic("bad-name", message, "write metadata.name", object=ref, at=at))
    for key in tree:
        if key not in _ENVELOPE:
            hint = did_you_mean(key, _ENVELOPE, f"known here: {', '.join(_ENVELOPE)}")
            message = f"a {tree['kind']} has no field {key}"
            found.append(Diagnostic("unknown-field", message, hint, "warning", ref, At(origin, (*origin.base, key))))
    return found


class Manifest:
    """A manifest with a name, to make objects from; found collects the findings.

    If the tree was respelt, respelt has the paths in the document of the paths that changed.
    """

    def __init__(
        self,
        tree: YamlMap,
        origin: Origin,
        ref: Ref,
        metadata: Metadata,
        dialect: str,
        conventions: Conventions,
        namespace: str = "default",
        respelt: tuple[Pair, ...] = (),
    ) -> None:
        self.tree, self._origin, self._respelt = tree, origin, respelt
        self._dialect, self._conventions = dialect, conventions
        self.ref, self.metadata, self.namespace = ref, metadata, namespace
        self.kind = str(tree.get("kind"))
        self.name = metadata.name or ""
        self.version = str(tree.get("apiVersion")).partition("/")[2]
        self.found: list[Diagnostic] = []

    def spec(self, record: type[R]) -> R | None:
        """The spec, unless it does not fit; its unknown fields warn."""
        return self._part("spec", record, warns=True)

    def status(self, record: type[R]) -> R | None:
        """The status, unless it does not fit; unknown fields of it are ignored, since controllers write them."""
        return self._part("status", record, warns=False)

    def _part(self, field: str, record: type[R], warns: bool) -> R | None:
        tree = self.tree.get(field)
        read, misfits, unknown = read_tolerantly({} if tree is None else tree, record, field)
        self.misfits(misfits, field)
        if warns:
            self.misfits(unknown, field, "warning")
        return read

    def misfits(self, misfits: list[Misfit], field: str, severity: Severity = "error") -> None:
        """Add findings for what does not fit below a field of the manifest."""
        placed = [each._replace(path=written_at((field, *each.path), self._respelt)) for each in misfits]
        self.found += misfit_diagnostics(placed, self._origin, self.ref, (), severity)

    def note(self, message: str, hint: str, *path: str | int, code: str = "foreign-note") -> None:
        self._add("info", code, message, hint, path)

    def warn(self, code: str, message: str, hint: str, *path: str | int) -> None:
        self._add("warning", code, message, hint, path)

    def error(self, code: str, message: str, hint: str, *path: str | int, related: Path | None = None) -> None:
        self._add("error", code, message, hint, path, related)

    def _add(
        self, severity: Severity, code: str, message: str, hint: str, path: Path, related: Path | None = None
    ) -> None:
        others = () if related is None else (self._at(related),)
        self.found.append(Diagnostic(code, message, hint, severity, self.ref, self._at(path), others))

    def _at(self, path: Path) -> At:
        return At(self._origin, self._origin.base + written_at(path, self._respelt))

    def object(
        self,
        spec: Record,
        *moved: Pair,
        kind: str | None = None,
        name: str | None = None,
        conventions: Conventions | None = None,
        content: YamlMap | None = None,
        dialect: str | None = None,
    ) -> Object[object]:
        """An object of this manifest; moved has paths of the native shape, each with its path in this manifest.

        conventions are the object's own, if they differ from the dialect's; content is what more is kept of it.
        """
        ref = self.ref._replace(kind=kind or self.ref.kind, name=name or self.ref.name)
        metadata = self.metadata if name is None else msgspec.structs.replace(self.metadata, name=name)
        # moved leads to the respelt tree: from there on to the document, also for what was respelt below a pair.
        pairs = [(native, written_at(theirs, self._respelt)) for native, theirs in moved]
        for native, theirs in moved:
            below = [each for each in self._respelt if each[0][: len(theirs)] == theirs != each[0]]
            pairs += [(native + path[len(theirs) :], place) for path, place in below]
        places = closest_first(pairs)
        return Object(
            ref,
            metadata,
            spec,
            self._origin,
            dialect or self._dialect,
            places,
            content=content,
            conventions=conventions or self._conventions,
        )
