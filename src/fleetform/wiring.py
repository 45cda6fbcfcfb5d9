"""Chooses implementations: the one place where the application meets its adapters."""

from __future__ import annotations

import atexit
import hashlib
import os
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

from fleetform.app.errors import StateError
from fleetform.app.fleet import Fleet, read_fleet
from fleetform.app.reading.kept_readings import KeptReadings
from fleetform.artifacts.confined import sources_outside
from fleetform.artifacts.store import cache_folder
from fleetform.catalogs.cache import CatalogCache
from fleetform.catalogs.reader import Catalogs, Fetching
from fleetform.load.parses import KeptParses, Parses
from fleetform.load.reader import load_input
from fleetform.load.state import StateFile
from fleetform.model.identity import Identity
from fleetform.outside.boundary import EVERYWHERE, Boundary
from fleetform.outside.files import OUTPUT_MARK, LocalFiles, write_file
from fleetform.ports.rendering import Renders
from fleetform.ports.state import KnownState, StateStore
from fleetform.syntax.times import parse_time

if TYPE_CHECKING:
    from fleetform.access.door import Door
    from fleetform.loop.accepting import OpenFleet
    from fleetform.loop.caring import Care
    from fleetform.loop.control import Control, PassReport
    from fleetform.loop.driver import Driver
    from fleetform.loop.polling import Poller
    from fleetform.loop.records import Destination
    from fleetform.loop.viewing import Views
    from fleetform.outside.control_plane import ControlPlane
    from fleetform.outside.mirrors import Mirror
    from fleetform.outside.watching import FileWatcher
    from fleetform.ports.clock import Clock
    from fleetform.ports.delivery import Deliverer
    from fleetform.ports.notify import Endpoint
    from fleetform.ports.store import StoreError, StoreReader
    from fleetform.store.sqlite import SqliteReader
    from fleetform.transformers.opened import OpenedPlugins

__all__ = [
    "OUTPUT_MARK",
    "Fetching",
    "LocalFiles",
    "Parses",
    "Plane",
    "in_repository",
    "open_fleet",
    "open_parses",
    "open_plane",
    "open_renderers",
    "open_state",
    "write_file",
]

DATABASE = "sqlite:.fleetform/fleet.db"


def open_fleet(
    sources: Sequence[str],
    organization: str | None = None,
    at: str | None = None,
    state: str | None = None,
    strict: bool = False,
    fetching: Fetching = "none",
    catalogs: Sequence[str] | None = None,
    plugin_folder: str | None = None,
    confined: bool = False,
    parses: Parses | None = None,
    report: Callable[[int, int], None] | None = None,
    known: KnownState | None = None,
) -> Fleet:
    """The fleet that the sources hold, as it is at a time (now, unless one is given).

    catalogs are the names of those that are fetched; None means all. plugin_folder holds transform plugins. confined
    reads nothing outside of the repository. parses has what need not be parsed again. report is told how many files are
    read, and of how many. known is what is known, where state does not name it.
    """
    moment = parse_time(at) if at is not None else _now()
    boundary = Boundary.of_repository() if confined else EVERYWHERE
    reader = Catalogs(CatalogCache(cache_folder()), _now, fetching, catalogs, boundary)
    input_ = load_input(sources or ["."], boundary=boundary, parses=parses, report=report)
    fleet = read_fleet(input_, moment, organization, known or _known(state), strict, reader)
    refused = tuple(sources_outside(fleet, boundary)) if confined else ()
    return replace(fleet, transforms=_TransformIdentities(plugin_folder), reading=(*fleet.reading, *refused))


def open_accepted(
    server: str | None, state: str | None, organization: str | None, at: str | None
) -> tuple[Fleet, KnownState]:
    """The fleet that a control plane has accepted, asked of it or read from its database, and what it knows."""
    from fleetform.app.accepted import accepted_source, known_of
    from fleetform.load.inputs import InputFile
    from fleetform.load.reader import load_files
    from fleetform.model.answers.source import AcceptedSource

    if server is not None:
        source = open_control_plane(server).answer("source", AcceptedSource, {})
    else:
        from fleetform.loop.image import read_image

        reader = open_store_reader(state)
        try:
            image = read_image(reader, database_path(state))
        finally:
            reader.close()
        source = accepted_source(image.files, image.source.revision, image.known)
    known = known_of(source, server or database_path(state))
    files = [InputFile(name, text.encode()) for name, text in sorted(source.files.items())]
    moment = parse_time(at) if at is not None else _now()
    catalogs = Catalogs(CatalogCache(cache_folder()), _now, "none", None)
    return read_fleet(load_files(files, "server"), moment, organization, known, False, catalogs), known


def _known(state: str | None) -> KnownState:
    return open_state(state).read() if state is not None else KnownState()


def open_state(name: str) -> StateStore:
    """Where `--state` keeps what is known."""
    if not name.startswith("sqlite:"):
        return StateFile(name)
    from fleetform.store.sqlite_state import SqliteState

    return SqliteState(database_path(name), _Clock(None))


def open_control_plane(url: str) -> ControlPlane:
    """A control plane that runs somewhere, asked as whoever this user is there."""
    # Imported where it is needed: it brings an HTTP client.
    from fleetform.outside.control_plane import ControlPlane
    from fleetform.outside.tokens import address_of, find_token

    def find(server: str) -> str | None:
        found = find_token(address_of(server))
        if found is None:
            from fleetform.access.logins import token_for

            found = token_for(server)
        return found

    return ControlPlane(url, find)


class AccessSettings(NamedTuple):
    """Who is let in beside the user of `serve`: the names in a file of tokens, and the people of an issuer."""

    token_file: str | None = None
    oidc_issuer: str | None = None
    oidc_client_id: str = ""
    oidc_audiences: tuple[str, ...] = ()
    oidc_groups_claim: str = "groups"
    oidc_groups_prefix: str = ""


def open_door(
    settings: AccessSettings, own_token: str, owner: Identity, clock: Clock, told: Callable[[str], None]
) -> Door:
    """What tells who asks. TokenFileError if the file of tokens cannot be used."""
    from fleetform.access.door import Door
    from fleetform.access.own_token import OwnToken
    from fleetform.access.token_file import TokenFile
    from fleetform.ports.access import SignInSettings, Tokens

    kinds: list[Tokens] = [OwnToken(own_token, owner)]
    if settings.token_file is not None:
        kinds.append(TokenFile(settings.token_file, clock, told))
    if settings.oidc_issuer is None:
        return Door(kinds, told)
    from fleetform.access.issuer import IssuerKeys, issuer_web
    from fleetform.access.oidc import OidcSettings, OidcTokens

    issuer, client = settings.oidc_issuer, settings.oidc_client_id
    asked = OidcSettings(
        issuer, client, settings.oidc_audiences, settings.oidc_groups_claim, settings.oidc_groups_prefix
    )
    kinds.append(OidcTokens(asked, IssuerKeys(issuer_web(), issuer), time.time))
    return Door(kinds, told, SignInSettings(issuer, client))


def open_parses(kept: bool = True) -> Parses:
    """What the inputs of one command share of their parses; with those that earlier commands kept."""
    return Parses(KeptParses(os.path.join(cache_folder(), "parses"), _key_file()) if kept else None)


def _key_file() -> str:
    """The key that kept parses are signed with: not in the cache, which people copy from machine to machine."""
    base = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "fleetform", "parses.key")


class Plane(NamedTuple):
    """A control plane that is ready to run; close lets go of the database.

    fetch brings what a source elsewhere has now; look has the source looked at soon, and attend does so again and again
    until what it answers is called. drain sends what people are told, for so many seconds at most.
    """

    control: Control
    driver: Driver
    close: Callable[[], None]
    turn_clock: Callable[[datetime], None]
    fetch: Callable[[], None]
    look: Callable[[], None]
    attend: Callable[[], Callable[[], None]]
    drain: Callable[[float], None]


def open_plane(
    sources: Sequence[str],
    database: str,
    told: Callable[[PassReport], None],
    failed: Callable[[StoreError], None],
    unwatched: Callable[[str], None],
    cared: Callable[[Care], None],
    organization: str | None = None,
    at: str | None = None,
    interval: timedelta = timedelta(seconds=30),
    output_folder: str = "out",
    health_folder: str | None = None,
    plugin_folder: str | None = None,
    repository: str | None = None,
    said: Callable[[str], None] = lambda line: None,
    looked: Callable[[], None] = lambda: None,
    private_endpoints: bool = False,
    trial: bool = False,
) -> Plane:
    """The embedded control plane over a database. at stops the clock at a time. repository: where sources are.

    unwatched is told why there are no file events, if there are none, cared what was found while nothing was due; said
    gets what became of notifications. looked is called whenever the loop has looked whether there is work.
    private_endpoints: notifications may go to addresses of this network. In a trial, or at another time, none is sent.
    """
    # Imported where it is needed: no other command has a database.
    from fleetform.deliver.directory import DirectoryDelivery
    from fleetform.deliver.git import Branch, GitDelivery
    from fleetform.load.inputs import IGNORE_FILE
    from fleetform.load.sources import FileSource, RepositorySource, folder_finder
    from fleetform.loop.control import Control, Surroundings
    from fleetform.loop.destinations import destination_of, login_of
    from fleetform.loop.driver import Driver
    from fleetform.loop.endpoints import endpoint
    from fleetform.loop.polling import Poller
    from fleetform.loop.sending import Sending
    from fleetform.notify.notifier import HttpNotifier
    from fleetform.observe.health import ClusterObserver
    from fleetform.outside.mirrors import Mirror, git_address
    from fleetform.outside.posts import Posts
    from fleetform.outside.watching import FileWatcher
    from fleetform.store.sqlite import SqliteStore

    store = SqliteStore(database)
    clock = _Clock(parse_time(at) if at is not None else None)

    def deliverer(destination: Destination) -> Deliverer:
        if destination.kind == "directory":
            return DirectoryDelivery(destination.path)
        address = git_address(destination.path, ".")
        name = hashlib.sha256(address.encode()).hexdigest()[:16]
        mirror = Mirror(os.path.join(cache_folder(), "deliveries", name), address)
        branch = Branch(destination.branch, destination.folder, destination.sign)
        return GitDelivery(mirror, branch, lambda: login_of(control.fleet, destination), time.sleep)

    folder_of = folder_finder(sources)
    source: FileSource | RepositorySource = FileSource(sources)
    if repository is not None:
        source = RepositorySource(_copy_of(repository, database), sources)
    control = Control(
        Surroundings(
            store,
            clock,
            source,
            _opener(sources, organization, clock, "due", plugin_folder),
            open_renderers(plugin_folder=plugin_folder),
            deliverer,
            ClusterObserver(health_folder),
            lambda fleet, plugin: destination_of(fleet, plugin, output_folder, folder_of),
            database,
            folder_of,
            sends=at is None and not trial,
        )
    )

    def endpoint_of(organization: str, id_: str) -> Endpoint | str | None:
        fleet = control.fleet
        return endpoint(fleet, organization, id_) if fleet is not None else "no files were accepted yet"

    def beside() -> datetime | None:
        looked()
        return sending.attend()

    notifier = HttpNotifier(Posts(private_endpoints))
    sending = Sending(store, notifier, clock, endpoint_of, lambda: driver.wake(), said)
    driver = Driver(control, clock, interval, told, failed, cared, beside)
    look = partial(driver.wake, source_changed=True)
    if isinstance(source, RepositorySource):
        poller = Poller(source.fetch, look, interval, random.uniform)
        follow = partial(_attended, poller)
        return Plane(control, driver, store.close, clock.turn, source.fetch, poller.hint, follow, sending.drain)
    folders = [each for each in sources if not each.startswith("git:") and os.path.exists(each)]
    watcher = FileWatcher(folders, OUTPUT_MARK, (IGNORE_FILE,), look, unwatched)
    attend = partial(_attended, watcher) if folders else lambda: _nothing
    return Plane(control, driver, store.close, clock.turn, _nothing, look, attend, sending.drain)


def _attended(beside: Poller | FileWatcher) -> Callable[[], None]:
    beside.start()
    return beside.stop


def _copy_of(repository: str, database: str) -> Mirror:
    """The copy of a repository beside a database: `git:REF` means this one, here and in processes that are started."""
    from fleetform.outside.mirrors import Mirror, git_address

    folder = f"{os.path.abspath(database)}.git"
    os.environ["GIT_DIR"] = folder
    return Mirror(folder, git_address(repository, "."))


def _nothing() -> None:
    """There is nothing to do."""


class Viewing(NamedTuple):
    """What an API answers from. Each reads by a connection of its own: two threads cannot use one at a time."""

    views: Views
    history: StoreReader
    changes: StoreReader
    clock: Clock


def open_views(
    sources: Sequence[str], database: str, organization: str | None, at: str | None, plugin_folder: str | None
) -> Viewing:
    """What the API of a control plane answers from: the database, read only, and nothing of the network."""
    from fleetform.loop.viewing import Views
    from fleetform.store.sqlite import SqliteReader

    clock = _Clock(parse_time(at) if at is not None else None)
    opener = _opener(sources, organization, clock, "none", plugin_folder)
    views = Views(SqliteReader(database), opener, clock, database)
    return Viewing(views, SqliteReader(database), SqliteReader(database), clock)


def _opener(
    sources: Sequence[str], organization: str | None, clock: Clock, fetching: Fetching, plugin_folder: str | None
) -> OpenFleet:
    """Reads stored files as a fleet; those that did not change are not parsed again."""
    from fleetform.load.inputs import InputFile
    from fleetform.load.reader import DocumentCache, load_files, with_authors
    from fleetform.outside.authorship import AuthorMemory

    cache, authors, readings = DocumentCache(), AuthorMemory(), KeptReadings()
    transforms = _TransformIdentities(plugin_folder)
    reader = Catalogs(CatalogCache(cache_folder()), clock.now, fetching, None)

    def opened(files: Mapping[str, bytes], moment: datetime, known: KnownState) -> Fleet:
        read = [InputFile(name, content) for name, content in sorted(files.items())]
        input_ = with_authors(load_files(read, " ".join(sources), cache), sources, authors)
        fleet = read_fleet(input_, moment, organization, known, catalogs=reader, kept_readings=readings)
        return replace(fleet, transforms=transforms)

    return opened


def open_stored_fleet(sources: Sequence[str], organization: str | None, plugin_folder: str | None) -> OpenFleet:
    """What reads stored files as a fleet, and nothing of the network."""
    return _opener(sources, organization, _Clock(None), "none", plugin_folder)


def sqlite_version() -> str:
    """The version of SQLite that databases are read and written with."""
    import apsw

    return str(apsw.sqlite_lib_version())


def database_path(state: str | None) -> str:
    """The file of a database that --state names, or the usual one."""
    if state is not None and not state.startswith("sqlite:"):
        raise StateError(f"{state} is a state export, no database", "give --state sqlite:PATH")
    return (state or DATABASE).removeprefix("sqlite:")


def open_store_reader(state: str | None) -> SqliteReader:
    """A control plane's database, to be read; it may be in use."""
    from fleetform.store.sqlite import SqliteReader

    return SqliteReader(database_path(state))


def export_state(state: str | None, file: str) -> None:
    """Writes what a database says as a state export."""
    from fleetform.store.sqlite_state import SqliteState

    StateFile(file).write(SqliteState(database_path(state), _Clock(None)).read())


def back_up_database(state: str | None, file: str) -> None:
    from fleetform.store.backups import back_up

    back_up(database_path(state), file)


def restore_database(file: str, state: str | None, only_check: bool = False) -> None:
    from fleetform.store.backups import check, restore

    if only_check:
        check(file)
    else:
        restore(file, database_path(state))


class _Clock:
    """The time, or one at which it stands still until it is turned."""

    def __init__(self, stopped: datetime | None) -> None:
        self._stopped = stopped

    def now(self) -> datetime:
        return self._stopped or _now()

    def turn(self, to: datetime) -> None:
        self._stopped = to


def open_renderers(fetching: bool = False, plugin_folder: str | None = None, confined: bool = False) -> Renders:
    """What renders charts, kustomizations and manifests, and transforms what comes of them.

    fetching downloads their sources anew; plugin_folder holds transform plugins; confined reads nothing outside of the
    repository, and downloads nothing.
    """
    # Imported where it is needed: most commands render nothing, and start-up time counts.
    from fleetform.renderers.batch import Renderers
    from fleetform.transformers.pipeline import TransformingRenders

    boundary = Boundary.of_repository() if confined else EVERYWHERE
    renderers = Renderers(cache_folder(), fetching, boundary=boundary)
    return TransformingRenders(renderers, partial(_transform_plugins, plugin_folder))


@cache
def _transform_plugins(folder: str | None) -> OpenedPlugins:
    """The transform plugins that presets can name; what they keep running ends with the process."""
    from fleetform.transformers.opened import open_plugins

    opened = open_plugins(folder, every_built_in=True)
    atexit.register(opened.__exit__, None, None, None)
    return opened.__enter__()


class _TransformIdentities(Mapping[str, str]):
    """What transform plugins are, by name. Plugins are opened when somebody names one: most fleets name none."""

    def __init__(self, folder: str | None) -> None:
        self._folder = folder

    @cached_property
    def _known(self) -> dict[str, str]:
        known: dict[str, str] = {}
        for each in _transform_plugins(self._folder).plugins:
            known.setdefault(each.name, each.identity)
        return known

    def __getitem__(self, name: str) -> str:
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


def in_repository(path: str) -> bool:
    """Whether a path is in the repository of the working directory."""
    return Boundary.of_repository().holds(path)


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)
