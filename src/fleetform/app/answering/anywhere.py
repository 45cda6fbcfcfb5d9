"""What is said of a plugin on one cluster, as it reads on any: so that what many clusters wait for is told once."""

from __future__ import annotations

import re


def on_its_cluster(message: str, cluster: str) -> str:
    """A message without the name of a cluster: plugins that bear it lose it, and else it is "its cluster"."""
    name = re.escape(cluster)
    message = re.sub(rf"(?<=[A-Za-z0-9])-{name}(?![A-Za-z0-9])", "", message)
    return re.sub(rf"(?<![A-Za-z0-9.-]){name}(?![A-Za-z0-9])", "its cluster", message)
