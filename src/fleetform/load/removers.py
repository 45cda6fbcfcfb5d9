"""Who removed objects from a repository: the author of the commit that took the last of each out of a file (S47)."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection

from fleetform.load.inputs import ENDINGS
from fleetform.model.objects import Ref
from fleetform.outside.authorship import blob, editor_of, replaced_files, root_of, uncommitted

# The objects of a file by its name and bytes, of those that are looked for.
ObjectsIn = Callable[[str, bytes, Collection[Ref]], set[Ref]]
# As many as one pattern may name.
_MOST_NAMES = 500


class RemoverSearch:
    """Looks for who removed some objects; found has those that it found, with an empty address if git does not know.

    A file is opened only if a name that is looked for stands in it, and history is read no further than it has to be.
    """

    def __init__(self, objects: Collection[Ref], objects_in: ObjectsIn) -> None:
        self._objects, self._objects_in = set(objects), objects_in
        self.found: dict[Ref, str] = {}

    def in_work_tree(self, source: str) -> None:
        """In what is not committed, then in what is."""
        root = root_of(source if os.path.isdir(source) else os.path.dirname(source) or ".")
        if root is None:
            return
        where = os.path.relpath(os.path.realpath(source), root)
        where = "" if where == "." else where
        for path in sorted(uncommitted(root, where)):
            before = self._in_blob(root, path, f"HEAD:{path}")
            if before:
                self._note(before - self._in_file(os.path.join(root, path)), editor_of(root))
        self.in_history(root, "HEAD", where)

    def in_history(self, root: str, revision: str, where: str) -> None:
        """In the commits up to a revision, below a folder."""
        names = sorted({each.name for each in self._left})
        for start in range(0, len(names), _MOST_NAMES):
            for each in replaced_files(root, revision, names[start : start + _MOST_NAMES], where):
                before = {ref for name in each.before for ref in self._in_blob(root, each.path, name)}
                after = self._in_blob(root, each.path, each.after) if before and each.after is not None else set()
                self._note(before - after, each.author)
                if not any(ref.name in names[start : start + _MOST_NAMES] for ref in self._left):
                    break

    @property
    def _left(self) -> set[Ref]:
        return self._objects - self.found.keys()

    def _note(self, removed: set[Ref], author: str) -> None:
        self.found.update(dict.fromkeys(removed & self._left, author))

    def _in_blob(self, root: str, path: str, name: str) -> set[Ref]:
        if not path.endswith(ENDINGS):
            return set()
        content = blob(root, name)
        return self._in_bytes(path, content) if content is not None else set()

    def _in_file(self, path: str) -> set[Ref]:
        try:
            with open(path, "rb") as file:
                return self._in_bytes(path, file.read())
        except OSError:
            return set()

    def _in_bytes(self, path: str, content: bytes) -> set[Ref]:
        wanted = [each for each in self._left if each.name.encode() in content]
        return self._objects_in(path, content, wanted) if wanted else set()
