"""Sources become objects: by Helm, by kustomize, or as they are."""
