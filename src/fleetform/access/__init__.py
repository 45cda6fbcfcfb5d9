"""Who is asking: tokens that a server takes, and how people get one.

door.py          all kinds of tokens that a server takes, one after the other
own_token.py     the token that `serve` makes for its own user
token_file.py    tokens that somebody wrote down for programs and people
oidc.py          tokens of an OpenID Connect issuer
issuer.py        what an issuer says of itself: its addresses and keys
device_grant.py  signing in from a command line (RFC 8628)
logins.py        where a command line keeps what it got, and how it renews it
"""
