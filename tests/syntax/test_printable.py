"""Text of others in messages: it ends in time, and says that it goes on."""

from __future__ import annotations

import pytest

from fleetform.syntax.printable import one_line, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("abcde", "abcde"),
        ("abcdef", "abcde…"),
        ("abcdefghijk", "abcde…"),
        ("abcd fgh", "abcd…"),
        ("abc\x1b", "abc\\x…"),
        ("a\x1b", "a\\x1b"),
    ],
)
def test_what_is_longer_than_there_is_room_is_cut_and_says_so(text: str, shown: str) -> None:
    assert printable(text, 5) == shown
    assert one_line(text, 5) == shown
