"""An OpenID Connect provider: real HTTP on this machine, real keys, the device grant, and faults on demand."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl

from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

CLIENT = "fleetform"
Answer = tuple[int, dict[str, Any]]


class Provider:
    """Runs while it is entered. polls are what the token endpoint answers before somebody agrees."""

    def __init__(self) -> None:
        self.keys: dict[str, RSAKey | ECKey] = {"first": RSAKey.generate_key(2048, {"kid": "first", "use": "sig"})}
        self.asked: Counter[str] = Counter()
        self.polls: list[Answer] = []
        self.claims: dict[str, Any] = {"sub": "248", "email": "ada@example.org", "email_verified": True}
        self.lasts, self.interval = 3600, 5
        self.refresh_tokens: set[str] = set()
        self.forms: list[dict[str, str]] = []
        self.down = False
        self._challenge = ""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.issuer = f"http://127.0.0.1:{self._server.server_port}"
        self.document: dict[str, Any] = {
            "issuer": self.issuer,
            "jwks_uri": f"{self.issuer}/keys",
            "token_endpoint": f"{self.issuer}/token",
            "device_authorization_endpoint": f"{self.issuer}/device",
            "scopes_supported": ["openid", "email", "offline_access"],
        }

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def token(self, key: str = "first", header: dict[str, Any] | None = None, **claims: Any) -> str:
        """A token as this issuer signs them; a claim that is None is left out."""
        now = int(time.time())
        made = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + self.lasts, **self.claims, **claims}
        made = {name: value for name, value in made.items() if value is not None}
        signing = self.keys[key]
        alg = "RS256" if isinstance(signing, RSAKey) else "ES256"
        return jwt.encode({"alg": alg, "kid": key, **(header or {})}, made, signing)

    def answer(self, method: str, path: str, form: dict[str, str]) -> Answer:
        self.asked[path] += 1
        if self.down:
            return 404, {}
        found = self._addresses.get((method, path))
        return found(form) if found is not None else (404, {})

    @property
    def _addresses(self) -> dict[tuple[str, str], Callable[[dict[str, str]], Answer]]:
        return {
            ("GET", "/.well-known/openid-configuration"): lambda _: (200, self.document),
            ("GET", "/keys"): lambda _: (200, {"keys": [each.as_dict(private=False) for each in self.keys.values()]}),
            ("POST", "/device"): self._begin,
            ("POST", "/token"): self._give,
        }

    def _begin(self, form: dict[str, str]) -> Answer:
        self.forms.append(form)
        if form.get("client_id") != CLIENT:
            return 401, {"error": "invalid_client"}
        assert form["code_challenge_method"] == "S256"
        self._challenge = form["code_challenge"]
        return 200, {
            "device_code": "the-device",
            "user_code": "WDJB-MJHT",
            "verification_uri": f"{self.issuer}/activate",
            "expires_in": 600,
            "interval": self.interval,
        }

    def _give(self, form: dict[str, str]) -> Answer:
        self.forms.append(form)
        if form["grant_type"] == "refresh_token":
            if form["refresh_token"] not in self.refresh_tokens:
                return 400, {"error": "invalid_grant"}
            self.refresh_tokens.remove(form["refresh_token"])
            return 200, self._granted()
        proof = urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).rstrip(b"=").decode()
        if form["device_code"] != "the-device" or proof != self._challenge:
            return 400, {"error": "invalid_grant"}
        return self.polls.pop(0) if self.polls else (200, self._granted())

    def _granted(self) -> dict[str, Any]:
        refresh = f"refresh-{len(self.forms)}"
        self.refresh_tokens.add(refresh)
        return {"id_token": self.token(), "refresh_token": refresh, "access_token": "opaque", "token_type": "Bearer"}


def _handler(provider: Provider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._reply(*provider.answer("GET", self.path, {}))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self._reply(*provider.answer("POST", self.path, dict(parse_qsl(body))))

        def _reply(self, status: int, content: dict[str, Any]) -> None:
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler
