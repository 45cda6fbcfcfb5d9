"""From bytes to documents: folders, files, stdin and git revisions, every document with its origin; state exports.

Not here: what a document means (dialects), and files that are only rendered (artifacts).
"""
