"""All kinds of tokens that a server takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fleetform.ports.access import NotKnownError, Refused, SignedIn, SignInSettings, Tokens


class Door:
    """Lets in who has a token that one of several kinds knows. told gets why one was not good.

    sign_in says where people get one, if they can.
    """

    def __init__(
        self, kinds: Sequence[Tokens], told: Callable[[str], None], sign_in: SignInSettings | None = None
    ) -> None:
        self._kinds, self._told, self.sign_in = kinds, told, sign_in

    def identify(self, token: str) -> SignedIn | Refused:
        for kind in self._kinds:
            try:
                found = kind.identify(token)
            except NotKnownError as error:
                self._told(str(error))
                return Refused(str(error))
            if found is not None:
                return found
        return Refused("nobody knows the token")
