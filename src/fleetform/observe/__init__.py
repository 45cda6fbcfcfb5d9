"""Observing: judges the health of what was delivered, where delivery itself cannot tell.

`health` chooses by what a cluster says: assumed after a time, read from a file, or asked of a command. What is seen
binds the input hash that it was seen with; what cannot be seen is Unknown, which is neither healthy nor failed.
"""
