"""What is printed of a value that changed: never the same on both sides, and nothing of a secret."""

from __future__ import annotations

import pytest

from fleetform.cli.changed_values import changed_text, shown_changes
from fleetform.model.answers.base import MASKED, Json

LONG = "a text of which the first forty characters are the same, and then it is "
MAP = {"first": "so that the whole map is longer than forty characters", "token": MASKED}
AS_JSON = {"secret": True, "digest": "unknown"}


@pytest.mark.rule("S5")
@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (3, 5, "x 3 → 5"),
        (None, "a", "x unset → a"),
        (MASKED, MASKED, "x (secret) changed"),
        (AS_JSON, AS_JSON, "x (secret) changed"),
        (MASKED, "plain", "x (secret) → plain"),
        # Only a secret differs, and its mask says nothing.
        (MAP, MAP, "x.token (secret) changed"),
        ({"a": 1, "b": MASKED}, {"a": 1, "b": MASKED}, "x.b (secret) changed"),
        ({"a": MASKED, "b": MASKED}, {"a": MASKED, "b": MASKED}, "x (secret inside) changed"),
        ([{"a": 1}, MASKED], [{"a": 1}, MASKED], "x[1] (secret) changed"),
        ("https://(secret)@a.org", "https://(secret)@a.org", "x (secret) changed"),
        ({"u": "https://(secret)@a.org"}, {"u": "https://(secret)@a.org"}, "x.u (secret) changed"),
        ("https://a.org/?…", "https://a.org/?…", "x (secret inside) changed"),
        # What differs lies behind what is shown.
        (MAP, {**MAP, "last": 1}, "x.last unset → 1"),
        ({**MAP, "last": [1, 2]}, {**MAP, "last": [1, 3]}, "x.last[1] 2 → 3"),
        ({**MAP, "last": [1, 2]}, {**MAP, "last": [1]}, "x.last [1, 2] → [1]"),
        ({**MAP, "token": "plain"}, MAP, "x.token plain → (secret)"),
        ({**MAP, "a.b": 1}, {**MAP, "a.b": 2}, "x.a\\.b 1 → 2"),
        (LONG + "one", LONG + "another", "x …then it is one → …then it is another"),
        (LONG + "one", LONG, 'x …then it is one → …"then it is "'),
        ({"k": LONG + "one"}, {"k": LONG + "two"}, "x.k …then it is one → …then it is two"),
        (1, "1", 'x 1 → "1"'),
        (
            {**MAP, **dict.fromkeys("abcde", 1)},
            {**MAP, **dict.fromkeys("abcde", 2)},
            "x.a 1 → 2; x.b 1 → 2; x.c 1 → 2 and 2 more inside",
        ),
    ],
)
def test_both_sides_of_a_change_are_told_apart(before: Json, after: Json, text: str) -> None:
    found = changed_text("x", before, after)
    assert found == text
    shown, _ = shown_changes(before, after, 60)
    assert all(each.before != each.after for each in shown)
