"""Configs as answers bear them: who names them, and as Open Cluster Management reports them."""

from __future__ import annotations

from msgspec import UNSET, UnsetType, field

from fleetform.model.answers.base import AnswerRecord, ObjectReference
from fleetform.model.results.configs import HiddenReason


class NamedConfig(AnswerRecord, frozen=True, kw_only=True):
    """A config of a plugin: which object it is, and who names it in which of the three places.

    specHash is empty if there is no such object.
    """

    group: str
    resource: str
    namespace: str
    name: str
    spec_hash: str
    place: int
    index: int
    from_: ObjectReference = field(name="from")
    part: str | UnsetType = UNSET


class HiddenNamedConfig(NamedConfig, frozen=True, kw_only=True):
    """A config that has no effect, and why."""

    reason: HiddenReason


class DesiredConfig(AnswerRecord, frozen=True, kw_only=True):
    """The config that an add-on should have, by name and content."""

    namespace: str | UnsetType = UNSET
    name: str
    spec_hash: str


class ConfigReferenceStatus(AnswerRecord, frozen=True, kw_only=True):
    """One entry of status.configReferences, as Open Cluster Management has them."""

    group: str
    resource: str
    namespace: str | UnsetType = UNSET
    name: str
    last_observed_generation: int
    desired_config: DesiredConfig
