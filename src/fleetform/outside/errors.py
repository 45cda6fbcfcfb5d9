"""Errors of everything outside this process."""

from __future__ import annotations


class OutsideError(Exception):
    """What failed, why, and what to do. The message never contains a credential."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.hint = message, hint
