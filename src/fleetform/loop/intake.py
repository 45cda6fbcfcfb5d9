"""Intake: what the source has now becomes what the fleet is made of, or is refused once."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from secrets import token_hex

from fleetform.app.answering.references import reported
from fleetform.app.fleet import Fleet
from fleetform.app.reading.kept_objects import kept_from, needed
from fleetform.app.reading.secrets import SECRET_KIND
from fleetform.engine.world.contents import ContentHashes
from fleetform.loop.accepting import AcceptedChange, Refusal, accept, accepted_by, change_between, next_reading
from fleetform.loop.admitting import render_targets
from fleetform.loop.image import Extras, Image
from fleetform.loop.standing import Standing
from fleetform.ports.sources import SourceFiles

# After catalogs brought what cannot be taken.
_CATALOG_PAUSE = timedelta(minutes=1)


class Intake:
    """Takes files from the source. refusal is why the files as they are now were not accepted."""

    def __init__(self, standing: Standing) -> None:
        self._standing = standing
        self._reading: SourceFiles | None = None
        self.refusal: Refusal | None = None
        # Whether this process knows what is wrong with what is accepted.
        self._is_judged = False

    def forget(self) -> None:
        self._reading = None

    def look(self) -> bool:
        """Whether the source has something else than what was accepted or refused; the next pass takes it from here."""
        reading = self._standing.around.source.read()
        if self._is_known(reading):
            return False
        self._reading = reading
        return True

    def is_due(self, now: datetime) -> bool:
        """Whether something is at hand that was not accepted yet, or catalogs are to be read again."""
        return self._reading is not None or self._catalogs_are_due(now)

    def accept(self, now: datetime) -> AcceptedChange | None:
        """What the files brought; None if they are no others than before."""
        standing = self._standing
        reading, self._reading = self._reading or standing.around.source.read(), None
        due = self._catalogs_are_due(now)
        if self._is_known(reading) and not due:
            return None
        if not due and self._is_accepted(reading):
            # What was refused was taken back; or a process begins from what another one accepted.
            self.refusal = self._judged(reading, now)
            return None
        found = accept(reading, standing.image, standing.around.open_fleet, now, standing.fleet)
        if isinstance(found, Refusal):
            self.refusal = found
            standing.catalogs_due = now + _CATALOG_PAUSE if due else standing.catalogs_due
            return None
        is_other = found.image.files != standing.image.files
        change = change_between(standing.fleet, found.fleet) if is_other else None
        extras = Extras(deeds=accepted_by(reading, now))
        image = self._with_targets_of_open_rollouts(found.image, now, extras)
        image = self._with_kept_objects(image, found.fleet, now)
        if not image.known.secret_key and any(ref.kind == SECRET_KIND for ref in found.fleet.snapshot.others):
            # Made once, when there is something to tell apart.
            image = replace(image, known=replace(image.known, secret_key=token_hex(32)))
        standing.commit(image, extras, now)
        self.refusal, self._is_judged = found.refusal, True
        standing.take(found.fleet)
        standing.catalogs_due = next_reading(found.fleet)
        return change

    def _catalogs_are_due(self, now: datetime) -> bool:
        due = self._standing.catalogs_due
        return due is not None and due <= now

    def _is_known(self, reading: SourceFiles) -> bool:
        """Whether it is what was accepted, or what was refused."""
        if self.refusal is not None:
            return self.refusal.reading == reading
        return self._is_judged and self._is_accepted(reading)

    def _is_accepted(self, reading: SourceFiles) -> bool:
        return not reading.problems and bool(reading.files) and reading.files == self._standing.image.files

    def _judged(self, reading: SourceFiles, now: datetime) -> Refusal | None:
        """What is wrong with the accepted files themselves: another version of Fleetform may have accepted them."""
        self._is_judged = True
        fleet = self._standing.decide(now)
        errors = fleet.findings.errors if fleet is not None else ()
        if fleet is None or not errors:
            return None
        findings = reported(errors, fleet.input.locator)
        return Refusal(reading, "some objects were accepted earlier and are invalid now", findings, partial=True)

    def _with_targets_of_open_rollouts(self, image: Image, now: datetime, extras: Extras) -> Image:
        """Before other files take the place of these: what rollouts that run will still start is rendered from these.

        A rollout finishes on what it started with (B8).
        """
        stored = self._standing.image
        members = self._standing.unsettled.enrolled(stored.open_rollouts)
        places = ((key, stored.plugin(key).enrolment) for key in sorted(members))
        targets = [
            (key, place.target)
            for key, place in places
            if place is not None and place.target.input_hash not in stored.states
        ]
        before = self._standing.decide(now) if targets else None
        if before is None:
            return image
        around = self._standing.around
        rendering = render_targets(before, targets, stored, around.renders, extras, straight=around.is_straight)
        return replace(image, states={**image.states, **rendering.states})

    def _with_kept_objects(self, image: Image, fleet: Fleet, now: datetime) -> Image:
        """With the objects that rollouts still need as they are in these files, for clusters that join (B21)."""
        changes = self._standing.changes
        earlier = changes.hashes if changes is not None else None
        wanted = needed(image.known.rollouts, ContentHashes(fleet.snapshot, earlier))
        kept = {key: each for key, each in image.known.kept.items() if key in wanted}
        missing = wanted - kept.keys()
        before = self._standing.decide(now) if missing else None
        if before is not None:
            kept |= kept_from(ContentHashes(before.snapshot, earlier), before.input.documents, missing)
        if kept == image.known.kept:
            return image
        return replace(image, known=replace(image.known, kept=kept))
