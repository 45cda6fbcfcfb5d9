"""Taking over objects that are there already.

Only if somebody asked for it, or if this plugin left them, or the one that had the release before has or left them.
Nothing is touched while one of them cannot be taken over; without leave to take them over it is told what that would
change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from fleetform.clusters.inventory import ObjectRef, ref_of
from fleetform.clusters.ownership import PLUGIN, Manifest, is_ours, left_by, owner_of, was_left_by
from fleetform.deliver.kubernetes.existing import difference, taken_over
from fleetform.deliver.kubernetes.flux_owners import FluxOwner, flux_owner_of, is_at_work
from fleetform.deliver.kubernetes.helm_records import Release, objects_of, records, release_of, set_aside
from fleetform.deliver.kubernetes.holders import Holders
from fleetform.deliver.kubernetes.problems import (
    Existing,
    KeptByHelm,
    Problem,
    flux_is_at_work,
    helm_is_at_work,
    not_adopted,
    problem_of,
)
from fleetform.model.results.decisions import PluginKey
from fleetform.outside.kubernetes.client import Client
from fleetform.outside.kubernetes.errors import ObjectError


class Adoption:
    """Of the objects of one plugin on one cluster, those that are there and not its own.

    setting is what asks for them, as people write it. after_helm: some of them are of a Helm release, which is known
    once their refusals were asked for.
    """

    def __init__(
        self,
        client: Client,
        key: PluginKey,
        objects: Collection[ObjectRef],
        asked_for: bool,
        setting: str,
        predecessor: PluginKey | None,
    ) -> None:
        self._client, self._key, self._objects = client, key, objects
        self.after_helm = False
        self._asked_for, self._setting, self._predecessor = asked_for, setting, predecessor
        self._holders = Holders(client, key)
        self._free: set[Release | FluxOwner] = set()
        self._set_aside: set[Release] = set()

    def refusals(self, objects: Iterable[Manifest]) -> list[Problem]:
        """Why some of them cannot be taken over, before anything is. What cannot be asked about now is met later."""
        found: list[tuple[Manifest, Manifest]] = []
        self._holders = Holders(self._client, self._key)
        for each in objects:
            live = self._live(each)
            if live is not None and not is_ours(live, self._key):
                found.append((each, live))
        final = [problem for each, live in found if (problem := self._never(each, live)) is not None]
        if final:
            return final
        self.after_helm = any(release_of(live) is not None for _, live in found)
        foreign = [(each, live) for each, live in found if not self._may_take(each, live)]
        return [self._offer(foreign)] if foreign else []

    def take(self, manifest: Manifest, live: Manifest) -> Problem | None:
        """Makes an object ours before it is applied; or why that is not done."""
        # Other plugins may have gone on meanwhile.
        self._holders = Holders(self._client, self._key)
        problem = self._never(manifest, live)
        if problem is None and not self._may_take(manifest, live):
            problem = self._offer([(manifest, live)])
        if problem is not None:
            return problem
        release = release_of(live)
        if release is not None and release not in self._set_aside:
            # First: whatever happens from here on, Helm does not remove what is ours.
            set_aside(self._client, release, self._key)
            self._set_aside.add(release)
        taken_over(self._client, manifest, live)
        return None

    def _live(self, manifest: Manifest) -> Manifest | None:
        ref = ref_of(manifest)
        try:
            return self._client.get(self._client.resource_of(manifest), ref.namespace, ref.name)
        except ObjectError:
            # Its kind may come with the plugin itself.
            return None

    def _may_take(self, manifest: Manifest, live: Manifest) -> bool:
        before = [self._key, *([self._predecessor] if self._predecessor is not None else [])]
        # What it left itself when it went, or when a version had it no longer, it takes again.
        had_it = self._is_handed_over(live) or any(was_left_by(live, each) for each in before)
        return had_it or self._asked_for or manifest["kind"] == "Namespace"

    def _is_handed_over(self, live: Manifest) -> bool:
        return self._predecessor is not None and is_ours(live, self._predecessor)

    def _never(self, manifest: Manifest, live: Manifest) -> Problem | None:
        """Why an object stays whose it is, asked for or not: another plugin has it, or somebody is at work on it."""
        ref = ref_of(manifest)
        if self._is_handed_over(live):
            return None
        foreign = self._holders.refusal(ref, live)
        if foreign is not None or not self._asked_for:
            return foreign
        try:
            return self._at_work(ref, release_of(live), flux_owner_of(live))
        except ObjectError as error:
            return problem_of(ref, error)

    def _at_work(self, ref: ObjectRef, release: Release | None, owner: FluxOwner | None) -> Problem | None:
        if owner is not None and owner not in self._free:
            if is_at_work(self._client, owner):
                return flux_is_at_work(ref, owner)
            self._free.add(owner)
        if release is not None and release not in self._free:
            if any(each.is_at_work for each in records(self._client, release)):
                return helm_is_at_work(ref, release)
            self._free.add(release)
        return None

    def _offer(self, foreign: Sequence[tuple[Manifest, Manifest]]) -> Problem:
        """What taking them over would change: of each of them, and of the releases that they are of."""
        found = [
            Existing(ref_of(each), owner_of(live), difference(self._client, each, live), _left_by(live))
            for each, live in foreign
        ]
        releases = {release: None for _, live in foreign if (release := release_of(live)) is not None}
        kept_by_helm = [kept for each in releases if (kept := self._kept(each)) is not None]
        return not_adopted(found, kept_by_helm, self._setting)

    def _kept(self, release: Release) -> KeptByHelm | None:
        """What Helm has of a release; nothing if it has none or we may not look."""
        try:
            revisions = records(self._client, release)
            if not revisions:
                return None
            named = objects_of(self._client, revisions[-1])
        except ObjectError:
            return None
        # A manifest need not name the release's namespace.
        others = [
            each
            for each in named
            if each not in self._objects and each._replace(namespace=release.namespace) not in self._objects
        ]
        return KeptByHelm(str(release), len(revisions), others)


def _left_by(live: Manifest) -> str:
    """Which plugin left an object; one that still had it would not have been asked about."""
    return owner_of(live) if PLUGIN in (live["metadata"].get("labels") or {}) else left_by(live)
