"""The simple resolver: every plugin, every override, every option, one after the other, as the rules say it.

It shares no code with the engine's stages and keeps nothing between two plugins. Property tests hold the engine equal
to it, and the bench measures how much faster the engine is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from copy import deepcopy as copy_of
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from msgspec import UNSET

from fleetform.model.kinds import PLATFORM_NAMESPACE
from fleetform.model.kinds.base import ClusterSelector, ClusterSelectors, LabelRequirement, LabelSelector, OptionValue
from fleetform.model.kinds.definition import Option, PluginDefinitionSpec
from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.kinds.preset import DefinitionRef, OverrideItem
from fleetform.model.objects import Object
from fleetform.model.results.decisions import ABSENT, PluginKey, Secret, Steps
from fleetform.model.snapshot import Snapshot
from fleetform.syntax.cel import context_of, evaluate
from fleetform.syntax.names import generated_name
from fleetform.syntax.option_paths import parse_path, text_of
from fleetform.syntax.times import parse_time
from fleetform.syntax.versions import parse_version

Cluster = Object[ClusterSpec]
Definition = Object[PluginDefinitionSpec]
Form = tuple[str, ...]


class Voice(NamedTuple):
    """Who says something, and with which words."""

    layer: str
    object: str
    text: str


class Said(NamedTuple):
    """One thing that one layer says about one path."""

    voice: Voice
    written: OptionValue | OverrideItem

    @property
    def strategy(self) -> str:
        return getattr(self.written, "strategy", None) or "Replace"


class Misfit(ValueError):  # noqa: N818 - it is not an error of the program
    """A path that leads nowhere in a value."""


class PartAnswer(NamedTuple):
    """Who decides a path inside an option's value, and who spoke of it before, from specific to generic."""

    winner: Voice
    hidden: tuple[Voice, ...]


@dataclass
class OptionAnswer:
    """What becomes of one option. stumbled says that something that counts could not be applied."""

    value: Any = ABSENT
    winner: Voice | None = None
    hidden: tuple[Voice, ...] = ()
    parts: dict[Form, PartAnswer] = field(default_factory=dict)
    removed_by: Voice | None = None
    stumbled: bool = False


@dataclass
class PluginAnswer:
    """What one plugin gets; version is None where no revision fits."""

    version: str | None
    options: dict[str, OptionAnswer]


def resolve_simply(snapshot: Snapshot, clusters: Iterable[Cluster] | None = None) -> dict[PluginKey, PluginAnswer]:
    """What every plugin gets, on all clusters or on some of them."""
    chosen = list(snapshot.clusters.values() if clusters is None else clusters)
    answers: dict[PluginKey, PluginAnswer] = {}
    releases = set()
    for owner in owners_by_age(snapshot):
        blocks, names = blocks_by_cluster(owner), release_of(snapshot, owner)
        for cluster in chosen:
            release = (cluster.ref, *names)
            key = (cluster.ref.organization, cluster.ref.name, plugin_name(owner, cluster))
            if not wants(owner, cluster) or release in releases or key in answers:
                continue
            releases.add(release)
            answers[key] = resolve_plugin(snapshot, owner, cluster, blocks.get(cluster.ref.name, []))
    return answers


def resolve_plugin(snapshot: Snapshot, owner: Object[Any], cluster: Cluster, blocks: list[OptionValue]) -> PluginAnswer:
    definition = definition_for(snapshot, owner)
    if definition is None:
        return PluginAnswer(None, {})
    version = str(parse_version(definition.spec.version))
    declared = {form_of(option.name): option for option in definition.spec.options or []}
    paths: dict[str, Steps] = {option.name: parse_path(option.name) for option in declared.values()}
    everything: list[tuple[Said, Steps]] = []
    for said, passes_undeclared in everything_said(snapshot, owner, cluster, definition, blocks):
        name, _ = option_spoken_of(said.voice.text, declared)
        steps = parse_path(said.voice.text)
        if name is not None or passes_undeclared:
            everything.append((said, steps))
        if name is None and passes_undeclared:
            paths.setdefault(text_of(steps), steps)
    context = (cluster, definition_name(owner)[0], version)
    types: dict[Form, str] = {form: option.type for form, option in declared.items()}
    # A value does not become harmless by being older, or newer.
    same = [each for each in snapshot.definitions.values() if each.ref == definition.ref]
    secret = {form_of(option.name) for each in same for option in each.spec.options or [] if option.type == "secret"}
    roots = roots_of(paths, {option.name for option in declared.values()})
    said_of: dict[Form, list[tuple[Said, Steps]]] = {root: [] for root in roots.values()}
    for said, steps in everything:
        form = texts(steps)
        root = next(form[:length] for length in range(1, len(form) + 1) if form[:length] in said_of)
        said_of[root].append((said, steps[len(root) :]))
    return PluginAnswer(
        version,
        {
            name: answer(
                steps, roots[name], types, said_of[roots[name]], context, list(roots.values()), texts(steps) in secret
            )
            for name, steps in paths.items()
        },
    )


def roots_of(paths: dict[str, Steps], declared: set[str]) -> dict[str, Form]:
    """The outermost option that each lies in, which for most is itself; of a list that nobody declares, the list."""
    starts = {}
    for name, steps in paths.items():
        index = next(
            (at for at, step in enumerate(steps) if isinstance(step, int) and name not in declared), len(steps)
        )
        starts[name] = texts(steps[:index])
    forms = set(starts.values())
    return {
        name: next(start[:length] for length in range(1, len(start) + 1) if start[:length] in forms)
        for name, start in starts.items()
    }


# ---- Owners: which plugins there are


def owners_by_age(snapshot: Snapshot) -> list[Object[Any]]:
    """Presets and hand-made plugins; of two that claim one release or one name, the older keeps it (B23)."""
    by_hand = [each for each in snapshot.plugins.values() if each.spec.preset_ref is None]
    owners: list[Object[Any]] = [*snapshot.presets.values(), *by_hand]
    return sorted(owners, key=lambda each: (*age(each), each.ref.kind == "Plugin", each.ref.name))


def age(object_: Object[Any]) -> tuple[bool, float]:
    """Sorts the oldest first; without a stamp an object counts as the newest (B7)."""
    created = object_.created
    return (True, 0.0) if created is None else (False, created.timestamp())


def wants(owner: Object[Any], cluster: Cluster) -> bool:
    if owner.ref.organization != cluster.ref.organization:
        return False
    if owner.ref.kind == "Plugin":
        return bool(owner.spec.cluster_name == cluster.ref.name)
    return owner.spec.cluster_selector is not None and selects(owner.spec.cluster_selector, cluster)


def plugin_name(owner: Object[Any], cluster: Cluster) -> str:
    return owner.ref.name if owner.ref.kind == "Plugin" else generated_name(owner.ref.name, cluster.ref.name)


def template_of(owner: Object[Any]) -> Any:
    return owner.spec if owner.ref.kind == "Plugin" else owner.spec.plugin


def definition_name(owner: Object[Any]) -> tuple[str, str | None]:
    """The definition's name, and the version that is asked for."""
    template = template_of(owner)
    written = template.plugin_definition
    if isinstance(written, DefinitionRef):
        return written.name, written.version or template.plugin_definition_version
    return written or "", template.plugin_definition_version


def release_of(snapshot: Snapshot, owner: Object[Any]) -> tuple[str, str]:
    """Named after the definition; in Greenhouse after the chart, and in the organization's namespace (S8)."""
    template, (name, _) = template_of(owner), definition_name(owner)
    namespace = name
    if owner.dialect == "greenhouse":
        definition = definition_for(snapshot, owner)
        source = definition.spec.source if definition is not None else None
        name = source.helm.chart if source is not None and source.helm is not None else name
        namespace = owner.ref.organization
    return template.release_namespace or namespace, template.release_name or name


def definition_for(snapshot: Snapshot, owner: Object[Any]) -> Definition | None:
    """The exact version, or the newest stable one; an organization's own definition hides the platform's."""
    name, wanted = definition_name(owner)
    for organization in (owner.ref.organization, PLATFORM_NAMESPACE):
        offers = {
            parse_version(each.spec.version): each
            for each in snapshot.definitions.values()
            if (each.ref.organization, each.ref.name) == (organization, name)
        }
        if offers:
            stable = [version for version in offers if not version.prerelease]
            best = parse_version(wanted) if wanted else max(stable, default=None)
            return offers.get(best) if best is not None else None
    return None


# ---- Layers: default < preset < groups < per-cluster < instance < overrides (B14)


def everything_said(
    snapshot: Snapshot, owner: Object[Any], cluster: Cluster, definition: Definition, blocks: list[OptionValue]
) -> Iterator[tuple[Said, bool]]:
    """All that is said about a plugin, in order of application, and whether it counts where nobody declares it."""
    passes = owner.dialect == "greenhouse"
    for option in sorted(definition.spec.options or [], key=lambda each: len(parse_path(each.name))):
        if option.default is not UNSET and option.default is not None:
            yield (
                Said(Voice("default", definition.ref.name, option.name), OptionValue(option.name, option.default)),
                False,
            )
    own_layer = "instance" if owner.ref.kind == "Plugin" else "preset"
    for said in said_in(own_layer, owner, values_of(template_of(owner).option_values)):
        yield said, passes
    for group in getattr(owner.spec, "groups", None) or []:
        if group.cluster_selector is not None and selects(group.cluster_selector, cluster):
            for said in said_in("group", owner, values_of(group.option_values)):
                yield said, passes
    for said in said_in("cluster", owner, blocks):
        yield said, passes
    for instance in instances_of(snapshot, owner, cluster):
        for said in said_in("instance", instance, values_of(instance.spec.option_values)):
            yield said, passes
    for override in overrides_on(snapshot, definition_name(owner)[0], cluster):
        for said in said_in("override", override, sorted(override.spec.overrides, key=in_list_order)):
            yield said, override.spec.allow_undeclared


def in_list_order(written: OptionValue | OverrideItem) -> tuple[Any, ...]:
    """Items of one object are a set (S60): those that set go by index, then those that remove, from the end."""
    text = written.path if isinstance(written, OverrideItem) else written.name
    numbers = [int(each) for each in re.findall(r"[0-9]+", text)]
    if isinstance(written, OverrideItem) and written.strategy == "Remove":
        return (1, [-each for each in numbers])
    return (0, numbers)


def said_in(layer: str, object_: Object[Any], written: Iterable[OptionValue | OverrideItem]) -> Iterator[Said]:
    for each in written:
        text = each.path if isinstance(each, OverrideItem) else each.name
        yield Said(Voice(layer, object_.ref.name, text), each)


def values_of(values: list[OptionValue] | dict[str, Any] | None) -> list[OptionValue]:
    if isinstance(values, dict):
        return [OptionValue(name, value) for name, value in values.items()]
    return sorted(values or [], key=in_list_order)


def blocks_by_cluster(owner: Object[Any]) -> dict[str, list[OptionValue]]:
    """A preset's values by cluster: all blocks of a cluster, in order (R0-13)."""
    found: dict[str, list[OptionValue]] = {}
    if owner.ref.kind == "PluginPreset":
        for block in [*(owner.spec.cluster_option_overrides or []), *(owner.spec.cluster_overrides or [])]:
            found.setdefault(block.cluster_name, []).extend(sorted(block.overrides, key=in_list_order))
    return found


def instances_of(snapshot: Snapshot, owner: Object[Any], cluster: Cluster) -> list[Object[Any]]:
    """The Plugin beside a preset, by the name that the preset generates (B4)."""
    if owner.ref.kind == "Plugin":
        return []
    return [
        each
        for each in snapshot.plugins.values()
        if each.spec.preset_ref is not None
        and each.spec.preset_ref.name == owner.ref.name
        and each.ref.organization == owner.ref.organization
        and each.ref.name == plugin_name(owner, cluster)
    ]


def overrides_on(snapshot: Snapshot, definition: str, cluster: Cluster) -> list[Object[Any]]:
    """The overrides that reach a plugin: by rank, then the oldest first, then by name (R0-10, R0-11)."""
    reaching = []
    for override in snapshot.overrides.values():
        spec = override.spec
        if override.ref.organization != cluster.ref.organization:
            continue
        if spec.plugin_definition_names and definition not in spec.plugin_definition_names:
            continue
        if spec.expires is not None and parse_time(spec.expires) <= snapshot.at:
            continue
        if selects(spec.cluster_selector, cluster):
            reaching.append(override)
    return sorted(reaching, key=lambda each: (rank(each), *age(each), each.ref.name))


def rank(override: Object[Any]) -> int:
    """1 for neither, 2 for one of cluster and definition, 3 for both (S16)."""
    spec = override.spec
    return 1 + names_clusters(spec.cluster_selector) + bool(spec.plugin_definition_names)


# ---- Selectors


def elements_of(selectors: ClusterSelectors | None) -> list[ClusterSelector]:
    """Absent, {} and [] are one thing: all clusters (R0-4)."""
    if isinstance(selectors, ClusterSelector):
        return [selectors]
    return selectors or [ClusterSelector()]


def selects(selectors: ClusterSelectors | None, cluster: Cluster) -> bool:
    """A list is a union, and ignoreClusters acts within its own element (R0-3, S17)."""
    return any(selects_one(each, cluster) for each in elements_of(selectors))


def selects_one(selector: ClusterSelector, cluster: Cluster) -> bool:
    name = cluster.ref.name
    if name in (selector.ignore_clusters or []):
        return False
    if selects_by_nothing(selector):
        return True
    return name in (selector.cluster_names or []) or (asks(selector) and labels_match(selector, cluster.labels))


def selects_by_nothing(selector: ClusterSelector) -> bool:
    return not asks(selector) and not selector.cluster_names


def names_clusters(selectors: ClusterSelectors | None) -> bool:
    return not any(selects_by_nothing(each) and not each.ignore_clusters for each in elements_of(selectors))


def labels_of(selector: ClusterSelector) -> LabelSelector:
    return selector if selector.label_selector is None else selector.label_selector


def asks(selector: ClusterSelector) -> bool:
    labels = labels_of(selector)
    return bool(labels.match_labels or labels.match_expressions)


def labels_match(selector: ClusterSelector, labels: dict[str, str]) -> bool:
    wanted = labels_of(selector)
    if any(labels.get(key) != value for key, value in (wanted.match_labels or {}).items()):
        return False
    return all(expression_holds(each, labels) for each in wanted.match_expressions or [])


def expression_holds(expression: LabelRequirement, labels: dict[str, str]) -> bool:
    present = expression.key in labels
    if expression.operator == "Exists":
        return present
    if expression.operator == "DoesNotExist":
        return not present
    among = present and labels[expression.key] in (expression.values or [])
    return among if expression.operator == "In" else not among


# ---- Paths


def form_of(text: str) -> Form:
    """What two spellings of one path have in common."""
    return tuple(str(step) for step in parse_path(text))


def option_spoken_of(text: str, declared: dict[Form, Option]) -> tuple[str | None, Steps]:
    """The longest declared name wins; the rest is a path inside its value (R0-8)."""
    steps, form = parse_path(text), form_of(text)
    best: Form = ()
    for name in declared:
        if len(name) > len(best) and form[: len(name)] == name:
            best = name
    return (declared[best].name, steps[len(best) :]) if best else (None, ())


def a_copy(tree: Any) -> Any:
    return tree if tree is ABSENT else copy_of(tree)


def found_at(tree: Any, steps: Steps) -> Any:
    for step in steps:
        if isinstance(tree, dict):
            tree = tree.get(str(step), ABSENT)
        elif isinstance(tree, list) and str(step).isdigit() and int(step) < len(tree):
            tree = tree[int(step)]
        else:
            return ABSENT
    return tree


def put(tree: Any, steps: Steps, value: Any) -> Any:
    """The tree, changed in place, with the value at the path; the next index of a list appends (S18)."""
    if not steps:
        return value
    if tree is HOLE:
        return HOLE
    step, rest = steps[0], steps[1:]
    if tree is ABSENT or tree is None:
        tree = [] if isinstance(step, int) else {}
    if isinstance(tree, dict):
        tree[str(step)] = put(tree.get(str(step), ABSENT), rest, value)
    elif isinstance(tree, list) and isinstance(step, int) and step <= len(tree):
        before = tree[step] if step < len(tree) else ABSENT
        tree[step : step + 1] = [put(before, rest, value)]
    else:
        raise Misfit(f"there is no {step} here")
    return tree


def drop(tree: Any, steps: Steps) -> Any:
    """The tree, changed in place, with nothing at the path."""
    if found_at(tree, steps) is not ABSENT:
        holder, step = found_at(tree, steps[:-1]), steps[-1]
        del holder[str(step) if isinstance(holder, dict) else step]
    return tree


def merged(below: Any, above: Any) -> Any:
    """Deep for maps, everything else is replaced (S18); what is merged with something unknown is not known."""
    if HOLE in (below, above) and all(each is HOLE or isinstance(each, dict) for each in (below, above)):
        return HOLE
    if not isinstance(below, dict) or not isinstance(above, dict):
        return above
    return {**below, **{key: merged(below.get(key, ABSENT), value) for key, value in above.items()}}


def leaves(below: Any, above: Any, form: Form) -> Iterator[Form]:
    """The paths that a merge sets."""
    if isinstance(below, dict) and isinstance(above, dict):
        for key, value in above.items():
            yield from leaves(below.get(key, ABSENT), value, (*form, key))
    else:
        yield form


# ---- One option


def answer(
    steps: Steps,
    root: Form,
    types: dict[Form, str],
    everything: list[tuple[Said, Steps]],
    context: tuple[Cluster, str, str],
    roots: list[Form],
    secret: bool,
) -> OptionAnswer:
    """Everything said about the outermost option that this one lies in, said again one after the other onto a copy."""
    nested = roots.count(root) > 1 or root != texts(steps)
    within = types if nested else {root: types.get(root, "")}
    replay = Replay(
        {form[len(root) :]: type_ for form, type_ in within.items() if form[: len(root)] == root},
        lambda said: value_said(said, context),
    )
    for said, path in everything:
        replay.hear(said, path)
    replay.finish()
    result = replay.option(steps[len(root) :])
    if secret and result.value is not ABSENT and not isinstance(result.value, Secret):
        result.value = Secret(None, result.value)
    return result


def value_said(said: Said, context: tuple[Cluster, str, str]) -> Any:
    written = said.written
    if written.value is not UNSET and written.value is not None:
        return a_copy(written.value)
    if written.value_from is not None:
        return Secret(written.value_from.secret)
    try:
        return evaluate(written.expression or "", context_of(*context))
    except ValueError:
        return HOLE


class Hole:
    """What nobody knows."""

    def __deepcopy__(self, memo: object) -> Hole:
        return self


HOLE = Hole()


def holds_hole(tree: Any) -> bool:
    if isinstance(tree, (dict, list)):
        return any(map(holds_hole, tree.values() if isinstance(tree, dict) else tree))
    return tree is HOLE


class Heard(NamedTuple):
    """Something that was said; value is ABSENT for a removal."""

    said: Said
    inside: Steps
    value: Any

    def speaks_of(self, form: Form) -> bool:
        own = texts(self.inside)
        if own[: len(form)] == form:
            return True
        if form[: len(own)] != own:
            return False
        if self.said.strategy == "Remove" or found_at(self.value, form[len(own) :]) is not ABSENT:
            return True
        return any(found_at(self.value, form[len(own) : end]) is HOLE for end in range(len(own), len(form) + 1))

    def hides(self, form: Form) -> bool:
        """Whether it replaces or removes all that stands at a path."""
        own = texts(self.inside)
        if self.said.strategy != "Merge" or not isinstance(self.value, dict):
            return form[: len(own)] == own
        ends = (
            [form[: len(own) + length] for length in range(1, len(form) - len(own) + 1)]
            if form[: len(own)] == own
            else []
        )
        found = [found_at(self.value, each[len(own) :]) for each in ends]
        return any(each is not ABSENT and not isinstance(each, dict) for each in found)


class Replay:
    """What is said of one value, heard one after the other; every claim of a path is kept, the last one counts."""

    def __init__(self, types: dict[Form, str], value_of: Callable[[Said], Any]) -> None:
        self.value: Any = ABSENT
        self._types = types
        self._value_of = value_of
        self._heard: list[Heard] = []
        self._misfits: list[int] = []
        # Which of those heard claimed which path.
        self._claims: list[tuple[int, Form]] = []
        self._defaults: Any = ABSENT

    def hear(self, said: Said, inside: Steps) -> None:
        value = ABSENT if said.strategy == "Remove" else self._value_of(said)
        changed = [texts(inside)]
        try:
            changed = self._changed(said, inside, value)
        except Misfit:
            # It changes nothing, and is in the way until something takes its place.
            self._misfits.append(len(self._heard))
        self._claims += [(len(self._heard), form) for form in changed]
        self._heard.append(Heard(said, inside, value))

    def finish(self) -> None:
        """What does not fit and is not hidden leaves a hole where its path cannot go on (S59)."""
        for number in self._misfits:
            inside = self._heard[number].inside
            if not any(later.hides(texts(inside)) for later in self._heard[number + 1 :]):
                fits = [each for each in range(len(inside) + 1) if self._leads_on(inside[:each])]
                self.value = put(self._copy(inside), inside[: fits[-1]], HOLE)

    def _leads_on(self, steps: Steps) -> bool:
        try:
            put(self._copy(steps), steps, None)
        except Misfit:
            return False
        return True

    def _changed(self, said: Said, inside: Steps, value: Any) -> list[Form]:
        """Change the value; returns the paths that were."""
        if said.strategy == "Remove":
            self._remove(inside)
            return [texts(inside)]
        below = found_at(self.value, inside)
        if said.voice.layer == "default":
            self._defaults = put(a_copy(self._defaults), inside, a_copy(value))
        merges = said.strategy == "Merge" and isinstance(value, dict) and isinstance(below, dict)
        if said.strategy == "Merge" and HOLE in (below, value):
            value = merged(below, value)
        self.value = put(self._copy(inside), inside, merged(below, value) if merges else a_copy(value))
        return list(leaves(below, value, texts(inside))) if merges else [texts(inside)]

    def _copy(self, inside: Steps) -> Any:
        """The value so far, to be changed; what has no value yet is what its type says."""
        tree = a_copy(self.value)
        for length in range(len(inside)):
            kind = self._types.get(texts(inside[:length]), "")
            if kind in ("map", "list") and found_at(tree, inside[:length]) is ABSENT:
                tree = put(tree, inside[:length], {} if kind == "map" else [])
        return tree

    def _remove(self, inside: Steps) -> None:
        """As if no layer but the default had set it (S18); where the path leads nowhere there is nothing to do."""
        remaining = found_at(self._defaults, inside)
        if remaining is ABSENT:
            self.value = drop(self._copy(()), inside) if inside else ABSENT
        else:
            with suppress(Misfit):
                self.value = put(self._copy(()), inside, a_copy(remaining))

    # ---- Who decides what

    def option(self, steps: Steps) -> OptionAnswer:
        """What is told of an option that lies at a path of the value."""
        form = texts(steps)
        value = next(
            (HOLE for length in range(len(steps)) if found_at(self.value, steps[:length]) is HOLE),
            found_at(self.value, steps),
        )
        result = OptionAnswer(value)
        if holds_hole(value):
            result.value, result.stumbled = ABSENT, True
        claims = [(number, claimed) for number, claimed in self._claims if form[: len(claimed)] == claimed]
        if claims:
            number, claimed = claims[-1]
            decider = self._heard[number]
            result.winner, result.hidden = decider.said.voice, self._voices(form, number)
            if decider.said.strategy == "Remove":
                result.removed_by, result.winner = result.winner, self._default_at(form)
                result.hidden = tuple(each for each in result.hidden if each != result.winner)
            elif value is ABSENT and claimed != form:
                # What it lay in was replaced by something without it.
                result.removed_by, result.winner = (result.winner if result.hidden else None), None
        result.parts = {each[len(form) :]: part for each, part in self._parts_below(form)}
        return result

    def _parts_below(self, form: Form) -> Iterator[tuple[Form, PartAnswer]]:
        for place, (number, claimed) in enumerate(self._claims):
            later = [each for _, each in self._claims[place + 1 :]]
            inside = len(claimed) > len(form) and claimed[: len(form)] == form
            if inside and not any(claimed[: len(each)] == each for each in later):
                yield claimed, PartAnswer(self._heard[number].said.voice, self._voices(claimed, number))

    def _default_at(self, form: Form) -> Voice | None:
        said = [each.said.voice for each in self._heard if each.said.voice.layer == "default" and each.speaks_of(form)]
        return said[-1] if said else None

    def _voices(self, form: Form, before: int) -> tuple[Voice, ...]:
        return tuple(each.said.voice for each in reversed(self._heard[:before]) if each.speaks_of(form))


def texts(steps: Steps) -> Form:
    return tuple(str(step) for step in steps)
