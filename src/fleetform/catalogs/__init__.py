"""Which definitions there are: the sources of catalogs (folders, git, Helm repositories, OCI registries), read into a
cache and from it.

Not here: the bytes that definitions point at (artifacts).
"""
