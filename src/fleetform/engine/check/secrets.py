"""Secrets that a control plane needs to reach somebody: to tell people, and to deliver. A missing one is found out only
when something is to be sent, so it is said before. It may arrive later, so this warns."""

from __future__ import annotations

from fleetform.engine.check.report import Report
from fleetform.engine.index.index import Index
from fleetform.model.kinds.base import SecretRef
from fleetform.model.kinds.fleet import Notification
from fleetform.model.objects import Ref
from fleetform.syntax.trees import as_map

# Objects of other systems stand under kind and group.
_SECRET = "Secret.v1"


def lint_secret(
    report: Report, ref: SecretRef | None, known: Index, otherwise: str, keys: tuple[str, ...], *path: str | int
) -> None:
    """otherwise is what becomes of it without the Secret; keys are those of which it must have one."""
    if ref is None:
        return
    organization = report.object.ref.organization
    secret = known.snapshot.others.get(Ref(_SECRET, organization, ref.name))
    if secret is None:
        if known.snapshot.unreadable.may_hold("Secret", ref.name, organization):
            return
        message = f"there is no Secret {ref.name} in {organization}: {otherwise}"
        report.warn("unknown-name", message, "add the Secret to the input, or drop secretRef", *path, "secretRef")
        return
    there = {**as_map(as_map(secret.content).get("data")), **as_map(as_map(secret.content).get("stringData"))}
    wanted = (ref.key,) if ref.key is not None else keys
    if wanted and not any(key in there for key in wanted):
        message = f"the Secret {ref.name} has no {' or '.join(wanted)}: {otherwise}"
        report.warn("unknown-name", message, f"give it {' or '.join(wanted)}", *path, "secretRef")


def lint_notification(report: Report, notification: Notification, known: Index, *path: str | int) -> None:
    nobody = "nothing is sent there"
    if notification.webhook is not None:
        lint_secret(report, notification.webhook.secret_ref, known, nobody, ("secret",), *path, "webhook")
    slack = notification.slack
    if slack is not None and slack.secret_ref is None:
        message = f"Slack is reached by a Secret, and none is named: {nobody}"
        report.warn("missing-field", message, "name one with url, or with token beside a channel", *path, "slack")
    elif slack is not None:
        lint_secret(report, slack.secret_ref, known, nobody, ("url", "token"), *path, "slack")
