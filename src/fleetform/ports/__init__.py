"""What the application needs of the world, as shapes, a file per need; adapters fill them, tests fake them.

Nothing here does anything. Callers import from the file of the need, so that each says what it needs.
"""
