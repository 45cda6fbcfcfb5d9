"""Cycles: names that lead to each other, found in one walk; and an order for all others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping


def in_order(graph: Mapping[str, Iterable[str]]) -> tuple[list[list[str]], list[str]]:
    """The cycles of a graph, none with a name of another, and all other names, each after those that it leads to.

    One walk finds them: a way that comes back to a name on itself is a cycle, and is taken out whole. A cycle begins
    with its least name.
    """
    cycles: list[list[str]] = []
    # All that the walk is done with, in that order, and whether it is free of cycles.
    done: dict[str, bool] = {}
    for start in sorted(graph):
        # The names on the way, and where each still leads to.
        way: dict[str, Iterator[str]] = {} if start in done else {start: iter(graph[start])}
        while way:
            following = next(way[next(reversed(way))], None)
            if following is None:
                done[way.popitem()[0]] = True
            elif following in way:
                cycle = [way.popitem()[0]]
                while cycle[-1] != following:
                    cycle.append(way.popitem()[0])
                cycle.reverse()
                least = cycle.index(min(cycle))
                cycles.append(cycle[least:] + cycle[:least])
                done.update(dict.fromkeys(cycle, False))
            elif following not in done:
                way[following] = iter(graph[following])
    return sorted(cycles), [name for name, is_free in done.items() if is_free]
