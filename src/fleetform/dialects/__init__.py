"""Manifests of other systems, read into the model and written back; and the native ones, in all their spellings.

Each dialect reads one document at a time: a tree becomes an object that remembers where each part of it stood.
"""
