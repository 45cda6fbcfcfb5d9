"""Runs transform plugins: executables as Crane has them, those that are kept alive, Python files and packages, and
those that come with Fleetform; and reads and writes Crane's folders.

Everything that touches a process or a file is here. What is settled of the answers is the engine's.
"""
