"""Checks of where a preset, a plugin or an organization has manifests delivered."""

from __future__ import annotations

from fleetform.engine.check.catalogs import holds_login
from fleetform.engine.check.report import Report, exactly_one
from fleetform.engine.check.secrets import lint_secret
from fleetform.engine.index.index import Index
from fleetform.model.kinds.base import Delivery


def lint_delivery(report: Report, delivery: Delivery | None, known: Index, *path: str) -> None:
    if delivery is None:
        return
    fields = {"directory": "directory", "git": "git", "kubernetes": "kubernetes", "flux": "flux"}
    exactly_one(report, delivery, fields, *path)
    if delivery.git is not None:
        lint_secret(report, delivery.git.secret_ref, known, "nothing is delivered", (), *path, "git")
    if delivery.git is not None and holds_login(delivery.git.url):
        hint = "move them to a Secret, and name it in secretRef"
        report.warn("plain-secret", "the address holds credentials", hint, *path, "git", "url")
