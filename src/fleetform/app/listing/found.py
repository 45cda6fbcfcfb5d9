"""What a listing found, in order: each object becomes an answer when it is asked for, whole or as a row of a table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from fleetform.model.answers.listed import Listed

T = TypeVar("T")


@dataclass(frozen=True)
class Found(Generic[T]):
    """Objects of one kind. There may be 100,000 of them, so that nobody makes all of their answers at once."""

    objects: list[T]
    name: Callable[[T], str]
    make_whole: Callable[[T], Listed]
    make_row: Callable[[T], Listed]

    @property
    def names(self) -> list[str]:
        return list(map(self.name, self.objects))

    def named(self, names: Collection[str]) -> Found[T]:
        """Those with one of some names."""
        return replace(self, objects=[each for each in self.objects if self.name(each) in names])

    def keeping(self, wanted: Callable[[T], bool]) -> Found[T]:
        return replace(self, objects=[each for each in self.objects if wanted(each)])

    def whole(self) -> Iterator[Listed]:
        """With everything that follows from them."""
        return map(self.make_whole, self.objects)

    def rows(self) -> Iterator[Listed]:
        """With what tables show."""
        return map(self.make_row, self.objects)
