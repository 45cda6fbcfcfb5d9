"""What a control plane has accepted."""

from __future__ import annotations

from typing import Literal

from fleetform.model.answers.base import AnswerRecord, Json
from fleetform.model.answers.findings import Finding


class AcceptedSource(AnswerRecord, frozen=True, kw_only=True):
    """The files that a control plane goes by, and what is known of the fleet, as a state export has it.

    revision is the commit that they are, "" if they are none. Values of Secrets are left out.
    """

    kind: Literal["Source"] = "Source"
    revision: str
    files: dict[str, str]
    state: Json
    diagnostics: list[Finding]
