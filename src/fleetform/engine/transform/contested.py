"""Which operations need settling at all: most paths are one plugin's alone, and sorting the paths shows which."""

from __future__ import annotations

from collections.abc import Sequence

from fleetform.engine.transform.records import Proposal
from fleetform.syntax.json_patch import END, is_index

# Lower than any character of a path, so that all below a path follow it when paths are sorted.
_SLASH = "\0"


def contested(proposals: Sequence[Proposal]) -> dict[int, list[int]]:
    """By plugin the places of its operations that may meet another plugin's, in order.

    May: a number at the end of a path counts as an index here, whether or not a list is there.
    """
    reached: list[tuple[str, int, int]] = []
    for plugin, proposal in enumerate(proposals):
        for place, operation in enumerate(proposal.response.operations):
            op, path = operation.op, operation.path
            if op not in ("add", "remove", "replace"):
                # Tests make a plugin all-or-nothing, and moves and copies reach to two places.
                return {each: list(range(len(other.response.operations))) for each, other in enumerate(proposals)}
            if op != "replace":
                above, _, last = path.rpartition("/")
                if last == END or is_index(last):
                    # The others of a list move.
                    path = above
            reached.append((path.replace("/", _SLASH) + _SLASH, plugin, place))
    reached.sort()
    found: dict[int, list[int]] = {}
    start = 0
    while start < len(reached):
        top, first, _ = reached[start]
        end, is_contested = start + 1, False
        while end < len(reached) and reached[end][0].startswith(top):
            is_contested = is_contested or reached[end][1] != first
            end += 1
        if is_contested:
            for _, plugin, place in reached[start:end]:
                found.setdefault(plugin, []).append(place)
        start = end
    for places in found.values():
        places.sort()
    return found
