"""How a verb says that it has no answer; front doors turn these into exit codes and prose."""

from __future__ import annotations


class NotFoundError(Exception):
    """What was asked for is not there: exit 1."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


class AmbiguousError(Exception):
    """The question fits several things: exit 2, listing them."""

    def __init__(self, message: str, choices: list[str], hint: str = "") -> None:
        super().__init__(message)
        self.message, self.choices, self.hint = message, choices, hint


class StateError(Exception):
    """A state cannot be read: exit 2."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


class NotRenderedError(Exception):
    """A plugin has no objects to ask about: exit 3, or 4 where only a tool or a source is missing here."""

    def __init__(self, message: str, hint: str, unavailable: bool = False) -> None:
        super().__init__(message)
        self.message, self.hint, self.unavailable = message, hint, unavailable
