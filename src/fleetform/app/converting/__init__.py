"""Manifests of other systems as native ones: what each system needs beside its shape, and what is lost."""
