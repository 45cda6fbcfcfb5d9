"""One file per user verb: from what was read to an answer, as plain data. Front doors print it, nothing here does."""
