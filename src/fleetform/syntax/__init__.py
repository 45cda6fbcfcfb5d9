"""Small notations, as pure functions of their input: YAML, versions and ranges, selectors, option paths, times, names,
hashes, CEL, `$(…)` and `${…}`, globs, patches.

Trees are what JSON can hold: dict with text keys, list, str, int, float, bool, None. Not here: what a value means for a
plugin (engine), and anything that reads files (load).
"""
