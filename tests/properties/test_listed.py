"""Plugins in listings: what is made once for many of them is what each of them gets."""

from __future__ import annotations

import pytest
from hypothesis import given
from msgspec import UNSET

from fleetform.app.answering.masks import masked
from fleetform.app.answering.options import applied
from fleetform.app.listing.list_plugins import find_plugins
from fleetform.app.scope import Scope
from fleetform.model.answers.listed_plugins import ListedPlugin, PluginRow
from fleetform.model.results.decisions import ABSENT
from fleetform.model.snapshot import Snapshot
from properties import test_bindings_again as bound
from properties.strategies import examples, fleets
from properties.test_beside import fleet_in


def _assert_listed_as_each_is(snapshot: Snapshot) -> None:
    found = find_plugins(fleet_in("a", snapshot), Scope(None))
    for plugin, whole, row in zip(found.objects, found.whole(), found.rows(), strict=True):
        assert isinstance(whole, ListedPlugin)
        assert isinstance(row, PluginRow)
        assert whole.status.applied_overrides == row.applied_overrides == applied(plugin, plugin.options)
        values = {each.name: each.value for each in whole.spec.option_values if each.value_from is UNSET}
        secrets = [each.name for each in whole.spec.option_values if each.value_from is not UNSET]
        given_values = {name: each.value for name, each in plugin.options.items() if each.value is not ABSENT}
        assert values == {name: masked(value) for name, value in given_values.items() if name not in secrets}
        assert row.blocked == sorted({gate.gate for gate in whole.status.blocked})


@pytest.mark.rule("R0-14")
@examples(150)
@given(fleets())
def test_plugins_that_share_their_options_are_listed_as_each_of_them_is(snapshot: Snapshot) -> None:
    _assert_listed_as_each_is(snapshot)


@pytest.mark.rule("S37")
@examples(150)
@given(bound.fleets())
def test_plugins_that_refer_to_variables_are_listed_as_each_of_them_is(snapshot: Snapshot) -> None:
    _assert_listed_as_each_is(snapshot)
