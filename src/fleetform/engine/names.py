"""Names that Fleetform gives."""

from __future__ import annotations

import hashlib

LONGEST = 53


def generated_name(preset: str, cluster: str) -> str:
    """`<preset>-<cluster>`; what Helm would refuse as too long is cut and told apart by a hash."""
    name = f"{preset}-{cluster}"
    if len(name) <= LONGEST:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{name[: LONGEST - 9].rstrip('-.')}-{digest}"


def api_group(version: str) -> str:
    """The group of an apiVersion; the core's is empty."""
    return version.partition("/")[0] if "/" in version else ""
