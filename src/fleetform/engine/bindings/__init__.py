"""Bindings: variables, compiled once for an owner and evaluated for each of its plugins on each cluster.

From bottom to top: fields reads objects, conversions turns values into text; plugin_variables holds the values of one
plugin's variables; templates fills variable references in, builtin and value_sources say where values come from;
compile makes one program of an owner's bindings, evaluate runs it. What other plugins offer, and what was read on
clusters, is passed in (Lookups): finding it needs the index, which does not belong here. Checks of bindings are in
engine/check, the notation `$(NAME)` itself is in syntax/variables.
"""
