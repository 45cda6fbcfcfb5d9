"""The feed that update bots read."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from fleetform.model.answers.base import AnswerRecord


class FeedRelease(AnswerRecord, frozen=True, kw_only=True):
    """A version that may be used. What is not known is left out: a bot that reads null for a time takes it for one."""

    version: str
    release_timestamp: str | UnsetType = UNSET
    changelog_url: str | UnsetType = UNSET


class Feed(AnswerRecord, frozen=True, kw_only=True):
    """The versions of one definition, the newest last."""

    releases: list[FeedRelease]
