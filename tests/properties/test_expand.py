"""Expansion on any text: no crash, nothing twice, and escapes that undo themselves."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fleetform.model.conventions import VariableSyntax
from fleetform.syntax.variables import ExpandError, escape, variable_references
from support.expanding import expand

DIALECTS: list[VariableSyntax] = ["native", "kubernetes"]
NOTHING: dict[str, Any] = {}
dialects = st.sampled_from(DIALECTS)
# Plain text hardly ever has two dollars before a parenthesis.
texts = st.text() | st.lists(st.sampled_from(["$", "$(", "(", ")", "A", "B.c/d", " ", "é"])).map("".join)
values = (
    st.none() | st.booleans() | st.integers() | st.floats() | texts | st.lists(texts) | st.dictionaries(texts, texts)
)


@given(texts, values, dialects)
def test_any_text_expands_or_names_the_mention_that_does_not(text: str, value: Any, syntax: VariableSyntax) -> None:
    refused = None
    try:
        expand(text, {"A": value}.__getitem__, syntax=syntax)
    except ExpandError as error:
        refused = error.message
    except KeyError as error:
        refused = f"$({error.args[0]}) "
    assert refused is None or any(
        refused.startswith(f"$({name}) ") for name in variable_references(text, syntax=syntax)
    )


@given(texts, dialects)
def test_a_value_comes_out_as_it_went_in(value: str, syntax: VariableSyntax) -> None:
    lookup = {"A": value, "B.c/d": "never"}.__getitem__
    assert expand("$(A)", lookup, syntax=syntax) == value
    assert expand("<$(A)$(A)>", lookup, syntax=syntax) == f"<{value}{value}>"


@given(texts)
def test_text_without_mentions_and_escapes_stays(text: str) -> None:
    plain = re.sub(r"\$+\(", "(", text)
    assert variable_references(plain) == []
    assert expand(plain, NOTHING.__getitem__) == plain


@given(texts, dialects)
def test_escaped_text_expands_to_itself(text: str, syntax: VariableSyntax) -> None:
    escaped = escape(text, syntax=syntax)
    assert variable_references(escaped, syntax=syntax) == []
    assert expand(escaped, NOTHING.__getitem__, syntax=syntax) == text


@given(texts, texts, dialects)
def test_escaped_text_can_stand_beside_a_mention(before: str, after: str, syntax: VariableSyntax) -> None:
    text = f"{escape(before, syntax=syntax)} $(A){escape(after, syntax=syntax)}"
    assert expand(text, {"A": 1}.__getitem__, syntax=syntax) == f"{before} 1{after}"


@given(st.recursive(values, lambda inner: st.lists(inner) | st.dictionaries(texts, inner), max_leaves=10))
def test_a_tree_without_dollars_stays(tree: Any) -> None:
    plain = _without_dollars(tree)
    assert repr(expand(plain, NOTHING.__getitem__)) == repr(plain)


def _without_dollars(tree: Any) -> Any:
    if isinstance(tree, str):
        return tree.replace("$", "")
    if isinstance(tree, list):
        return [_without_dollars(each) for each in tree]
    return {key: _without_dollars(each) for key, each in tree.items()} if isinstance(tree, dict) else tree
