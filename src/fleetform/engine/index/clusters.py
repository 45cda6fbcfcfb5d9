"""The clusters of a snapshot, by organization and by label, so that a selector is held only against those it may match.

A pass never changes what an earlier one indexed: what is touched is copied, so that both can be asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from fleetform.engine.index.differences import changed_keys
from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.objects import Object, Ref
from fleetform.syntax.selectors import Matchers, Requirement, any_matches

Cluster = Object[ClusterSpec]
_ByName = dict[str, Cluster]
_ByLabel = dict[tuple[str, str], _ByName]

# Above so many changed clusters copying what each touches costs more than indexing all of them anew.
_MOST_COPIED = 100


class ClusterIndex:
    """Answers which clusters of an organization selectors match."""

    def __init__(self, clusters: Mapping[Ref, Cluster], before: ClusterIndex | None = None) -> None:
        self.all = clusters
        # Since the pass before; labels are indexed when a selector asks for them.
        self.gone: list[Cluster] = []
        self.came: list[Cluster] = []
        self._organizations: dict[str, _ByName] = {}
        self._labels: dict[str, _ByLabel] = {}
        if before is not None and before.all is clusters:
            self._organizations, self._labels = before._organizations, before._labels
            return
        then: Mapping[Ref, Cluster] = before.all if before is not None else {}
        changed = changed_keys(clusters, then) if then else list(clusters)
        self.gone = [then[ref] for ref in changed if ref in then]
        self.came = [clusters[ref] for ref in changed if ref in clusters]
        if before is None or len(self.gone) + len(self.came) > _MOST_COPIED:
            for ref, cluster in clusters.items():
                self._organizations.setdefault(ref.organization, {})[ref.name] = cluster
        else:
            self._organizations, self._labels = dict(before._organizations), dict(before._labels)
            self._update()

    def _update(self) -> None:
        changes = [*((each, False) for each in self.gone), *((each, True) for each in self.came)]
        for organization in {each.ref.organization for each, _ in changes}:
            here = [(each, is_there) for each, is_there in changes if each.ref.organization == organization]
            by_name = self._organizations[organization] = dict(self._organizations.get(organization, {}))
            for cluster, is_there in here:
                _put(by_name, cluster, is_there)
            if organization not in self._labels:
                continue
            by_label = self._labels[organization] = dict(self._labels[organization])
            for label in {label for cluster, _ in here for label in cluster.labels.items()}:
                by_label[label] = dict(by_label.get(label, {}))
            for cluster, is_there in here:
                for label in cluster.labels.items():
                    _put(by_label[label], cluster, is_there)

    @property
    def organizations(self) -> Iterable[str]:
        return self._organizations.keys()

    def of(self, organization: str) -> Mapping[str, Cluster]:
        """An organization's clusters by name."""
        return self._organizations.get(organization, {})

    def matching(self, organization: str, matchers: Matchers) -> Iterator[Cluster]:
        """The clusters of an organization that any of some selectors matches, each once."""
        clusters = self.of(organization)
        candidates: dict[str, Cluster] = {}
        for matcher in matchers:
            if matcher.everything:
                candidates.update(clusters)
                break
            candidates.update((name, clusters[name]) for name in matcher.names if name in clusters)
            if matcher.requirements is not None:
                candidates.update(self._fulfilling(organization, matcher.requirements))
        return (each for each in candidates.values() if any_matches(matchers, each.ref.name, each.labels))

    def _fulfilling(self, organization: str, requirements: tuple[Requirement, ...]) -> _ByName | Mapping[str, Cluster]:
        """The clusters that may fulfil requirements, by the one of them that the fewest do."""
        label = anchor(requirements)
        if label is None:
            return self.of(organization)
        by_label = self._labels.get(organization)
        if by_label is None:
            by_label = self._labels[organization] = {}
            for name, cluster in self.of(organization).items():
                for each in cluster.labels.items():
                    by_label.setdefault(each, {})[name] = cluster
        found: _ByName = {}
        for value in label.values:
            found.update(by_label.get((label.key, value), {}))
        return found


def _put(clusters: _ByName, cluster: Cluster, is_there: bool) -> None:
    if is_there:
        clusters[cluster.ref.name] = cluster
    elif clusters.get(cluster.ref.name) is cluster:
        del clusters[cluster.ref.name]


def anchor(requirements: tuple[Requirement, ...]) -> Requirement | None:
    """The requirement to index by: one that names values, and the fewer the better."""
    naming = [each for each in requirements if each.operator == "In"]
    return min(naming, key=lambda each: (len(each.values), each.key), default=None)
