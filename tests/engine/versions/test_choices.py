"""Which revision is wanted, what policies make of it, and when an upgrade may start: tables with literal answers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fleetform.engine.versions.choose import (
    Choice,
    Offers,
    SupportRules,
    choose,
    ends_of,
    support_rules,
    versions_between,
)
from fleetform.engine.versions.lifecycle import (
    Lifecycle,
    above_ceilings,
    forced_at,
    later,
    lifecycle_of,
    upgrade_times,
)
from fleetform.engine.versions.retention import History, judge_history
from fleetform.model.kinds.definition import Support, VersionEnd
from fleetform.model.kinds.lifecycle import LifecyclePolicySpec
from fleetform.model.snapshot import Snapshot
from fleetform.syntax.ranges import parse_range
from support.fleets import NOW, fleet_of

DAY = timedelta(days=1)
DEFINITION = """\
apiVersion: fleetform.dev/v1alpha1
kind: PluginDefinition
metadata: {{name: web, namespace: acme{stamp}}}
spec: {{version: {version}, source: {{manifests: {{path: ./m}}}}{changes}}}
"""


def known(*versions: str, **stamps: str) -> tuple[Offers, Snapshot]:
    """Revisions of one definition; `2.0.0!7d` breaks and has a grace of its own."""
    texts = []
    for text in versions:
        version, breaks, grace = text.partition("!")
        more = f", grace: {grace}" if grace else ""
        stamp = stamps.get("v" + version.replace(".", "_"))
        texts.append(
            DEFINITION.format(
                version=version,
                changes=f", changes: {{breaking: true, acknowledge: look{more}}}" if breaks else "",
                stamp=f", annotations: {{fleetform.dev/announced: '{stamp}'}}" if stamp else "",
            )
        )
    index = fleet_of("---\n".join(texts)).decisions.index
    return index.definitions.revisions["acme", "web"], index.snapshot


def offers(*versions: str) -> Offers:
    return known(*versions)[0]


def told(found: object) -> str:
    if isinstance(found, Choice):
        return found.revision.version + (" forced" if found.forced else "")
    return f"{found.message} → {found.do}"  # type: ignore[attr-defined]


MANY = ("1.0.0", "1.1.0", "1.2.0-rc.1", "1.2.0", "2.0.0", "2.1.0-rc.1")
BUILDS = ("1.0.0+a", "1.0.0+b", "1.1.0")


def rules(floor: str | None = None, yanked: str = "", ended: str = "", rejected: str = "") -> SupportRules:
    ends = tuple(parse_range(each) for each in ended.split("|") if each)
    return SupportRules(floor, frozenset(yanked.split()), ends, frozenset(rejected.split()))


@pytest.mark.rule("S23", "B11")
@pytest.mark.parametrize(
    ("there", "wanted", "by", "expected"),
    [
        (MANY, None, rules(), "2.0.0"),
        (MANY, "^1.0", rules(), "1.2.0"),
        (MANY, "~1.1", rules(), "1.1.0"),
        (MANY, "1.1.0", rules(), "1.1.0"),
        (MANY, " =1.1.0", rules(), "1.1.0"),
        (MANY, "v1.1.0", rules(), "1.1.0"),
        (MANY, "1.2.0-rc.1", rules(), "1.2.0-rc.1"),
        (MANY, "^1.0", rules(yanked="1.2.0"), "1.1.0"),
        (MANY, "^1.0", rules(rejected="1.2.0 1.1.0"), "1.0.0"),
        (MANY, "^1.0", rules(floor="1.2.0"), "1.2.0"),
        (
            MANY,
            "~1.0",
            rules(floor="1.1.0"),
            "no supported version of web fits ~1.0: 1.0.0 is below the floor 1.1.0 → widen the range",
        ),
        (
            MANY,
            "<1.2",
            rules(yanked="1.0.0", rejected="1.1.0"),
            "no supported version of web fits <1.2: 1.0.0 is yanked, 1.1.0 is rejected after a rollback"
            " → widen the range",
        ),
        (
            MANY[:2],
            None,
            rules(yanked="1.0.0 1.1.0"),
            "no version of web is supported: 1.0.0 is yanked, 1.1.0 is yanked → add a newer version",
        ),
        # A pin holds against a floor and a withdrawal; an end date moves it to the lowest version above that is left.
        (MANY, "1.0.0", rules(floor="1.1.0"), "1.0.0"),
        (MANY, "1.0.0", rules(yanked="1.0.0"), "1.0.0"),
        (MANY, "1.0.0", rules(ended="=1.0.0"), "1.1.0 forced"),
        (MANY, "1.0.0", rules(ended="=1.0.0", yanked="1.1.0"), "1.2.0 forced"),
        (MANY, "1.0.0", rules(ended="<2.0.0"), "2.0.0 forced"),
        (MANY, "~1.0", rules(ended="~1.0"), "1.1.0 forced"),
        (MANY, "<1.2", rules(ended="=1.0.0|=1.1.0"), "1.2.0 forced"),
        (MANY, "<1.2", rules(ended="=1.0.0"), "1.1.0"),
        (MANY, "<1.2", rules(ended="=1.0.0", yanked="1.1.0"), "1.2.0 forced"),
        (
            MANY,
            "2.0.0",
            rules(ended="=2.0.0"),
            "support of web 2.0.0 has ended, and there is no supported version above it"
            " → publish one, or move the end date in the LifecyclePolicy",
        ),
        (
            MANY,
            "^2.0",
            rules(ended="^2.0"),
            "no supported version of web fits ^2.0: 2.0.0 is past its end → widen the range",
        ),
        (
            MANY,
            "1.1.0",
            rules(rejected="1.1.0"),
            "web 1.1.0 failed here and was rolled back"
            " → publish a higher version, edit its owner, or let it be tried again",
        ),
        (
            MANY,
            "1.5.0",
            rules(),
            "web has no version 1.5.0 → there is 1.0.0, 1.1.0, 1.2.0-rc.1, 1.2.0, 2.0.0, 2.1.0-rc.1",
        ),
        (
            MANY[:2],
            "^3",
            rules(),
            "no version of web fits ^3 → there is 1.0.0, 1.1.0",
        ),
        (
            ("1.0.0-rc.1",),
            None,
            rules(),
            "web has no stable version, only 1.0.0-rc.1 → pin one of them by its exact version",
        ),
        # Builds of one version are one version, unless the pin names the build.
        (BUILDS, "1.0.0", rules(), "1.0.0+b"),
        (BUILDS, "1.0.0+a", rules(), "1.0.0+a"),
        (BUILDS, "=1.0.0+b", rules(), "1.0.0+b"),
        (BUILDS, "~1.0", rules(), "1.0.0+b"),
        (("1.0.0", "1.0.0+a"), "1.0.0", rules(), "1.0.0"),
    ],
)
def test_a_version_is_chosen(there: tuple[str, ...], wanted: str | None, by: SupportRules, expected: str) -> None:
    assert told(choose(offers(*there), "web", wanted, by)) == expected


def test_without_a_definition_or_with_a_range_that_cannot_be_read_there_is_a_gate() -> None:
    assert told(choose({}, "web", "^1")) == "there is no definition web → add PluginDefinition web, or fix the name"
    assert told(choose(offers("1.0.0"), "web", "^^1")) == (
        "'^^1' is not a version or range of web: expected a version such as 1.2.3 or 1.x, not '^' (column 1)"
        " → write one such as ^1.2 or ~1.2.3; there is 1.0.0"
    )


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        ("1.0.0", "1.2.0", ["1.1.0", "1.2.0-rc.1", "1.2.0"]),
        (None, "1.1.0", ["1.0.0", "1.1.0"]),
        ("1.1.0", "1.1.0", []),
        ("1.0.5", "1.1.5", ["1.1.0"]),
    ],
)
@pytest.mark.rule("S26")
def test_an_upgrade_passes_versions_above_the_lower_up_to_the_higher(
    low: str | None, high: str, expected: list[str]
) -> None:
    assert [each.version for each in versions_between(offers(*MANY), low, high)] == expected


AT = "2026-11-01T12:00:00Z"


def test_rules_of_several_policies_count_together_and_what_cannot_be_read_hides_nothing_behind_it() -> None:
    support = [
        Support("other", "9.0.0", ["1.0.0"], [VersionEnd("*", "2020-01-01")]),
        Support("web", "none", ["none", "1.1.0"], [VersionEnd("=1.0.0", "none"), VersionEnd("=1.1.0", AT)]),
        Support("web", "1.2.0", ["1.4.0"], [VersionEnd("=1.2.0", "2026-11-01T12:00:01Z")]),
        Support("web", "1.1.0"),
    ]
    found = support_rules(support, "web", NOW, frozenset({"1.3.0"}), ["1.5.0"])
    versions = ["1.0.0", "1.1.0", "1.2.0", "1.3.0", "1.4.0", "1.5.0"]
    assert [found.refuses(each) for each in versions] == [
        "below the floor 1.2.0",
        "yanked",
        None,
        "rejected after a rollback",
        "yanked",
        "past its end",
    ]
    assert [found.has_ended(each) for each in versions] == [False, True, False, False, False, True]
    assert list(ends_of(support[1:3])) == [NOW, NOW + timedelta(seconds=1)]


def policy(**fields: Any) -> LifecyclePolicySpec:
    return LifecyclePolicySpec(**fields)


@pytest.mark.rule("R2-12")
def test_an_organization_chooses_below_what_the_platform_says() -> None:
    platform = policy(notice="2d", grace="7d", max_soak="1h", revision_history=5)
    own = policy(notice="1d", grace="9d", force_after="3d", max_stage_wait="soon", revision_history=6)
    assert lifecycle_of(platform, own) == Lifecycle(DAY, 7 * DAY, 3 * DAY, timedelta(hours=1), None, 5)
    assert lifecycle_of(None, None) == Lifecycle(timedelta(0), None, None, None, None, 10)
    assert lifecycle_of(None, own).revision_history == 6
    assert list(above_ceilings(platform, own)) == [("grace", "7d"), ("revisionHistory", "5")]
    same = policy(notice="2d", grace="7d", max_soak="1h", revision_history=5)
    assert list(above_ceilings(platform, same)) == []
    assert list(above_ceilings(None, own)) == []


def test_a_time_beyond_the_last_that_there_is_is_that_one() -> None:
    assert later(NOW, DAY) == NOW + DAY
    assert later(NOW, timedelta(days=9_999_999 * 3)) == datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)


@pytest.mark.rule("S56", "R2-28")
@pytest.mark.parametrize(
    ("lifecycle", "there", "expected"),
    [
        # notice counts from the announcement of what is wanted; grace and force of the first that breaks.
        (Lifecycle(2 * DAY), ["1.1.0"], (0, 2, None, None)),
        (Lifecycle(2 * DAY, 7 * DAY, 9 * DAY), ["1.1.0"], (0, 2, None, None)),
        (Lifecycle(2 * DAY, 7 * DAY, 9 * DAY), ["1.1.0!"], (0, 2, 7, 9)),
        (Lifecycle(2 * DAY, 7 * DAY, 5 * DAY), ["1.1.0!"], (0, 2, 7, 7)),
        (Lifecycle(2 * DAY, 7 * DAY), ["1.1.0!"], (0, 2, 7, None)),
        (Lifecycle(2 * DAY, None, 5 * DAY), ["1.1.0!"], (0, 2, None, 5)),
        (Lifecycle(2 * DAY, 7 * DAY, 5 * DAY), ["1.1.0!9d"], (0, 2, 9, 9)),
        (Lifecycle(2 * DAY, 7 * DAY, 5 * DAY), ["1.1.0!6d"], (0, 2, 7, 7)),
        (Lifecycle(2 * DAY, 7 * DAY, 9 * DAY), ["1.1.0!", "1.2.0!"], (-3, -1, 4, 6)),
    ],
)
def test_the_times_of_an_upgrade(lifecycle: Lifecycle, there: list[str], expected: tuple[int | None, ...]) -> None:
    found, snapshot = known(*there, v1_2_0="2026-10-29T12:00:00Z")
    passed = list(found.values())
    times = upgrade_times(lifecycle, passed, passed[-1], snapshot)
    assert [(each - NOW) // DAY if each is not None else None for each in times] == list(expected)


@pytest.mark.rule("S56")
def test_nothing_is_forced_of_which_nobody_knows_when_it_was_announced() -> None:
    lifecycle = Lifecycle(force_after=5 * DAY)
    stamped, snapshot = known("1.1.0!", "1.2.0!", v1_1_0="2026-10-29T12:00:00Z", v1_2_0="2026-10-30T12:00:00Z")
    both = [stamped["1.1.0"], stamped["1.2.0"]]
    assert forced_at(lifecycle, both, both[1], snapshot) == NOW + 2 * DAY
    assert forced_at(Lifecycle(), both, both[1], snapshot) is None
    half, snapshot = known("1.1.0!", "1.2.0!", v1_1_0="2026-10-29T12:00:00Z")
    assert forced_at(lifecycle, [half["1.1.0"], half["1.2.0"]], half["1.2.0"], snapshot) is None
    odd, snapshot = known("1.1.0!", v1_1_0="last week")
    assert forced_at(lifecycle, [odd["1.1.0"]], odd["1.1.0"], snapshot) is None


@pytest.mark.rule("R2-48")
@pytest.mark.parametrize(
    ("in_use", "limit", "prunable", "should_end"),
    [
        ("", 2, "1.0.0 1.1.0", None),
        ("", 4, "", None),
        ("", 3, "1.0.0", None),
        ("1.0.0", 2, "1.1.0", None),
        ("1.0.0 1.1.0", 2, "", None),
        ("1.0.0 1.1.0 1.10.0", 2, "", "1.0.0"),
        ("1.0.0", 0, "1.1.0 1.2.0 1.10.0", None),
        ("1.0.0 1.1.0", 0, "1.2.0 1.10.0", "1.0.0"),
        ("1.0.0 1.1.0", 1, "1.2.0", "1.0.0"),
    ],
)
def test_revisions_that_nobody_uses_are_counted(in_use: str, limit: int, prunable: str, should_end: str | None) -> None:
    found = judge_history(["1.10.0", "1.0.0", "1.2.0", "1.1.0"], in_use.split(), limit)
    assert found == History(frozenset(prunable.split()), should_end)
