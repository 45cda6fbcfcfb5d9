"""Admission: what an API server asks before it stores one of our objects, and what it is answered.

`judge` is pure: the fleet as it is now and a request give an answer. The others bring the two to it: `serving` speaks
HTTPS, `certificates` makes its keys, `manifests` are the objects by which an API server is told to ask.
"""
