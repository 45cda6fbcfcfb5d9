"""The bytes that definitions point at: charts, kustomizations, folders of manifests, archives, each known by a digest.

Not here: which definitions there are (catalogs), and what becomes of the bytes (renderers).
"""
