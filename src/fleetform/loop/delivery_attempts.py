"""What is to be delivered where, and what is stored before it is brought."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from msgspec import structs

from fleetform.loop.cluster_answers import is_refused
from fleetform.loop.image import Image
from fleetform.loop.records import DeliveryRecord, Destination
from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import Deployed


class Attempt(NamedTuple):
    """What a delivery depends on: where to, what ("" if it is to go away), what lets in there, and the Secrets that it
    is filled in with."""

    destination: Destination
    input_hash: str
    login: object
    secrets: tuple[object, ...] = ()


def attempts_of(
    image: Image,
    keys: Iterable[PluginKey],
    destinations: Mapping[PluginKey, Destination],
    removals: Mapping[PluginKey, str],
    login: Callable[[Destination], object],
    secrets: Callable[[Image, PluginKey, str], tuple[object, ...]],
    retained: Container[PluginKey],
) -> dict[PluginKey, Attempt]:
    """What is to be done about plugins that are not where they should be, or are where they should not."""
    found: dict[PluginKey, Attempt] = {}
    for key in sorted(keys):
        state, record = image.plugin(key), image.deliveries.get(key)
        admitted = state.admitted
        if key in removals or admitted is None or admitted.input_hash is None or state.attempt is None:
            continue
        destination = _destination(destinations.get(key), record, admitted)
        if destination is None or is_refused(record, state):
            continue
        arrived = record is not None and record.input_hash == admitted.input_hash and record.destination == destination
        if not arrived or (record is not None and record.leaves):
            filled_in = secrets(image, key, admitted.input_hash)
            found[key] = Attempt(destination, admitted.input_hash, login(destination), filled_in)
    for key in removals:
        record = image.deliveries.get(key)
        if record is not None:
            destination = structs.replace(record.destination, retain=key in retained)
            found[key] = Attempt(destination, "", login(record.destination))
    return found


def announced(
    image: Image,
    keys: Iterable[PluginKey],
    destinations: Mapping[PluginKey, Destination],
    removals: Iterable[PluginKey] = (),
) -> Image:
    """With where first deliveries go, and without what is about to be replaced or removed, stored before any of that:
    whoever ends in between leaves nothing behind that nobody knows of. And of a delivery whose end nobody hears nobody
    knows what is there: a way back, or a cluster that comes again, must not find there what was there before."""
    records: dict[PluginKey, DeliveryRecord] = {}
    for key in keys:
        admitted, record = image.plugin(key).admitted, image.deliveries.get(key)
        if admitted is None:
            continue
        if record is None:
            destination = _destination(destinations.get(key), None, admitted)
            if destination is not None:
                records[key] = DeliveryRecord(destination)
        elif record.input_hash not in ("", admitted.input_hash):
            records[key] = structs.replace(record, input_hash="")
    for key in removals:
        record = image.deliveries.get(key)
        if record is not None and record.input_hash:
            records[key] = structs.replace(record, input_hash="")
    return replace(image, deliveries={**image.deliveries, **records}) if records else image


def _destination(wanted: Destination | None, record: DeliveryRecord | None, admitted: Deployed) -> Destination | None:
    """Where an admitted state belongs: where files say now, or where it is if they no longer say.

    To or from a cluster it goes with the next state that is admitted: what runs there is not moved by an edit alone.
    """
    there = record.destination if record is not None else None
    if wanted is None or there is None or "kubernetes" not in (wanted.kind, there.kind):
        found = wanted or there
    else:
        arrived = record is not None and record.input_hash == admitted.input_hash
        found = there if arrived and wanted.kind != there.kind else wanted
    if found is None or found.kind != "kubernetes" or found.namespace or admitted.installer is None:
        return found
    return structs.replace(found, namespace=admitted.installer.release_namespace)
