"""Config objects: which of them three places refer to, which count, and what values they become.

references reads what definitions, presets and Plugins refer to; combine chooses among it, by mode, and finds the
objects; items turns their content into items, like those of any other layer. How items combine to an option's value is
not decided here but in engine/options.
"""
