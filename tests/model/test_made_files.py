"""What editors, API servers and readers get is what the records say: schemas, CRDs, admission, reference pages."""

from __future__ import annotations

from tools.schemas import files


def test_every_file_is_as_the_records_make_it() -> None:
    """Else: make schemas."""
    for file, text in files().items():
        assert file.read_text(encoding="utf-8") == text, file
