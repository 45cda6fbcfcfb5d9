"""Priorities by name."""

from __future__ import annotations

import pytest

from fleetform.engine.transform.priorities import (
    PluginNames,
    PriorityError,
    by_index,
    named,
    parse_names,
    prioritise,
    suggestion,
)

PLUGINS = [PluginNames("Kubernetes"), PluginNames("owner", "10-owner.sh"), PluginNames("mirror", "20-mirror")]


@pytest.mark.rule("R4-1")
def test_the_place_in_a_list_is_the_priority_and_the_list_may_be_partial() -> None:
    found = prioritise(by_index(parse_names("mirror,Kubernetes")), PLUGINS)
    assert found.by_plugin == (1, None, 0)


@pytest.mark.rule("R4-3", "R4-16")
def test_numbers_may_be_any_with_gaps() -> None:
    assert prioritise({"owner": -7, "mirror": 100}, PLUGINS).by_plugin == (None, -7, 100)


@pytest.mark.rule("R4-6")
def test_a_plugin_goes_by_its_own_name_and_by_its_files() -> None:
    assert prioritise({"10-owner.sh": 0, "mirror": 1}, PLUGINS).by_plugin == (None, 0, 1)


@pytest.mark.rule("R4-6")
def test_an_entry_that_names_two_different_plugins_is_a_mistake() -> None:
    plugins = [PluginNames("owner", "a"), PluginNames("other", "owner")]
    with pytest.raises(PriorityError, match=r"^owner names 2 plugins: owner \(a\), other \(owner\)$"):
        prioritise({"owner": 0}, plugins)


@pytest.mark.rule("R4-7")
def test_plugins_of_one_name_share_its_priority() -> None:
    plugins = [PluginNames("same", "a"), PluginNames("same", "b")]
    assert prioritise({"same": 3}, plugins).by_plugin == (3, 3)
    assert named("same", plugins) == [0, 1]


@pytest.mark.rule("R4-15")
def test_blanks_are_trimmed() -> None:
    assert parse_names(" a , b,, ") == ["a", "b"]


@pytest.mark.rule("R4-15")
def test_a_repeated_name_is_a_mistake() -> None:
    with pytest.raises(PriorityError, match=r"^--plugin-priorities names a twice$"):
        parse_names("a,b, a")
    with pytest.raises(PriorityError, match=r"^owner and 10-owner\.sh are the same plugin, owner$"):
        prioritise({"owner": 0, "10-owner.sh": 1}, PLUGINS)


@pytest.mark.rule("R4-15")
def test_an_unknown_name_is_told_with_the_nearest_one() -> None:
    assert prioritise({"miror": 0, "owner": 1}, PLUGINS).unknown == ("miror",)
    assert suggestion("miror", PLUGINS) == "did you mean mirror?"
    assert suggestion("zzz", PLUGINS) == "there are Kubernetes, mirror, owner"
    assert suggestion("zzz", []) == "there are no plugins"
