"""Delivery: what was admitted, brought to folders and git branches that clusters or GitOps tools read.

`tree` says which files a plugin's folder gets and which of its files go; `directory` and `git` carry that out, each so
that stopping anywhere and starting again ends in the same state. Nothing is installed in a cluster (R2-15), and no file
is touched that was not delivered by Fleetform: an inventory in each folder says which those are.
"""
