"""Version: which revision a plugin wants.

The highest revision that its pin or range admits and that is supported: not yanked, not below a floor, not past its
end. A pin holds against everything but an end date (B11); nothing ever falls back to a version nobody asked for (S23).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from fleetform.model.kinds import PLATFORM_NAMESPACE
from fleetform.model.kinds.definition import Support
from fleetform.model.results.decisions import Gate, Revision
from fleetform.syntax.ranges import Range, RangeError, parse_range
from fleetform.syntax.times import parse_time
from fleetform.syntax.versions import VersionError, parse_version, same_version

Offers = Mapping[str, Revision]
Revisions = Mapping[tuple[str, str], Offers]
ANY_STABLE = "*"
# Pre-releases, too.
ANY_VERSION = ">=0.0.0-0"


class SupportRules(NamedTuple):
    """The rules of policies about a definition's versions, at one time."""

    floor: str | None = None
    yanked: frozenset[str] = frozenset()
    ended: tuple[Range, ...] = ()
    rejected: frozenset[str] = frozenset()

    def refuses(self, version: str) -> str | None:
        """Why a version is not supported, or None."""
        if version in self.yanked:
            return "yanked"
        if version in self.rejected:
            return "rejected after a rollback"
        if self.floor is not None and parse_version(version) < parse_version(self.floor):
            return f"below the floor {self.floor}"
        return "past its end" if self.has_ended(version) else None

    def has_ended(self, version: str) -> bool:
        return any(each.admits(version) for each in self.ended)


ALL_SUPPORTED = SupportRules()


def support_rules(
    support: Iterable[Support],
    definition: str,
    at: datetime,
    rejected: frozenset[str] = frozenset(),
    past_end: Iterable[str] = (),
) -> SupportRules:
    """The rules of all policies together: the highest floor, every yanked version, every end that has come.

    rejected are the versions that failed for one owner, and are not tried there again by themselves (B10); past_end
    are those whose own end has come.
    """
    floors: list[str] = []
    yanked: set[str] = set()
    ended = [parse_range(f"={each}") for each in past_end]
    for rule in support:
        if rule.definition != definition:
            continue
        floors += _readable([rule.floor] if rule.floor is not None else [])
        yanked.update(_readable(rule.yanked or []))
        for end in rule.ends or []:
            try:
                if parse_time(end.at) <= at:
                    ended.append(parse_range(end.version))
            except ValueError:
                # Reported where the policy is checked.
                continue
    return SupportRules(max(floors, key=parse_version, default=None), frozenset(yanked), tuple(ended), rejected)


def ends_of(support: Iterable[Support]) -> Iterator[datetime]:
    """The times at which rules end the support of versions."""
    for end in (each for rule in support for each in rule.ends or []):
        try:
            yield parse_time(end.at)
        except ValueError:
            # Reported where the policy is checked.
            continue


def _readable(versions: Iterable[str]) -> list[str]:
    found = []
    for version in versions:
        try:
            found.append(str(parse_version(version)))
        except VersionError:
            continue
    return found


def offered(revisions: Revisions, organization: str, definition: str) -> Offers:
    """A definition's revisions by version: an organization's own definition hides the platform's (R2-4)."""
    return revisions.get((organization, definition)) or revisions.get((PLATFORM_NAMESPACE, definition)) or {}


class Choice(NamedTuple):
    """The revision that is wanted, and whether an end date forced it on a pin or a range."""

    revision: Revision
    forced: bool = False


def choose(offers: Offers, definition: str, wanted: str | None, rules: SupportRules = ALL_SUPPORTED) -> Choice | Gate:
    """The choice, or the gate that says why there is none."""
    if not offers:
        return _gate(f"there is no definition {definition}", f"add PluginDefinition {definition}, or fix the name")
    try:
        wanted_range = parse_range(wanted or ANY_STABLE)
    except RangeError as error:
        message = f"{wanted!r} is not a version or range of {definition}: {error.message} (column {error.column})"
        return _gate(message, f"write one such as ^1.2 or ~1.2.3; there is {_listed(offers)}")
    if wanted_range.exact is not None:
        return _pinned(offers, definition, wanted_range.exact, wanted or "", rules)
    admitted = [version for version in offers if wanted_range.admits(version)]
    supported = [version for version in admitted if rules.refuses(version) is None]
    if supported:
        return Choice(offers[max(supported, key=_order)])
    if any(rules.has_ended(each) for each in admitted):
        forced = _forced(offers, [each for each in admitted if rules.has_ended(each)], rules)
        if forced is not None:
            return forced
    if admitted:
        why = ", ".join(f"{each} is {rules.refuses(each)}" for each in sorted(admitted, key=_order))
        if wanted is None:
            return _gate(f"no version of {definition} is supported: {why}", "add a newer version")
        return _gate(f"no supported version of {definition} fits {wanted}: {why}", "widen the range")
    if wanted is None and all(each.object.conventions.takes_prereleases for each in offers.values()):
        return choose(offers, definition, ANY_VERSION, rules)
    if wanted is None:
        message = f"{definition} has no stable version, only {_listed(offers)}"
        return _gate(message, "pin one of them by its exact version")
    return _gate(f"no version of {definition} fits {wanted}", f"there is {_listed(offers)}")


def _order(version: str) -> tuple[object, str]:
    # Build metadata does not order versions; the text does, so that the answer never depends on the input's order.
    return parse_version(version), version


def _pinned(offers: Offers, definition: str, exact: str, wanted: str, rules: SupportRules) -> Choice | Gate:
    # Builds of one version are one version, unless the pin names the build.
    builds = [each for each in offers if same_version(each, exact)]
    named = [each for each in builds if wanted.strip().lstrip("=v ") == each]
    pinned = exact if exact in offers and not named else max(named or builds, key=_order, default=exact)
    if rules.has_ended(pinned):
        forced = _forced(offers, [pinned], rules)
        if forced is not None:
            return forced
        message = f"support of {definition} {pinned} has ended, and there is no supported version above it"
        return _gate(message, "publish one, or move the end date in the LifecyclePolicy")
    if pinned in rules.rejected:
        return Gate(
            "rejected",
            f"{definition} {pinned} failed here and was rolled back",
            "publish a higher version, edit its owner, or let it be tried again",
        )
    if pinned in offers:
        return Choice(offers[pinned])
    return _gate(f"{definition} has no version {pinned}", f"there is {_listed(offers)}")


def _forced(offers: Offers, ended: Iterable[str], rules: SupportRules) -> Choice | None:
    """What an end date forces: the lowest supported version above those that have ended (B11, S56)."""
    last = max(map(parse_version, ended))
    above = [each for each in offers if parse_version(each) > last and rules.refuses(each) is None]
    stable = [each for each in above if not parse_version(each).prerelease]
    return Choice(offers[min(stable, key=_order)], forced=True) if stable else None


def _gate(message: str, do: str) -> Gate:
    return Gate("version", message, do)


def _listed(offers: Offers) -> str:
    return ", ".join(sorted(offers, key=_order))


def versions_between(offers: Offers, low: str | None, high: str) -> list[Revision]:
    """The revisions in (low, high], oldest first: those an upgrade passes (S26)."""
    top = parse_version(high)
    bottom = parse_version(low) if low is not None else None
    passed = [
        each for each in offers if (bottom is None or parse_version(each) > bottom) and parse_version(each) <= top
    ]
    return [offers[each] for each in sorted(passed, key=_order)]
