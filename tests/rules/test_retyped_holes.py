"""A value that a version retypes, and of which a part waits for the cluster (S58)."""

from __future__ import annotations

import pytest

from fleetform.model.results.decisions import ABSENT
from support.fleets import DEFINITION, documents, fleet_with, override, plugin_on

RETYPES = "  changes: {migrations: [{retype: {name: labels, expression: \"{'all': value}\"}}]}\n"
PRESET = """
apiVersion: fleetform.dev/v1alpha1
kind: PluginPreset
metadata: {name: web, namespace: acme}
spec:
  clusterSelector: {}
  plugin: {pluginDefinition: web, optionValues: {labels: {a: $(IP), b: one}}}
  bindings:
  - {name: IP, objectFieldRef: {kind: Service, name: dns, namespace: kube-system, fieldPath: spec.clusterIP}}
"""


def newer(type_: str) -> str:
    text = DEFINITION.replace("1.0.0", "1.1.0").rstrip() + "\n" + RETYPES
    return documents(DEFINITION, text.replace("{name: labels, type: map, default: {team: none}}", type_))


@pytest.mark.rule("S58")
def test_what_fits_the_new_type_keeps_the_parts_that_are_known() -> None:
    known = override("known", "[{path: labels.a, value: two}]")
    fleet = fleet_with(preset=PRESET, definition=newer("{name: labels, type: map}"), known=known)
    plugin = plugin_on(fleet, "eu-1")
    assert plugin.options["labels"].value == {"a": "two", "b": "one"}
    assert plugin.gates == ()


@pytest.mark.rule("S58")
def test_what_must_be_converted_waits_as_a_whole_for_its_part() -> None:
    known = override("known", "[{path: labels.a, value: two}]")
    fleet = fleet_with(preset=PRESET, definition=newer("{name: labels, type: list}"), known=known)
    plugin = plugin_on(fleet, "eu-1")
    assert plugin.options["labels"].value is ABSENT
    assert [each.gate for each in plugin.unresolved] == ["downstream"]
