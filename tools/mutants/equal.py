"""Mutants that make no difference, with the reason: a list that people keep."""

from __future__ import annotations

from pathlib import Path

from tools.mutants.faults import PRODUCT, Mutant

LIST = Path(__file__).parent / "equal.txt"


class EqualMutants:
    """The list: a block says where, the statement before and after, and why nobody can tell them apart."""

    def __init__(self, text: str) -> None:
        self._reasons: dict[tuple[str, str, str], str] = {}
        lines = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
        for block in filter(None, (each.strip() for each in lines.split("\n\n"))):
            place, before, after, *reason = block.split("\n")
            if not (before.startswith("- ") and after.startswith("+ ") and reason):
                raise SystemExit(f"{LIST.name}: a block is a place, '- before', '+ after' and a reason:\n{block}")
            self._reasons[place, before[2:], after[2:]] = " ".join(reason)

    @classmethod
    def kept(cls) -> EqualMutants:
        return cls(LIST.read_text(encoding="utf-8"))

    def reason(self, mutant: Mutant) -> str | None:
        return self._reasons.get((mutant.place, mutant.before, mutant.after))

    def gone(self) -> list[str]:
        """Entries whose file is no longer there."""
        return sorted({place for place, *_ in self._reasons if not (PRODUCT / place.split(" ")[0]).exists()})
