"""Destinations: where a plugin is delivered: as its owner says, else its organization, else into a folder of theirs."""

from __future__ import annotations

import os
from collections.abc import Callable

from fleetform.app.fleet import Fleet
from fleetform.loop.records import Destination
from fleetform.model.kinds.base import Delivery
from fleetform.model.objects import AnyObject, Ref
from fleetform.model.results.decisions import PluginDecision


def destination_of(
    fleet: Fleet, plugin: PluginDecision, otherwise: str, folder_of: Callable[[str], str] = os.path.dirname
) -> Destination | None:
    """None if it is delivered in a way that needs a management cluster. Paths are relative to the file that names them.

    otherwise is the folder for those of which nobody says where: one below it for each organization. folder_of gives
    the folder of a file.
    """
    owner: AnyObject = plugin.target.owner
    written: Delivery | None = plugin.target.owner.spec.delivery
    if written is None:
        name = plugin.organization
        organization = fleet.snapshot.organizations.get(Ref("Organization", name, name))
        if organization is not None and organization.spec.default_delivery is not None:
            owner, written = organization, organization.spec.default_delivery
    if written is None:
        return Destination("directory", os.path.join(otherwise, plugin.organization))
    base = folder_of(owner.origin.file)
    if written.directory is not None:
        return Destination("directory", os.path.normpath(os.path.join(base, written.directory.path)))
    if written.git is not None:
        git = written.git
        secret = f"{plugin.organization}/{git.secret_ref.name}" if git.secret_ref is not None else ""
        return Destination("git", git.url, git.branch or "main", git.path or "", git.sign, secret)
    return None
