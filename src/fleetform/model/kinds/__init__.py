"""What people write, one record per kind and per part of it; schemas are made from these records.

Spellings that the seeds allow side by side are unions here, so that a document is read exactly as it stands and every
message can point into it; the engine asks the records' own functions for the one meaning.
"""

from fleetform.model.kinds.registry import API_VERSION, DEFAULT_ORGANIZATION, KINDS, PLATFORM_NAMESPACE, Kind

__all__ = ["API_VERSION", "DEFAULT_ORGANIZATION", "KINDS", "PLATFORM_NAMESPACE", "Kind"]
