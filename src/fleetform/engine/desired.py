"""Inputs: what a plugin is made of, as trees: its values and variables, what they hash to, what its render takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec

from fleetform.engine.bindings.compile import Program
from fleetform.engine.bindings.plugin_variables import PluginVariables
from fleetform.engine.bindings.templates import Template
from fleetform.engine.configs.combine import UNKNOWN_HASH
from fleetform.engine.configs.items import DEPLOYMENT_CONFIG, addon_template
from fleetform.engine.decisions import Decisions
from fleetform.engine.layers.injected import injected_values, with_injected
from fleetform.engine.layers.owners import Owner
from fleetform.engine.options.as_written import as_written
from fleetform.engine.secrets import has_secret, is_plain, refers_to_secret, secrets_in, with_placeholders
from fleetform.engine.transform.select import hashed_transforms
from fleetform.model.kinds.base import Delivery
from fleetform.model.kinds.definition import Patch, PluginDefinitionSpec, Transform
from fleetform.model.kinds.preset import Substitution
from fleetform.model.objects import Ref
from fleetform.model.results.bindings import Bound, Unresolved
from fleetform.model.results.configs import Configs
from fleetform.model.results.decisions import (
    ABSENT,
    Item,
    OptionDecision,
    PluginDecision,
    Secret,
    SecretOnCluster,
    Shared,
    Target,
)
from fleetform.model.results.rendering import AddOn, RendererName, RenderInput
from fleetform.syntax.envsubst import is_name_of_variable
from fleetform.syntax.hashing import HashHead, input_hash, with_readings
from fleetform.syntax.option_paths import PathError, get_in, normal_form, set_in_tree, with_value
from fleetform.syntax.trees import copied, kinds_in

_NO_SUBSTITUTION = Substitution()
# On a cluster: mirrors of registries that its add-ons take images from.
_IMAGE_REGISTRIES = "open-cluster-management.io/image-registries"


def values_tree(options: Mapping[str, OptionDecision]) -> dict[str, Any]:
    """The values as the renderer gets them, secrets still inside; never print this."""
    tree: dict[str, Any] = {}
    for decision in options.values():
        if decision.value is ABSENT:
            continue
        value, steps = decision.value, decision.slot.steps
        try:
            # A copy: a deeper option may be put into this one's value.
            set_in_tree(tree, steps, copied(value) if isinstance(value, (dict, list)) else value)
        except PathError:
            # Options that overlap are an error of their definition; the first of the two stays.
            continue
    return tree


def renderer_of(spec: PluginDefinitionSpec) -> RendererName | None:
    """What renders a definition; None where it has nothing to render."""
    source = spec.source
    if source is None:
        return None
    if source.helm is not None:
        return "helm"
    if source.kustomize is not None:
        return "kustomize"
    return "manifests" if source.manifests is not None else None


# The digest of a secret of an organization, made with the store's key; None if the secret is not known.
SecretDigest = Callable[[str, Secret], str | None]


class _Fixed(NamedTuple):
    """What many plugins are made of in common; unknown says that a part of it is not known."""

    parts: dict[str, Any]
    head: HashHead
    unknown: bool


class _Base(NamedTuple):
    """The values that plugins share, the names of all their options, and whether secrets or floats are in them."""

    tree: dict[str, Any]
    names: frozenset[str]
    kinds: set[type]


class Inputs:
    """What the plugins of one pass are made of."""

    def __init__(
        self,
        decisions: Decisions,
        transforms: Mapping[str, str] | None = None,
        secret_digest: SecretDigest | None = None,
    ) -> None:
        """transforms are what transform plugins are, by name: `name@N` of a built-in one, else the file's digest.

        Without secret_digest nobody can tell one secret from another (B18).
        """
        self.secret_digest = secret_digest
        self._index, self._binders, self._sharing = decisions.index, decisions.binders, decisions.sharing
        self._transforms: Mapping[str, str] = transforms if transforms is not None else {}
        self._bases: dict[Shared, _Base | None] = {}
        self._fixed_parts: dict[tuple[Target, Configs], _Fixed] = {}

    @property
    def transforms(self) -> Mapping[str, str]:
        return self._transforms

    def values(self, plugin: PluginDecision) -> dict[str, Any]:
        """The values as the renderer gets them, secrets still inside; never print this, and never change it.

        What plugins share is built once; a plugin's own options are laid over it, and what its system adds over these.
        """
        tree, injected = self._option_values(plugin), self.injected(plugin)
        return with_injected(tree, injected) if injected else tree

    def injected(self, plugin: PluginDecision) -> dict[str, Any]:
        """The values that the system of a plugin's manifests adds by itself."""
        return injected_values(plugin.target.owner, plugin.cluster)

    def _option_values(self, plugin: PluginDecision) -> dict[str, Any]:
        base = self._base(plugin.shared)
        if base is None:
            return values_tree(plugin.options)
        tree: Any = base.tree
        for decision in plugin.own:
            absent = decision.value is ABSENT
            if decision.name not in base.names or (absent and get_in(tree, decision.slot.steps) is not ABSENT):
                return values_tree(plugin.options)
            if not absent:
                try:
                    tree = with_value(tree, decision.slot.steps, decision.value)
                except PathError:
                    return values_tree(plugin.options)
        whole: dict[str, Any] = tree
        return whole

    def _base(self, shared: Shared) -> _Base | None:
        """The values that plugins share; None where an option lies inside another, so that their order counts."""
        if shared not in self._bases:
            forms = sorted(normal_form(each.slot.steps) for each in shared.options)
            nested = any(later[: len(form)] == form for form, later in pairwise(forms))
            options = {each.slot.name: each.decision for each in shared.options if each.decision is not None}
            names = frozenset(each.slot.name for each in shared.options)
            tree = values_tree(options)
            self._bases[shared] = None if nested else _Base(tree, names, kinds_in(tree, Secret))
        return self._bases[shared]

    def bound(self, plugin: PluginDecision) -> list[Bound]:
        """A plugin's bindings, in the order in which they are written."""
        binder = self._binders.of(self._owner(plugin))
        return list(binder.bound(plugin.cluster, plugin.name)) if binder is not None else []

    def substituted(self, plugin: PluginDecision) -> dict[str, Any]:
        """The variables that a plugin's owner names; one that cannot be resolved is left out."""
        owner = self._owner(plugin)
        binder = self._binders.of(owner)
        if binder is None:
            return owner.substitute
        return dict(_filled_in(binder.program, binder.variables(plugin.cluster, plugin.name)))

    def written_substitute(self, plugin: PluginDecision) -> dict[str, Any]:
        """The variables as they are written, mentions and all."""
        program = self._owner(plugin).program
        return {each.name: each.written for each in program.variables} if program is not None else {}

    def variables(self, plugin: PluginDecision) -> dict[str, Any]:
        """All variables: scalar options that bear the name of one, and above them what the owner names (S39)."""
        by_name = {
            decision.name: decision.value
            for decision in plugin.options.values()
            if is_name_of_variable(decision.name)
            and decision.value is not ABSENT
            and (isinstance(decision.value, Secret) or not isinstance(decision.value, (dict, list, tuple)))
        }
        return {**by_name, **self.substituted(plugin)}

    def _declared(self, plugin: PluginDecision) -> set[str]:
        """The variables that a plugin may have: its options but for maps and lists (S63), and what its owner names."""
        options = [(each.name, each.slot.option, each.value) for each in plugin.options.values()]
        single = {
            name
            for name, option, value in options
            if (option is None or option.type not in ("map", "list")) and not isinstance(value, (dict, list))
        }
        return single | self.written_substitute(plugin).keys()

    def variable_references(self, plugin: PluginDecision, item: Item) -> tuple[str, ...]:
        """The names that an item mentions, as this plugin reads it."""
        template = self._template(plugin, item)
        return template.names if template is not None else ()

    def mentioned_by(self, plugin: PluginDecision, name: str) -> list[str]:
        """The names that a binding of a plugin mentions."""
        program = self._owner(plugin).program
        step = next((each for each in program.steps if each.name == name), None) if program is not None else None
        return list(step.template.names) if step is not None else []

    def producers(self, plugin: PluginDecision) -> list[tuple[str, str | None]]:
        """The definitions whose outputs a plugin reads, and the plugins on its cluster that offer them."""
        program = self._owner(plugin).program
        found: list[tuple[str, str | None]] = []
        for definition in program.producers if program is not None else ():
            there = self._binders.producers(plugin.cluster, definition)
            found += [(definition, name) for _, name in there] or [(definition, None)]
        return found

    def parts(self, plugin: PluginDecision) -> dict[str, Any]:
        """What a plugin is made of beside its values."""
        parts = dict(self.shared_parts(plugin))
        parts["downstream"] = downstream = self._downstream(plugin)
        on_cluster = downstream["variables"] if downstream is not None else {}
        variables = self.substituted(plugin) if plugin.target.owner.spec.substitute else {}
        parts["substitute"] = {name: each for name, each in variables.items() if name not in on_cluster}
        if injected := self.injected(plugin):
            parts["injected"] = injected
        return parts

    def shared_parts(self, plugin: PluginDecision) -> dict[str, Any]:
        """Those of them that all plugins with one target and the same configs have; nobody may change them."""
        return self._fixed(plugin).parts

    def hash(self, plugin: PluginDecision) -> str | None:
        """The inputHash of a plugin; None where a part of it is not known (B18)."""
        fixed = self._fixed(plugin)
        if fixed.unknown or any(each.gate != "downstream" for each in plugin.unresolved):
            return None
        if not self.varies(plugin):
            values = self.values(plugin)
            kinds = self._kinds(plugin, values)
            if Secret not in kinds:
                return fixed.head.with_last("values", values, float in kinds)
        parts = self.parts(plugin)
        made_there = parts["downstream"]["options"] if parts["downstream"] is not None else {}
        values = values_tree({name: each for name, each in plugin.options.items() if name not in made_there})
        whole = {**parts, "values": values}
        return self._hash_with_secrets(plugin, whole) if has_secret(whole) else input_hash(whole)

    def state_hash(self, plugin: PluginDecision) -> str | None:
        """What a plugin's state is stored and compared by: its inputHash, and what was read on its cluster (B16).

        None where a part of it is not known. While something is still to be read it is the inputHash alone.
        """
        written = self.hash(plugin)
        if written is None or not self._may_read_cluster(plugin) or plugin.unresolved:
            return written
        downstream = self._downstream(plugin)
        if downstream is None:
            return written
        bound = {each.name: each.value for each in self.bound(plugin) if each.unresolved is None}
        read = {name: bound[name] for name in downstream["bindings"] if name in bound}
        secrets = [[*map(str, path), self._digest(plugin, secret)] for path, secret in secrets_in(read)]
        if any(each[-1] is None for each in secrets):
            return None
        return with_readings(written, {"values": with_placeholders(read), "secrets": secrets})

    def _digest(self, plugin: PluginDecision, secret: Secret) -> str | None:
        if isinstance(secret.ref, SecretOnCluster):
            return secret.ref.digest
        if self.secret_digest is None:
            return None
        digest, delivery = self.secret_digest(plugin.organization, secret), self.delivery(plugin)
        by_reference = secret.ref is not None and delivery is not None and delivery.flux is not None
        # Flux gets the reference, and may find the Secret where only it can look: then that is all there is to know.
        return "" if digest is None and by_reference else digest

    def _hash_with_secrets(self, plugin: PluginDecision, whole: dict[str, Any]) -> str | None:
        """Each secret counts by where it stands, where it is kept, and its keyed digest (B3, B18)."""
        found: list[dict[str, Any]] = []
        for path, secret in secrets_in(whole):
            digest = self._digest(plugin, secret)
            if digest is None:
                return None
            ref = f"{secret.ref.name}/{secret.ref.key}" if secret.ref is not None else ""
            found.append({"path": [str(each) for each in path], "ref": ref, "digest": digest})
        return input_hash({**with_placeholders(whole), "secrets": found})

    def _kinds(self, plugin: PluginDecision, values: dict[str, Any]) -> set[type]:
        """Whether secrets and floats are among the values. Most trees have none: then a plugin's own are looked at."""
        base = self._bases.get(plugin.shared)
        if base is None or base.kinds:
            return kinds_in(values, Secret)
        return kinds_in([each.value for each in plugin.own if each.value is not ABSENT], Secret)

    def _fixed(self, plugin: PluginDecision) -> _Fixed:
        """What all plugins of an owner have in common that have the same revision and configs."""
        key = (plugin.target, plugin.configs)
        found = self._fixed_parts.get(key)
        if found is None:
            found = self._fixed_parts[key] = _fixed(plugin, self.delivery(plugin), self._transforms)
        return found

    def delivery(self, plugin: PluginDecision) -> Delivery | None:
        """How a plugin is delivered: as its owner says, else its organization."""
        written: Delivery | None = plugin.target.owner.spec.delivery
        if written is not None:
            return written
        name = plugin.organization
        organization = self._index.snapshot.organizations.get(Ref("Organization", name, name))
        return organization.spec.default_delivery if organization is not None else None

    def varies(self, plugin: PluginDecision) -> bool:
        """Whether what a plugin is made of may be another on each cluster, though its options are not."""
        return bool(plugin.target.owner.spec.substitute) or self._may_read_cluster(plugin)

    def _may_read_cluster(self, plugin: PluginDecision) -> bool:
        owner = self._owner(plugin)
        return owner.program is not None and self._binders.may_read_cluster(owner)

    def _downstream(self, plugin: PluginDecision) -> dict[str, Any] | None:
        """What is made of values of the cluster, as it is written: they change without anybody's edit (B16)."""
        return as_written(self._binders, self._sharing, self._owner(plugin), plugin)

    def _template(self, plugin: PluginDecision, item: Item) -> Template | None:
        binder = self._binders.of(self._owner(plugin))
        return binder.template(item) if binder is not None else None

    def _owner(self, plugin: PluginDecision) -> Owner:
        return self._index.owners[plugin.target.owner]

    # ---- Rendering

    def render_input(
        self, plugin: PluginDecision, hidden: Callable[[Any], Any] = with_placeholders
    ) -> RenderInput | None:
        """What a plugin's render takes; None where there is nothing to render. hidden is what stands for secrets."""
        revision = plugin.target.revision
        renderer = renderer_of(revision.object.spec) if revision is not None else None
        add_on = _add_on(plugin) if renderer is None else None
        if add_on is not None:
            renderer = "addon-template"
        if revision is None or renderer is None:
            return None
        substitution = getattr(plugin.target.owner.spec, "substitution", None) or _NO_SUBSTITUTION
        takes_values = renderer in ("helm", "addon-template")
        variables = self.variables(plugin) if not takes_values else {}
        declared = set() if takes_values else self._declared(plugin)
        return RenderInput(
            revision.object,
            renderer,
            hidden(self.values(plugin)) if takes_values else {},
            hidden(variables),
            plugin.target.release_name,
            plugin.target.release_namespace,
            tuple((*each.identity, each.spec_hash) for each in plugin.configs.effective),
            substitution.strict,
            substitution.only == "Declared",
            tuple(sorted(each for each in declared - variables.keys() if is_name_of_variable(each))),
            transforms_of(plugin.target),
            patches_of(plugin.target),
            add_on,
        )

    def holds_secrets(self, plugin: PluginDecision) -> list[str]:
        """The options and variables whose values are secret."""
        values = {name: each.value for name, each in plugin.options.items()}
        options = [name for name, each in values.items() if has_secret(each) and not refers_to_secret(each)]
        return options + [name for name, each in self.substituted(plugin).items() if has_secret(each)]

    def plain_secrets(self, plugin: PluginDecision) -> list[str]:
        """Those of them that are not kept in a Secret by themselves: written in plain text, or made of others."""
        values = {name: each.value for name, each in plugin.options.items()} | self.substituted(plugin)
        return [name for name, each in values.items() if any(is_plain(secret) for _, secret in secrets_in(each))]


def _add_on(plugin: PluginDecision) -> AddOn | None:
    """What an AddOnTemplate among a plugin's configs is rendered for."""
    template = addon_template(plugin.configs)
    if template is None or template.config is None:
        return None
    return AddOn(
        plugin.target.definition,
        template.identity[-1],
        template.config.content,
        plugin.cluster.ref.name,
        (plugin.cluster.metadata.annotations or {}).get(_IMAGE_REGISTRIES, ""),
        any(each.type == DEPLOYMENT_CONFIG for each in plugin.configs.effective),
    )


def transforms_of(target: Target) -> tuple[Transform, ...]:
    """The definition's own come first, and so does what they keep where priorities are equal."""
    own = target.revision.object.spec.transforms if target.revision is not None else None
    return (*(own or ()), *(target.owner.spec.transforms or ()))


def patches_of(target: Target) -> tuple[Patch, ...]:
    own = target.revision.object.spec.patches if target.revision is not None else None
    return (*(own or ()), *(target.owner.spec.patches or ()))


def _fixed(plugin: PluginDecision, delivery: Delivery | None, identities: Mapping[str, str]) -> _Fixed:
    target = plugin.target
    transforms = transforms_of(target)
    parts: dict[str, Any] = {"releaseName": target.release_name, "releaseNamespace": target.release_namespace}
    if target.revision is not None:
        parts["revision"] = {"definition": target.definition, "version": target.revision.version}
        parts["source"] = _tree(target.revision.object.spec.source)
    parts["configs"] = [[*each.identity, each.spec_hash] for each in plugin.configs.effective]
    parts["delivery"] = _tree(delivery)
    parts["substitution"] = _tree(getattr(target.owner.spec, "substitution", None)) or None
    parts["transforms"] = hashed_transforms(transforms, identities) or None
    parts["patches"] = [_tree(each) for each in patches_of(target)] or None
    unknown = (
        target.revision is None
        or any(each.spec_hash == UNKNOWN_HASH for each in plugin.configs.effective)
        # What an executable does is known by its bytes alone.
        or any(each.plugin not in identities and each.digest is None for each in transforms)
    )
    return _Fixed(parts, HashHead(parts), unknown)


def _filled_in(program: Program, frame: PluginVariables) -> Iterator[tuple[str, Any]]:
    for each in program.variables:
        value = each.template.make(frame) if each.template is not None else each.written
        if value.__class__ is not Unresolved:
            yield each.name, value


def _tree(record: Any) -> Any:
    return msgspec.to_builtins(record) if record is not None else None
