"""What a catalog's source holds, whatever kind of source it is."""

from __future__ import annotations

from dataclasses import dataclass, field

from fleetform.syntax.times import parse_time, time_text


@dataclass(frozen=True, slots=True)
class ListedDefinition:
    """One manifest of a source: its file as people know it, the state of the source it was read at, and its text.

    published is when the source says it came, and digest is of the bytes its definition renders, where they are the
    source's own. mark names the part of the source it belongs to. What is past was replaced in the source since:
    what is wrong with it no longer matters.
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
    """Everything a source holds, oldest first, and what of it could not be read.

    notes are what is to be said of parts that were read, by their marks. marks are the digests by which parts of the
    source that change on their own (a chart's version, a tag) are known again: given to the next reading, it leaves out
    what did not change, and what belongs to no mark is gone. whole says that what is not found is gone, too; is_line
    that the versions of a definition follow one another in time.
    """

    revision: str
    found: list[ListedDefinition] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    notes: dict[str, list[str]] = field(default_factory=dict)
    marks: dict[str, str] = field(default_factory=dict)
    whole: bool = False
    is_line: bool = False

    @property
    def told(self) -> list[str]:
        """Everything that is to be said."""
        return [*self.problems, *(text for texts in self.notes.values() for text in texts)]


def why(error: Exception) -> str:
    """What a problem says of an error, with what to do about it."""
    hint = getattr(error, "hint", "")
    return f"{error}; {hint}" if hint else str(error)


def moment(time: object) -> str | None:
    """A time as sources write it, in UTC and whole seconds, or None where it is none."""
    try:
        parsed = parse_time(str(time)).replace(microsecond=0)
    except ValueError:
        return None
    # Go writes the year 1 for no time at all.
    return time_text(parsed) if parsed.year > 1 else None
