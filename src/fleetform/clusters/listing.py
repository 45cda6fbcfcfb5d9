"""What plugins have on a cluster, by a list for each kind and not a request for each object."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from fleetform.clusters.inventory import KIND, Entry, Known, ObjectRef, known_from, ref_of
from fleetform.clusters.ownership import PLUGIN, Manifest
from fleetform.outside.kubernetes.client import Client
from fleetform.outside.kubernetes.errors import DeniedError, MissingError, NoKindError, ObjectError
from fleetform.outside.kubernetes.resources import Resource

# More plugins than these are not named one by one.
_MOST_NAMED = 10


class Inventories(NamedTuple):
    """What plugins have, by their labels, and in which namespaces nobody can tell whether one has anything, and why;
    everywhere: all namespaces were looked at."""

    known: Mapping[str, Known]
    untold: Mapping[str, ObjectError]
    everywhere: bool


def inventories(client: Client, labels: Collection[str] | None, namespaces: Iterable[str]) -> Inventories:
    """What each of some plugins has, or of all (None); namespaces are where to look if we may not look everywhere."""
    parts: dict[str, list[Manifest]] = {}
    listed = _listed(client, client.resource("v1", "ConfigMap"), f"{KIND}=true,{_selector(labels)}", namespaces, False)
    for each in listed.items:
        parts.setdefault(each["metadata"]["labels"][PLUGIN], []).append(each)
    known = {label: known_from(found) for label, found in parts.items() if labels is None or label in labels}
    return Inventories(known, listed.untold, listed.everywhere)


# A group and a kind of it.
Kind = tuple[str, str]


class Live(NamedTuple):
    """What is there of what plugins have, and of which objects the cluster does not say whether they are, and why;
    with_status are the kinds whose controllers write into a status."""

    there: Mapping[ObjectRef, Manifest]
    untold: Mapping[ObjectRef, ObjectError]
    with_status: Collection[Kind] = ()


def live_objects(client: Client, known: Mapping[str, Known], metadata_only: Collection[Kind] | None = None) -> Live:
    """What is there of what some plugins have. Of some kinds, or of all (None), only their metadata is asked for."""
    kinds: dict[tuple[str, str], list[ObjectRef]] = {}
    for each in known.values():
        for ref, entry in each.objects.items():
            if not entry.hook:
                kinds.setdefault((entry.version, ref.kind), []).append(ref)
    found: dict[ObjectRef, Manifest] = {}
    untold: dict[ObjectRef, ObjectError] = {}
    with_status: set[Kind] = set()
    selector = _selector(known.keys())
    for (version, kind), refs in sorted(kinds.items()):
        try:
            resource = client.resource(version, kind)
            brief = metadata_only is None or (resource.group, kind) in metadata_only
            if resource.has_status:
                with_status.add((resource.group, kind))
            listed = _listed(client, resource, selector, sorted({ref.namespace for ref in refs}), brief)
        except NoKindError:
            continue
        except ObjectError as error:
            untold.update(dict.fromkeys(refs, error))
            continue
        for live in listed.items:
            # Items of a list do not say what they are.
            whole = {**live, "apiVersion": version, "kind": kind}
            found[ref_of(whole)] = whole
        untold.update((ref, listed.untold[ref.namespace]) for ref in refs if ref.namespace in listed.untold)
    return Live(found, untold, with_status)


def wanted(known: Known) -> Iterator[tuple[ObjectRef, Entry]]:
    """What stays on a cluster, without hooks."""
    return ((ref, entry) for ref, entry in known.objects.items() if not entry.hook)


def _selector(labels: Collection[str] | None) -> str:
    return PLUGIN if labels is None or len(labels) > _MOST_NAMED else f"{PLUGIN} in ({','.join(sorted(labels))})"


class _Listed(NamedTuple):
    """Objects of a kind, and the namespaces of which the cluster does not tell, and why."""

    items: list[Manifest]
    untold: Mapping[str, ObjectError]
    everywhere: bool


def _listed(
    client: Client, resource: Resource, selector: str, namespaces: Iterable[str], metadata_only: bool
) -> _Listed:
    """By one list; by one for each namespace if the account may not look at all of them."""
    try:
        return _Listed(list(client.items(resource, labels=selector, metadata_only=metadata_only)), {}, True)
    except DeniedError:
        if not resource.namespaced:
            raise
    except MissingError:
        # The kind went between the question which kinds there are and this one.
        return _Listed([], {}, True)
    found: list[Manifest] = []
    untold: dict[str, ObjectError] = {}
    for namespace in namespaces:
        try:
            found += client.items(resource, namespace, labels=selector, metadata_only=metadata_only)
        except ObjectError as error:
            # Rights are given by namespace: what is denied in one says nothing of the others.
            untold[namespace] = error
    return _Listed(found, untold, False)
