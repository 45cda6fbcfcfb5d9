"""Which owners a change of definitions, policies or stamps makes a difference to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fleetform.engine.decisions import Decisions
from fleetform.engine.incremental.changes import Changes
from fleetform.engine.index.index import Index
from fleetform.engine.layers.owners import Owner
from fleetform.engine.versions.choose import Choice
from fleetform.model.objects import Object
from fleetform.model.results.decisions import Gate, PluginDecision, Revision, Skipped
from fleetform.syntax.versions import parse_version


class ChangedDefinitions:
    """What became of definitions since the pass before."""

    def __init__(self, changes: Changes, index: Index, previous: Decisions) -> None:
        self._now, self._then = index.definitions, previous.index.definitions
        self._digests = changes.digests()
        # Versions that came, went or changed, by the organization and the name of their definition.
        self._changed: dict[tuple[str, str], list[Revision]] = {}
        for object_ in changes.objects("definitions", "retired"):
            revision = self._now.revision(object_) or self._then.revision(object_)
            if revision is not None:
                self._changed.setdefault((object_.ref.organization, object_.ref.name), []).append(revision)
        self._by_name: dict[str, list[Revision]] = {}
        for (_, name), revisions in self._changed.items():
            self._by_name.setdefault(name, []).extend(revisions)
        # Definitions of which other options are secret now.
        self._other_secrets = {
            each[1] for each in self._changed if self._now.secret_forms(each) != self._then.secret_forms(each)
        }
        self._plugins: dict[Object[object], list[PluginDecision]] = {}
        for here in previous.clusters.values() if self._changed else ():
            for plugin in here.candidates:
                if plugin.target.definition in self._by_name:
                    self._plugins.setdefault(plugin.target.owner, []).append(plugin)

    @property
    def anything(self) -> bool:
        return self._now is not self._then or bool(self._changed or self._digests)

    @property
    def names(self) -> set[tuple[str, str]]:
        return {*self._changed}

    def reach(self, owner: Owner) -> bool:
        if self._now is not self._then and not _same_choice(self._now.choice(owner), self._then.choice(owner)):
            return True
        if any(name == owner.definition for _, name in self._digests):
            return True
        changed = self._by_name.get(owner.definition)
        if not changed:
            return False
        choice = self._now.choice(owner)
        plugins = self._plugins.get(owner.object, [])
        if isinstance(choice, Gate) or owner.definition in self._other_secrets:
            return True
        return any(_makes_a_difference(each, choice.revision, plugins) for each in changed)


def _same_choice(one: Choice | Gate, other: Choice | Gate) -> bool:
    if isinstance(one, Choice) and isinstance(other, Choice):
        return one.revision is other.revision and one.forced == other.forced
    if isinstance(one, Gate) and isinstance(other, Gate):
        return (one.gate, one.message, one.do) == (other.gate, other.message, other.do)
    return False


def _makes_a_difference(changed: Revision, chosen: Revision, plugins: Iterable[PluginDecision]) -> bool:
    """Whether a revision that is not the chosen one says anything about plugins that want the chosen one."""
    version, top = parse_version(changed.version), parse_version(chosen.version)
    changes = changed.object.spec.changes
    if version <= top and changes is not None and changes.migrations:
        return True
    for running in {plugin.running for plugin in plugins if plugin.running is not None}:
        ends = sorted((parse_version(running), top))
        if ends[0] <= version <= ends[1]:
            return True
    return any(changed.find(each.item.steps) is not None for plugin in plugins for each in _skipped(plugin))


def _skipped(plugin: PluginDecision) -> Iterator[Skipped]:
    yield from plugin.skipped
    if plugin.upgrade is not None:
        yield from plugin.upgrade.skipped
