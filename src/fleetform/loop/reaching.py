"""Reaching: how clusters are reached, as their objects say now. What is secret in it is handed on and never kept in a
record, a message or a file."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

from fleetform.app.fleet import Fleet
from fleetform.app.reading.secrets import secret_object, secret_texts
from fleetform.loop.records import ON_HUB
from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.objects import Object, Ref
from fleetform.outside.files import read_file
from fleetform.outside.kubernetes.access import Access, AccessError, access_from_kubeconfig

_LONGEST_FILE = 4 * 1024 * 1024


class _Read(NamedTuple):
    """An access as it was read, and out of what: who it is looked up from again finds the very same."""

    out_of: tuple[object, ...]
    access: Access | AccessError


class ClusterAccess:
    """How each cluster is reached. fleet gives the fleet as it is now.

    kubeconfig is a file of this machine, whose contexts clusters may name. accounts_in: requests are made as the
    ServiceAccount of that namespace that bears the name of the organization, whatever the kubeconfig says. hub is the
    access to the management cluster, if there is one.
    """

    def __init__(
        self,
        fleet: Callable[[], Fleet | None],
        kubeconfig: str | None = None,
        accounts_in: str | None = None,
        hub: Access | None = None,
    ) -> None:
        self._fleet, self._kubeconfig, self._accounts_in, self._hub = fleet, kubeconfig, accounts_in, hub
        self._known: dict[tuple[str, str], _Read] = {}

    def of(self, cluster: tuple[str, str]) -> Access | AccessError:
        """The access to a cluster of an organization, or why there is none."""
        if cluster[1].startswith(ON_HUB):
            return self._hub or AccessError("there is no management cluster here", "run `fleetform operator` on one")
        fleet = self._fleet()
        found = fleet.snapshot.clusters.get(Ref("Cluster", *cluster)) if fleet is not None else None
        if fleet is None or found is None:
            return AccessError(f"there is no Cluster {cluster[1]} any more", "bring it back, or remove by hand")
        out_of = self._out_of(fleet, found)
        known = self._known.get(cluster)
        if known is None or not _same(known.out_of, out_of):
            known = self._known[cluster] = _Read(out_of, self._read(fleet, found))
        return known.access

    def _out_of(self, fleet: Fleet, cluster: Object[ClusterSpec]) -> tuple[object, ...]:
        """What an access is read from."""
        written = cluster.spec.access
        if written is not None and written.kubeconfig is not None:
            secret = written.kubeconfig.secret
            return secret_object(fleet.snapshot, cluster.ref.organization, secret.name), secret.key
        if written is not None and written.context is not None and self._kubeconfig is not None:
            try:
                stat = os.stat(self._kubeconfig)
                return written.context, stat.st_mtime_ns, stat.st_ino, stat.st_size
            except OSError:
                return written.context, None
        return (written,)

    def _read(self, fleet: Fleet, cluster: Object[ClusterSpec]) -> Access | AccessError:
        try:
            access = self._from_secret(fleet, cluster) or self._from_file(cluster)
        except AccessError as error:
            return error
        if access is None:
            hint = "give it access.kubeconfig.secret, or access.context with serve --kubeconfig"
            return AccessError("its Cluster does not say how it is reached", hint)
        return self._as_account(access, cluster.ref.organization)

    def _from_secret(self, fleet: Fleet, cluster: Object[ClusterSpec]) -> Access | None:
        written = cluster.spec.access
        if written is None or written.kubeconfig is None:
            return None
        ref = written.kubeconfig.secret
        secret = secret_object(fleet.snapshot, cluster.ref.organization, ref.name)
        if secret is None:
            hint = "add it to its organization; on Kubernetes Fleetform must be allowed to read Secrets there"
            raise AccessError(f"no Secret {ref.name} with its kubeconfig can be read", hint)
        text = secret_texts(secret.content).get(ref.key)
        if text is None:
            raise AccessError(f"the Secret {ref.name} has no {ref.key}", "put the kubeconfig under that key")
        return access_from_kubeconfig(text)

    def _from_file(self, cluster: Object[ClusterSpec]) -> Access | None:
        written = cluster.spec.access
        if written is None or written.context is None:
            return None
        if self._kubeconfig is None:
            raise AccessError(f"its context {written.context} is of no kubeconfig", "give the file: serve --kubeconfig")
        try:
            text = read_file(self._kubeconfig, _LONGEST_FILE).decode()
        except (OSError, UnicodeDecodeError) as error:
            raise AccessError(f"{self._kubeconfig} cannot be read", "check the file") from error
        return access_from_kubeconfig(text, written.context)

    def _as_account(self, access: Access, organization: str) -> Access:
        namespace = self._accounts_in
        if namespace is None:
            return access
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
        return access.acting_as(f"system:serviceaccount:{namespace}:{organization}", groups)


def _same(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    """By identity where it is an object: one that was read anew may say something else."""
    return len(one) == len(other) and all(
        a is b or (isinstance(a, (str, int)) and a == b) for a, b in zip(one, other, strict=True)
    )
