"""Variables of AddOnTemplates that have no value: Open Cluster Management puts nothing in their place."""

from __future__ import annotations

from collections.abc import Iterator

from fleetform.engine.check.report import listed
from fleetform.engine.configs.items import DEPLOYMENT_CONFIG, addon_template
from fleetform.engine.decisions import Decisions
from fleetform.model.objects import AnyObject
from fleetform.model.results.decisions import ABSENT, PluginDecision
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.syntax.addon_templates import ALWAYS_SET, manifests_of, variables_in


def lint_templates(decisions: Decisions) -> Iterator[Diagnostic]:
    """Each variable without a value, once for a template, with the clusters where it has none."""
    written: dict[AnyObject, dict[str, int]] = {}
    unset: dict[tuple[AnyObject, str], list[str]] = {}
    for plugin in decisions.plugins.values():
        if not plugin.configs.effective:
            continue
        reference = addon_template(plugin.configs)
        revision = plugin.target.revision
        if reference is None or reference.config is None or revision is None or revision.object.spec.source is not None:
            continue
        template = reference.config
        if template not in written:
            written[template] = _variables(template)
        for name in written[template].keys() - _known(plugin, template):
            unset.setdefault((template, name), []).append(plugin.cluster.ref.name)
    for (template, name), clusters in sorted(unset.items(), key=lambda each: (each[0][0].ref, each[0][1])):
        message = f"{{{{{name}}}}} has no value on {listed(sorted(clusters))}: nothing comes in its place"
        hint = f"add {name.strip()} to customizedVariables of an AddOnDeploymentConfig"
        if name != name.strip():
            hint = f"write {{{{{name.strip()}}}}}: blanks are a part of the name"
        at = template.at("spec", "agentSpec", "workload", "manifests", written[template][name])
        yield Diagnostic("unbound", message, hint, "warning", template.ref, at)


def _variables(template: AnyObject) -> dict[str, int]:
    """The variables of a template, each with the number of the first manifest that has it."""
    found: dict[str, int] = {}
    for number, manifest in enumerate(manifests_of(template.content)):
        for name in variables_in(manifest):
            found.setdefault(name, number)
    return found


def _known(plugin: PluginDecision, template: AnyObject) -> set[str]:
    known = {name for name, each in plugin.options.items() if each.value is not ABSENT} | ALWAYS_SET
    if any(each.type == DEPLOYMENT_CONFIG for each in plugin.configs.effective):
        namespace = plugin.options.get("agentInstallNamespace")
        known |= {"INSTALL_NAMESPACE"} if namespace is None or namespace.value else set()
    spec = template.content.get("spec")
    return known | ({"HUB_KUBECONFIG"} if isinstance(spec, dict) and spec.get("registration") is not None else set())
