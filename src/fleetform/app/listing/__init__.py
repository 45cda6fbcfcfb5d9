"""The kinds that `get` lists: each object with what follows from it."""
