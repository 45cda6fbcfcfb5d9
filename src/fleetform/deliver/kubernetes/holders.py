"""Whether a plugin still has what bears its label.

A plugin has nothing on a cluster that its inventory there does not name. What was kept when it went, or was left by one
that could not be told to let go of it, bears its label for ever: that alone must not keep it from everybody else.
"""

from __future__ import annotations

from fleetform.clusters.inventory import ObjectRef, ref_of
from fleetform.clusters.listing import Inventories, inventories
from fleetform.clusters.ownership import PLUGIN, Manifest, is_another_plugins
from fleetform.deliver.kubernetes.problems import Problem, belongs_to_another
from fleetform.model.results.decisions import PluginKey
from fleetform.outside.kubernetes.client import Client


class Holders:
    """As the inventories of the cluster say at one moment; each is read once."""

    def __init__(self, client: Client, key: PluginKey) -> None:
        self._client, self._key = client, key
        self._found: dict[str, Inventories] = {}

    def refusal(self, ref: ObjectRef, live: Manifest) -> Problem | None:
        """Why an object is not to be taken that another plugin has; None if none has it any more."""
        foreign = belongs_to_another(ref, live, self._key)
        return foreign if foreign is not None and self._is_held(live) else None

    def was_anothers(self, live: Manifest) -> bool:
        """Whether it bears the label of another plugin that no longer has it."""
        return is_another_plugins(live, self._key) and not self._is_held(live)

    def _is_held(self, live: Manifest) -> bool:
        label, ref = live["metadata"]["labels"][PLUGIN], ref_of(live)
        if label not in self._found:
            self._found[label] = inventories(self._client, [label], ())
        known, _, everywhere = self._found[label]
        if not everywhere:
            # It may be where the account may not look.
            return True
        # One that was noted before its kind was there may stand as if it were in a namespace.
        return label in known and any(
            each._replace(namespace=ref.namespace) == ref and ref.namespace in ("", each.namespace)
            for each in known[label].objects
        )
