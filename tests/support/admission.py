"""Requests as an API server sends them, from manifests in a few lines."""

from __future__ import annotations

from typing import Any

from fleetform.app.fleet import Fleet
from fleetform.operator.admission.judge import judge
from fleetform.operator.admission.reviews import Answer, GroupKind, Operation, Request, UserInfo
from fleetform.syntax.yaml_in import read_one

OPERATOR = "system:serviceaccount:fleetform-system:fleetform"


def asked(
    new: str | None,
    old: str | None = None,
    user: str = "alice",
    operation: Operation | None = None,
    groups: tuple[str, ...] = (),
    **more: Any,
) -> Request:
    """A request to write new in place of old, by somebody; without new it deletes."""
    written, known = (read_one(each) if each is not None else None for each in (new, old))
    about = written or known
    assert about is not None
    given: Operation = operation or ("CREATE" if old is None else "UPDATE" if new is not None else "DELETE")
    metadata, kind = about["metadata"], GroupKind("fleetform.dev", "v1alpha1", about["kind"])
    return Request(
        "a-uid",
        kind,
        given,
        metadata["name"],
        metadata["namespace"],
        user_info=UserInfo(user, groups),
        object=written,
        old_object=known,
        **more,
    )


def judged(fleet: Fleet, new: str | None, old: str | None = None, user: str = "alice", **more: Any) -> Answer:
    return judge(fleet, asked(new, old, user, **more), OPERATOR)
