"""Variables in AddOnTemplates of Open Cluster Management: `{{NAME}}`, without blanks, in any text of a manifest."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from fleetform.syntax.trees import YamlMap, YamlValue, as_map

_VARIABLE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
# There in any case: the others depend on the template, and on a deployment config.
ALWAYS_SET = frozenset({"CLUSTER_NAME"})


def manifests_of(template: YamlMap) -> list[YamlValue]:
    """The manifests of an AddOnTemplate."""
    found = as_map(as_map(as_map(template.get("spec")).get("agentSpec")).get("workload")).get("manifests")
    return found if isinstance(found, list) else []


def variables_in(tree: YamlValue) -> Iterator[str]:
    """The names of all variables in a tree, as they are written."""
    if isinstance(tree, str):
        yield from (found[1] for found in _VARIABLE.finditer(tree))
    elif isinstance(tree, dict):
        for key, each in tree.items():
            yield from variables_in(key)
            yield from variables_in(each)
    elif isinstance(tree, list):
        for each in tree:
            yield from variables_in(each)


def filled_in(tree: YamlValue, variables: Mapping[str, str]) -> YamlValue:
    """A tree with its variables replaced; one without a value is replaced by nothing, as there."""
    if isinstance(tree, str):
        return _VARIABLE.sub(lambda found: variables.get(found[1], ""), tree) if "{{" in tree else tree
    if isinstance(tree, dict):
        return {str(filled_in(key, variables)): filled_in(each, variables) for key, each in tree.items()}
    if isinstance(tree, list):
        return [filled_in(each, variables) for each in tree]
    return tree
