"""Every code that a diagnostic or a gate can bear, with what it means: closed lists, documented from here."""

from __future__ import annotations

DIAGNOSTICS: dict[str, str] = {
    "ambiguous-selector": "A selector says the same thing in two ways that differ.",
    "ambiguous": "A question fits several things.",
    "bad-expression": "A CEL expression does not compile, or fails on a cluster.",
    "bad-name": "An object has no name, or one that Kubernetes would refuse.",
    "bad-path": "An option name or path cannot be read.",
    "bad-regex": "A regular expression cannot be read.",
    "bad-selector": "A label selector cannot be read.",
    "bad-stamp": "A time cannot be read.",
    "bad-value": "A field's value is of the wrong type or out of its bounds.",
    "bad-version": "A version is not a semantic version.",
    "bad-yaml": "A file is not valid YAML or JSON.",
    "cannot-read": "A file or folder cannot be read.",
    "changed-without-bump": "A definition changed, and its version did not.",
    "clamped": "An organization chooses more than the platform allows; the platform's ceiling counts.",
    "conflicting-values": "One object gives one path two values, or a path and another inside it.",
    "dead-override": "An override reaches no plugin.",
    "deprecated-field": "A field or spelling that is read, and has a better form.",
    "deprecated-option": "An option that is set is on its way out.",
    "duplicate-object": "One object is written twice.",
    "duplicate-option": "A definition declares one option twice.",
    "duplicate-stage": "A policy names one stage twice.",
    "empty-input": "The input holds no object.",
    "exactly-one": "Of several fields exactly one must be set.",
    "expired-override": "An override has expired and no longer applies.",
    "foreign-note": "An object of another system means something slightly different here.",
    "missing-definition": "A definition that is used does not exist.",
    "missing-field": "A field that must be set is not.",
    "missing-reference": "An object that is named does not exist.",
    "missing-required": "A required option has no value on a cluster.",
    "missing-separator": "Two documents stand in one, without --- between them.",
    "missing-version": "No version of a definition satisfies what is asked for.",
    "no-source": "A definition names nothing to render.",
    "not-found": "What was asked for is not in the input.",
    "not-yet": "A field that is read and checked, and has no effect in this release.",
    "nothing-selected": "A selector matches no cluster.",
    "null-value": "A value is null where a value or a removal is meant.",
    "odd-key": "A key is read by YAML as something else than it looks.",
    "option-removed": "A version of the same major removes an option without a migration.",
    "option-required": "A version of the same major makes an option required without a migration.",
    "option-retyped": "A version of the same major changes an option's type without a migration.",
    "plain-secret": "A secret option has a plain value.",
    "range-note": "A range means something slightly different here than elsewhere.",
    "repeated-value": "One object gives one path the same value twice.",
    "requirement-lost": "A version of the same major no longer requires an option.",
    "shadowed-override": "An override has no effect anywhere: others hide all it says.",
    "tie": "Two overrides of one rank disagree; time of creation decides.",
    "tie-undecided": "Two overrides of one rank disagree and neither has a creation time; their names decide.",
    "two-owners": "Two objects claim one release on one cluster.",
    "unsaid-breaking": "A major version does not say whether it breaks.",
    "undeclared-option": "An option that no revision of the definition declares.",
    "unknown-field": "A field that the kind does not have.",
    "unknown-kind": "A kind that Fleetform's API group does not have.",
    "unknown-name": "A cluster or definition that is named is not in the input.",
    "unsupported-version": "A version that this release cannot read.",
    "vanished-definition": "A definition that there was is gone.",
    "version-went-down": "A definition's version went down.",
    "wrong-index": "An index lies past the end of a list.",
    "wrong-type": "An option's value breaks the option's own rules.",
}

TIMING_GATES = frozenset(
    {
        "stage", "concurrency", "wait", "soak", "window", "freeze", "notice", "approval", "budget", "queue",
        "in-flight", "dependency", "veto", "suspended", "unreachable", "downstream", "deletes",
    }
)  # fmt: skip
VALIDITY_GATES = frozenset(
    {
        "required-option", "removed-option", "value-type", "breaking", "would-downgrade", "version", "rejected",
        "config-missing", "artifact-mutated", "conflict", "render-failed", "plain-secret",
    }
)  # fmt: skip
