"""Artifacts become objects: by Helm, by kustomize, or as they are; and the cache of what was rendered.

Not here: where artifacts come from (artifacts), and which plugin renders what (engine).
"""
