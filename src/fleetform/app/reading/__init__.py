"""From documents to a snapshot: each document by its dialect, catalogs with their definitions, objects in their places.

What is wrong with a document is said here; whether objects fit together is checked by the engine.
"""
