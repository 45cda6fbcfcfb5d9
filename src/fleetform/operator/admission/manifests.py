"""The objects by which an API server is told to ask us, and the rules that it holds itself while nobody answers.

Only our own kinds are named, so that nothing else in a cluster can ever wait for us; and no status, which is written
while a cluster is in trouble. What the operator writes is not asked about: it would wait for itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from fleetform.dialects.native.crds import plural_of
from fleetform.model.kinds import API_VERSION, KINDS, PLATFORM_NAMESPACE
from fleetform.operator.admission.approvals import ADMINISTRATOR, RESERVED
from fleetform.operator.generated import PERSONS_FIELDS, PRESET_LABEL

Manifest = dict[str, Any]
NAME = "fleetform"
PATH = "/validate"
# Answers take milliseconds; a change that reaches very much on a busy machine a second. What takes longer than this is
# stuck, and a person waits for it.
TIMEOUT = 10
# A warning is not worth a wait.
DELETION_TIMEOUT = 2
_GROUP = API_VERSION.partition("/")[0]


class Installed(NamedTuple):
    """Where the operator runs, and as whom. url and name are for tests and for operators outside of the cluster."""

    namespace: str = PLATFORM_NAMESPACE
    service: str = "fleetform-admission"
    account: str = "fleetform"
    url: str | None = None
    name: str = ""

    @property
    def user(self) -> str:
        """The operator's name as the API server knows it."""
        return self.name or f"system:serviceaccount:{self.namespace}:{self.account}"

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names under which API servers reach it."""
        if self.url is not None:
            return (urlsplit(self.url).hostname or "",)
        return (f"{self.service}.{self.namespace}.svc", f"{self.service}.{self.namespace}.svc.cluster.local")


def webhook_configuration(installed: Installed) -> Manifest:
    """Without a caBundle: that is applied by whoever makes the certificates, and stays when this is applied again."""
    client: Manifest = {
        "service": {"namespace": installed.namespace, "name": installed.service, "path": PATH, "port": 443}
    }
    if installed.url is not None:
        client = {"url": f"{installed.url}{PATH}"}
    shared: Manifest = {"admissionReviewVersions": ["v1"], "sideEffects": "None", "clientConfig": client}
    writes: Manifest = {
        "name": f"objects.{_GROUP}",
        "failurePolicy": "Fail",
        "timeoutSeconds": TIMEOUT,
        "rules": [_rule(_written_by_people(), "CREATE", "UPDATE")],
        "matchConditions": [
            _not_operator(installed),
            # Whoever takes finalizers away must not wait for anybody.
            {"name": "stays", "expression": "!has(object.metadata.deletionTimestamp)"},
        ],
    }
    deletions: Manifest = {
        "name": f"deletions.{_GROUP}",
        # It only warns: namespaces can be deleted, and garbage collected, while nobody answers.
        "failurePolicy": "Ignore",
        "timeoutSeconds": DELETION_TIMEOUT,
        "rules": [_rule(_written_by_people(), "DELETE")],
        "matchConditions": [_not_operator(installed)],
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": NAME},
        "webhooks": [{**each, **shared} for each in (writes, deletions)],
    }


def policies(installed: Installed) -> Iterator[Manifest]:
    """Policies, each with its binding."""
    for name, spec in (
        ("generated-plugins", _generated_plugins(installed)),
        ("own-objects", _own_objects(installed)),
        ("approvals", _approvals(installed)),
    ):
        metadata = {"name": f"{NAME}-{name}"}
        bound = {"policyName": metadata["name"], "validationActions": ["Deny"]}
        for kind, content in (("", {"failurePolicy": "Fail", **spec}), ("Binding", bound)):
            yield {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": f"ValidatingAdmissionPolicy{kind}",
                "metadata": metadata,
                "spec": content,
            }


def _generated_plugins(installed: Installed) -> Manifest:
    """Of a Plugin that Fleetform made only a person's fields may be written (R2-20, B4)."""
    mine = f"each in [{', '.join(repr(field) for field in PERSONS_FIELDS)}]"
    same = f"{{0}}.all(each, {mine} || (each in {{1}} && {{0}}[each] == {{1}}[each]))"
    pairs = (("variables.new", "variables.old"), ("variables.old", "variables.new"))
    unchanged = " && ".join(same.format(*each) for each in pairs)
    labelled = f"has({{}}.metadata.labels) && '{PRESET_LABEL}' in {{}}.metadata.labels"
    return {
        "matchConstraints": {"resourceRules": [_rule(["Plugin"], "CREATE", "UPDATE")]},
        "matchConditions": [_not_operator(installed)],
        "variables": [
            {"name": "made", "expression": labelled.format("object", "object")},
            {
                "name": "wasMade",
                "expression": f"oldObject != null && {labelled.format('oldObject', 'oldObject')}",
            },
            {"name": "new", "expression": "dyn(object.spec)"},
            {"name": "old", "expression": "dyn(oldObject.spec)"},
        ],
        "validations": [
            {
                "expression": "variables.made == variables.wasMade && (!variables.made || "
                f"object.metadata.labels['{PRESET_LABEL}'] == oldObject.metadata.labels['{PRESET_LABEL}'])",
                "message": f"only Fleetform sets the label {PRESET_LABEL}, by which it knows the plugins that it makes",
                "reason": "Forbidden",
            },
            {
                "expression": f"!variables.wasMade || ({unchanged})",
                "messageExpression": f"'the preset ' + oldObject.metadata.labels['{PRESET_LABEL}'] + "
                f"' makes this Plugin: edit the preset, or only {' and '.join(PERSONS_FIELDS)} here'",
                "reason": "Forbidden",
            },
        ],
    }


def _own_objects(installed: Installed) -> Manifest:
    """What Fleetform writes, nobody else makes or changes; whoever collects garbage may still take finalizers away."""
    kinds = [each.name for each in KINDS.values() if each.written_by_fleetform]
    return {
        "matchConstraints": {"resourceRules": [_rule(kinds, "CREATE", "UPDATE")]},
        "matchConditions": [_not_operator(installed)],
        "validations": [
            {
                "expression": "oldObject != null && object.spec == oldObject.spec",
                "messageExpression": "'Fleetform writes every ' + object.kind + ': nobody else makes or changes one'",
                "reason": "Forbidden",
            }
        ],
    }


def _approvals(installed: Installed) -> Manifest:
    """People approve, and for themselves (R2-32)."""
    return {
        "matchConstraints": {"resourceRules": [_rule(["Approval"], "CREATE")]},
        "matchConditions": [_not_operator(installed)],
        "validations": [
            {
                "expression": f"!request.userInfo.username.startsWith('{RESERVED}') || "
                f"request.userInfo.username == '{ADMINISTRATOR}'",
                "messageExpression": "request.userInfo.username + ' is a program, and only people approve'",
                "reason": "Forbidden",
            },
            {
                "expression": "has(object.spec.user) && object.spec.user == request.userInfo.username",
                "messageExpression": "'everybody approves for themselves: write user: ' + request.userInfo.username",
                "reason": "Forbidden",
            },
            {
                # What is stored counts later, so that it must be true when it is stored.
                "expression": "!has(object.spec.groups) || object.spec.groups.all(each, "
                "has(request.userInfo.groups) && each in request.userInfo.groups)",
                "messageExpression": "request.userInfo.username + ' is not in all of these groups: name only your own'",
                "reason": "Forbidden",
            },
        ],
    }


def _written_by_people() -> list[str]:
    return [each.name for each in KINDS.values() if not each.written_by_fleetform]


def _rule(kinds: Sequence[str], *operations: str) -> Manifest:
    return {
        "apiGroups": [_GROUP],
        "apiVersions": ["*"],
        "resources": [plural_of(each) for each in kinds],
        "operations": list(operations),
        "scope": "Namespaced",
    }


def _not_operator(installed: Installed) -> Manifest:
    return {"name": "not-the-operator", "expression": f"request.userInfo.username != '{installed.user}'"}
