"""Manifests of other systems, read into the model or written from it; and the native ones, in all their spellings.

Each dialect has a folder, and reads one document at a time: a tree becomes objects that know where in the document each
of their parts is. What a system means otherwise than others is a flag of `Conventions` on these objects.

Not here: which dialect a document is written in (app), and anything about two objects at once (engine).
"""
