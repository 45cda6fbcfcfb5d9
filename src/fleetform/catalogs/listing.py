"""The listing of a catalog's source, of whatever kind: the definitions it has, and what is wrong with others."""

from __future__ import annotations

from dataclasses import dataclass, field

from fleetform.syntax.times import parse_time, time_text


@dataclass(frozen=True, slots=True)
class ListedDefinition:
    """One manifest of a source: its file's name in messages, the revision it was read at, and its text.

    published is when it was published, as the source dates it. digest is of the bytes that it renders, if they come
    from the same source. mark names the part of the source it belongs to. A past one was replaced in the source since:
    problems with it no longer matter.
    """

    file: str
    revision: str
    text: str
    published: str | None = None
    digest: str | None = None
    mark: str = ""
    past: bool = False


@dataclass(frozen=True, slots=True)
class SourceListing:
    """All that a source lists, oldest first, and problems with what could not be read.

    notes are problems with parts that could be read, by their marks. marks are digests by which the next reading knows
    the parts of a source that change on their own (a chart's version, a tag): it leaves out those that did not change,
    and what belongs to no mark is gone. If whole, what is not listed is gone, too. If is_line, the versions of a
    definition follow one another in time.
    """

    revision: str
    found: list[ListedDefinition] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    notes: dict[str, list[str]] = field(default_factory=dict)
    marks: dict[str, str] = field(default_factory=dict)
    whole: bool = False
    is_line: bool = False

    @property
    def all_problems(self) -> list[str]:
        return [*self.problems, *(text for texts in self.notes.values() for text in texts)]


def with_hint(error: Exception) -> str:
    """An error's message, with what to do about it."""
    hint = getattr(error, "hint", "")
    return f"{error}; {hint}" if hint else str(error)


def published_time(time: object) -> str | None:
    """A time as sources write it, in UTC and whole seconds; None if it cannot be read."""
    try:
        parsed = parse_time(str(time)).replace(microsecond=0)
    except ValueError:
        return None
    # Go writes the year 1 for no time at all.
    return time_text(parsed) if parsed.year > 1 else None
