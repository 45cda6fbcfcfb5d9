"""Bytes to documents: folders, files, stdin and git revisions, every document with its origin."""
