"""How the outside world says no."""

from __future__ import annotations


class OutsideError(Exception):
    """What could not be had, why, and what to do. The message never holds a credential."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.hint = message, hint
