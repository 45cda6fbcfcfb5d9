"""Reading: fields of objects on clusters, for bindings that ask for them; and whether clusters still answer (B16, B25).

A cluster is asked from time to time by one piece of work, for each object once, whatever the number of plugins and
fields. What a Secret holds becomes a digest right where it is read.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial

import msgspec

from fleetform.clusters.ownership import Manifest
from fleetform.clusters.work import ClusterKey, Clusters, Outcome, Waiting
from fleetform.engine.bindings.fields import FieldError, decode_base64, find_in, key_of_secret
from fleetform.model.results.bindings import FieldOnCluster
from fleetform.outside.kubernetes.access import Access, AccessError
from fleetform.outside.kubernetes.client import Client
from fleetform.outside.kubernetes.errors import DeniedError, NoKindError, ObjectError
from fleetform.ports.observing import ClusterAnswer, DigestOf, FieldAnswer
from fleetform.syntax.option_paths import PathError

# How often fields are read; those that are not there or may not be read are soon looked for again, and less and less.
_EVERY = timedelta(minutes=1)
_SOON = timedelta(seconds=5)
# How often a cluster is asked whether it answers on which nothing is read.
_PROBED = timedelta(minutes=5)
# Times are rounded up to these, so that many clusters take few passes.
_STEP = 5
# More than this belongs into a ConfigMap that the plugin's own objects mount.
_LARGEST = 64 * 1024
_Fields = frozenset[FieldOnCluster]
_Answers = Mapping[FieldOnCluster, FieldAnswer]
_NOTHING: _Answers = {}


@dataclass
class _Cluster:
    """What is known of one cluster, since it was first asked for; tries counts questions that left something open, why
    says what came instead of the last answer."""

    fields: dict[FieldOnCluster, FieldAnswer] = field(default_factory=dict)
    due: datetime | None = None
    asking: _Fields | None = None
    tries: int = 0
    why: str = ""


class ClusterReading:
    """Asks clusters. spread draws a number between two: those that are asked at one time would be so for ever."""

    def __init__(
        self,
        clusters: Clusters,
        access_of: Callable[[ClusterKey], Access | AccessError],
        spread: Callable[[float, float], float] = random.uniform,
    ) -> None:
        self._clusters, self._access_of, self._spread = clusters, access_of, spread
        self._known: dict[ClusterKey, _Cluster] = {}

    def read(
        self, wanted: Mapping[ClusterKey, _Fields], digest_of: DigestOf, now: datetime
    ) -> Mapping[ClusterKey, ClusterAnswer]:
        # What nobody asks about any more is forgotten.
        self._known = {cluster: known for cluster, known in self._known.items() if cluster in wanted}
        return {cluster: self._on(cluster, fields, digest_of, now) for cluster, fields in wanted.items()}

    def _on(self, cluster: ClusterKey, fields: _Fields, digest_of: DigestOf, now: datetime) -> ClusterAnswer:
        known = self._known.get(cluster)
        if known is None:
            # Whoever asks nothing of a cluster need not know at once whether it answers.
            known = self._known[cluster] = _Cluster(due=None if fields else self._at(now, _PROBED))
        answered = None
        is_due = known.due is None or known.due <= now or not fields <= known.fields.keys()
        if known.asking is not None or is_due:
            answered = self._ask(cluster, known, known.asking or fields, digest_of, now)
        look_at = known.due if known.due is not None and known.due > now else now + _SOON
        return ClusterAnswer(
            {each: known.fields[each] for each in fields & known.fields.keys()}, look_at, answered, known.why
        )

    def _ask(
        self, cluster: ClusterKey, known: _Cluster, fields: _Fields, digest_of: DigestOf, now: datetime
    ) -> bool | None:
        """Has the cluster asked, and takes what it says once that is there: whether it answered."""
        work = partial(_read, fields, partial(digest_of, cluster[0]))
        outcome = self._clusters.outcome(
            cluster, self._access_of(cluster), ("read", cluster), fields, work, partial(_is_news, dict(known.fields))
        )
        known.asking = fields if outcome is None else None
        if outcome is None:
            return None
        known.why = outcome.error.message if outcome.error is not None and outcome.unreachable else ""
        if outcome.error is not None:
            known.due = self._at(now, _EVERY)
            if not outcome.unreachable:
                message, hint = outcome.error.message, outcome.error.hint
                known.fields.update(dict.fromkeys(fields, FieldAnswer(problem=message, do=hint)))
            return not outcome.unreachable
        known.fields.update(outcome.answer)
        is_open = any(each.problem or (each.value is None and not each.digest) for each in outcome.answer.values())
        known.tries = known.tries + 1 if is_open else 0
        pause = min(_SOON * (1 << min(known.tries - 1, 8)), _EVERY) if is_open else _EVERY if fields else _PROBED
        known.due = self._at(now, pause)
        return True

    def _at(self, now: datetime, pause: timedelta) -> datetime:
        seconds = (now + pause * self._spread(1.0, 1.25)).timestamp()
        return datetime.fromtimestamp(-(-seconds // _STEP) * _STEP, UTC)


def _is_news(known: _Answers, outcome: Outcome) -> bool:
    """Whether anybody needs to hear of it before the next pass."""
    if outcome.error is not None:
        return True
    answers: _Answers = outcome.answer
    return any(each not in known or not is_same(known[each], answer) for each, answer in answers.items())


def is_same(one: FieldAnswer, other: FieldAnswer) -> bool:
    """To the last type: Python takes true for 1."""
    return one == other and msgspec.json.encode(one.value) == msgspec.json.encode(other.value)


def _read(fields: _Fields, digest_of: Callable[[str], str], client: Client) -> Waiting[_Answers]:
    if not fields:
        client.raw("GET", "/version")
        return _NOTHING
    yield from ()
    by_object: dict[tuple[str, str, str, str], list[FieldOnCluster]] = {}
    for each in sorted(fields, key=str):
        by_object.setdefault((each.api_version or "v1", each.kind, each.namespace or "", each.name), []).append(each)
    found: dict[FieldOnCluster, FieldAnswer] = {}
    for reference, of_it in by_object.items():
        found.update(_answers(client, reference, of_it, digest_of))
    return found


def _answers(
    client: Client,
    reference: tuple[str, str, str, str],
    fields: Iterable[FieldOnCluster],
    digest_of: Callable[[str], str],
) -> Iterator[tuple[FieldOnCluster, FieldAnswer]]:
    api_version, kind, namespace, name = reference
    what = f"{kind} {name}"
    try:
        resource = client.resource(api_version, kind)
        what = f"{resource.plural} in the namespace {namespace}" if resource.namespaced else resource.plural
        live = client.get(resource, namespace if resource.namespaced else "", name)
    except NoKindError:
        live = None
    except DeniedError as error:
        do = f"let the account that this cluster is reached with get {what}"
        yield from ((each, FieldAnswer(problem=error.message, do=do)) for each in fields)
        return
    except ObjectError as error:
        yield from ((each, FieldAnswer(problem=error.message, do=error.hint)) for each in fields)
        return
    missing = FieldAnswer(do=f"there is no {kind} {name}: add it there")
    for each in fields:
        yield each, _answer(live, each, digest_of) if live is not None else missing


def _answer(live: Manifest, wanted: FieldOnCluster, digest_of: Callable[[str], str]) -> FieldAnswer:
    if wanted.kind == "Secret":
        return _answer_of_secret(live, wanted, digest_of)
    try:
        value = find_in(live, wanted.path)
    except FieldError as error:
        return FieldAnswer(do=error.hint)
    except PathError as error:
        return FieldAnswer(problem=str(error), do="write fieldPath: /data/KEY, say")
    size = len(msgspec.json.encode(value))
    if size > _LARGEST:
        message = f"it has {size // 1024:,} KiB, and at most {_LARGEST // 1024} are read"
        return FieldAnswer(problem=message, do="bind a smaller field, or mount the object in what the plugin installs")
    return FieldAnswer(value)


def _answer_of_secret(live: Manifest, wanted: FieldOnCluster, digest_of: Callable[[str], str]) -> FieldAnswer:
    key = key_of_secret(wanted.path)
    if key is None:
        return FieldAnswer(problem="of a Secret one key of its data is read", do="write fieldPath: /data/KEY")
    encoded = (live.get("data") or {}).get(key)
    if encoded is None:
        return FieldAnswer()
    try:
        return FieldAnswer(digest=digest_of(decode_base64(encoded)))
    except FieldError as error:
        return FieldAnswer(problem=error.message, do=error.hint)
