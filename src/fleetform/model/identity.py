"""Who asks: a person or a program by one lasting name, with whatever else is proved of it."""

from __future__ import annotations

from msgspec import Struct


class Identity(Struct, frozen=True, rename="camel", omit_defaults=True):
    """user is the one name that counts: a login of this machine, a name in a token file, or `ISSUER#SUBJECT`.

    also are other names that are proved to be the same person's, as an address that the issuer has verified. owner is
    whoever runs the control plane.
    """

    user: str
    also: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    owner: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return (self.user, *self.also)

    @property
    def shown(self) -> str:
        """For people: the address if there is one, since a subject is often a number."""
        return self.also[0] if self.also else self.user

    @property
    def signature(self) -> str:
        """For the audit log: the lasting name, and the address as it was then."""
        return f"{self.user} <{self.also[0]}>" if self.also else self.user
