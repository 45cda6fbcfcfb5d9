"""Showing: each pass as objects of an API server tell it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from fleetform.app.fleet import Fleet
from fleetform.loop.control import PassReport
from fleetform.loop.image import Image
from fleetform.model.kinds import API_VERSION, KINDS
from fleetform.model.objects import Ref
from fleetform.operator.status.events import Events, from_changes, from_store
from fleetform.operator.status.greenhouse import GreenhouseStatuses
from fleetform.operator.status.passes import Pass
from fleetform.operator.status.projection import Projection
from fleetform.operator.status.seen import Cache
from fleetform.operator.status.wanted import ADD_ON, ADD_ONS, is_of
from fleetform.operator.status.writing import Writing
from fleetform.outside.errors import OutsideError
from fleetform.outside.kubernetes.client import Client

# PluginStates are the store's, and Approvals say all that there is to say about them.
FOLLOWED = (
    *((API_VERSION, kind) for kind in KINDS if kind not in ("PluginState", "Approval")),
    (ADD_ONS, ADD_ON),
)


class StatusWriter:
    """Called after each pass. What is shown is computed there and then; it is written beside the passes, and if one
    comes before the last is written, the newest counts.

    cache follows what is there, for all organizations. organization: only its objects are written, as another control
    plane does so for those of others. instance is who tells of what happened. own_greenhouse: statuses of
    Greenhouse are written, also where it wrote them. failed is told what could not be written, said what is left to
    others.
    """

    def __init__(
        self,
        client: Client,
        cache: Cache,
        now: Callable[[], datetime],
        *,
        organization: str = "",
        instance: str = "fleetform",
        threads: int = 4,
        own_greenhouse: bool = False,
        said: Callable[[str], None] = lambda text: None,
        failed: Callable[[str, OutsideError], None] = lambda what, error: None,
    ) -> None:
        self._projection, self._organization = Projection(), organization
        self._cache = cache
        self._unlisten: Callable[[], None] = lambda: None
        # Kinds of other systems that something is to be written to.
        self._unfollowed: set[str] = set()
        self._writing = Writing(
            client,
            self._cache,
            self._projection.wanted,
            now,
            threads=threads,
            failed=lambda ref, error: failed(str(ref), error),
        )
        self._events = Events(client, self._cache, instance, failed)
        self._greenhouse = GreenhouseStatuses(client, now, own_greenhouse, said)

    def start(self) -> None:
        self._unlisten = self._cache.listen(self._organization, self._writing.look_at)
        self._events.start()
        self._writing.start()
        self._greenhouse.start()

    def stop(self) -> None:
        self._unlisten()
        self._events.stop()
        self._writing.stop()
        self._greenhouse.stop()

    def show(self, report: PassReport, fleet: Fleet | None, image: Image) -> None:
        """Raises what kept an earlier pass from being written, if that was no refusal or failure of the server."""
        self._writing.check()
        self._greenhouse.check()
        if fleet is None or report.plan is None:
            self._look_at(self._projection.refuse(report.refusal))
            self._writing.begin(is_whole=False)
            return
        projection = self._projection
        is_first = not projection.wanted
        shown = Pass(fleet, report.plan, image, report.refusal)
        changed = projection.update(shown)
        self._look_at(changed)
        self._greenhouse.show(shown)
        # Of an object that was never accepted nobody knows what it wants.
        self._writing.begin(is_whole=report.refusal is None or not report.refusal.partial)
        self._events.tell(from_store(report.events, projection.name_of))
        if not is_first:
            # What a new process finds was told by the one before it.
            self._events.tell(from_changes(changed, projection.before, projection.wanted, report.at))

    def wait_for_events(self) -> None:
        self._events.wait()

    def wait(self, seconds: float) -> bool:
        """Whether everything is written by then."""
        return self._writing.wait(seconds)

    @property
    def waiting(self) -> int:
        """How many objects may have to be written."""
        return self._writing.waiting

    @property
    def writes(self) -> int:
        """How many requests were made to write."""
        return self._writing.writes

    def _look_at(self, refs: Iterable[Ref]) -> None:
        ours = [each for each in refs if is_of(self._organization, each)]
        self._unfollowed |= {each.kind for each in ours}
        self._unfollowed.difference_update(self._cache.kinds)
        # Asked again with every pass: a system's kinds are served a little after its objects are known.
        for kind in self._unfollowed:
            self._cache.follow(kind)
        self._writing.look_at(ours)
