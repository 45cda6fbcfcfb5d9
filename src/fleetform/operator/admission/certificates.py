"""The certificate of the admission endpoint: made, renewed and told to the API server by the replicas themselves.

A Secret of the operator's namespace holds a CA with its key and a leaf with its key, for all replicas. Whichever comes
first does what is due; the others find it done, as each write is of the version that was read. Nothing is served that
an API server may not know: a new CA is first added to the caBundle, beside the old one, and signs only after API
servers had time to see it; the old one leaves the bundle when all that it signed has expired, so that no replica can
still serve it.
"""

from __future__ import annotations

import os
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any, NamedTuple

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from fleetform.operator.admission.manifests import NAME
from fleetform.outside.certificates import Certificate
from fleetform.outside.kubernetes.access import Access
from fleetform.outside.kubernetes.client import Client
from fleetform.outside.kubernetes.errors import ConflictError
from fleetform.outside.kubernetes.resources import Resource

SECRET = "fleetform-admission"
_MANAGER = "fleetform-certificates"
CA_LASTS, LEAF_LASTS = timedelta(days=365), timedelta(days=30)
# As other clocks may be behind.
_EARLIER = timedelta(minutes=10)
# API servers see a caBundle within seconds. Nobody is in a hurry to use a new CA.
SEEN_AFTER = timedelta(minutes=10)
_SECRETS = Resource("", "v1", "secrets", "Secret")
_CONFIGURATIONS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)
_FILES = ("tls.crt", "tls.key")


class Keys(NamedTuple):
    """A CA and a leaf, as PEM. before is the CA before this one, as long as something it signed may be served."""

    ca: bytes
    ca_key: bytes
    leaf: bytes
    leaf_key: bytes
    before: bytes = b""

    @property
    def bundle(self) -> bytes:
        """What API servers must trust."""
        return self.ca + self.before

    def data(self) -> dict[str, str]:
        """As a Secret of type kubernetes.io/tls holds it."""
        named = {
            "ca.crt": self.bundle,
            "ca.key": self.ca_key,
            "tls.crt": self.leaf,
            "tls.key": self.leaf_key,
        }
        return {name: b64encode(content).decode() for name, content in named.items()}


def keys_in(data: dict[str, str]) -> Keys | None:
    """The keys in a Secret; None if they are incomplete or cannot be read, and so must be made anew."""
    try:
        found = {name: b64decode(data[name]) for name in ("ca.crt", "ca.key", *_FILES)}
        ca, *before = x509.load_pem_x509_certificates(found["ca.crt"])
        for name in ("ca.key", "tls.key"):
            load_pem_private_key(found[name], None)
        x509.load_pem_x509_certificate(found["tls.crt"])
    except (KeyError, TypeError, ValueError):
        return None
    return Keys(_pem(ca), found["ca.key"], found["tls.crt"], found["tls.key"], b"".join(map(_pem, before)))


def due(keys: Keys | None, hosts: Sequence[str], now: datetime, published: bool) -> Keys | None:
    """The keys with the next step that is due; None if nothing is. published: API servers were told of this bundle."""
    if keys is None or _expires(keys.ca) <= now:
        ca, ca_key = _make_ca(now)
        return Keys(ca, ca_key, *_make_leaf(ca, ca_key, hosts, now))
    if not keys.before and _is_old(keys.ca, now):
        ca, ca_key = _make_ca(now)
        return keys._replace(ca=ca, ca_key=ca_key, before=keys.ca)
    made = _begins(keys.ca) + _EARLIER
    signs = _is_by(keys.leaf, keys.ca)
    if signs and keys.before and now >= made + LEAF_LASTS:
        # Whatever the CA before has signed was made before this one, and has expired.
        return keys._replace(before=b"")
    may_begin = not signs and published and now >= made + SEEN_AFTER
    if may_begin or (signs and (_is_old(keys.leaf, now) or not _is_for(keys.leaf, hosts))):
        leaf, leaf_key = _make_leaf(keys.ca, keys.ca_key, hosts, now)
        return keys._replace(leaf=leaf, leaf_key=leaf_key)
    return None


def certificate_in(folder: Path) -> Certificate:
    """A certificate under the names that Secrets of type kubernetes.io/tls have."""
    return Certificate(*(str(folder / name) for name in _FILES))


class OwnCertificates:
    """Looks after the Secret, the caBundle and the files of one replica, whenever `look` is called: once a minute."""

    def __init__(
        self, access: Access, namespace: str, hosts: Sequence[str], folder: Path, now: Callable[[], datetime]
    ) -> None:
        # A manager of its own: the caBundle is all that it applies, and who applies the rest may be Fleetform, too.
        self._client = Client(access, _MANAGER)
        self._namespace, self._hosts, self._folder, self._now = namespace, hosts, folder, now
        self.certificate = certificate_in(folder)

    def close(self) -> None:
        self._client.close()

    def look(self) -> None:
        """Does what is due. Errors of the API server are raised: until the next look everything stays as it is."""
        keys = self._stored()
        self._publish(keys.bundle)
        self._write_files(keys)

    def _stored(self) -> Keys:
        """The keys that all replicas share, after what is due was done by one of them."""
        while True:
            secret = self._client.get(_SECRETS, self._namespace, SECRET)
            keys = keys_in(secret.get("data") or {}) if secret is not None else None
            known = set(self._webhooks().values())
            following = due(keys, self._hosts, self._now(), keys is not None and known == {keys.bundle})
            if following is None:
                assert keys is not None
                return keys
            if keys is None:
                # The Secret is lost, and other replicas may still serve what stood in it.
                following = following._replace(before=_readable(*known))
            # Somebody else who was first has done the same; then what they stored counts.
            with suppress(ConflictError):
                self._store(secret, following)

    def _store(self, secret: dict[str, Any] | None, keys: Keys) -> None:
        if secret is not None:
            self._client.replace({**secret, "data": keys.data()})
            return
        metadata = {"name": SECRET, "namespace": self._namespace, "labels": {"app.kubernetes.io/name": NAME}}
        self._client.create(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": metadata,
                "type": "kubernetes.io/tls",
                "data": keys.data(),
            }
        )

    # ---- What API servers trust

    def _webhooks(self) -> dict[str, bytes]:
        """The caBundle of each webhook, by name."""
        found = self._client.get(_CONFIGURATIONS, "", NAME) or {}
        return {
            each["name"]: b64decode(each["clientConfig"].get("caBundle") or "") for each in found.get("webhooks") or ()
        }

    def _publish(self, bundle: bytes) -> None:
        """Our own field and no other: whoever applies the configuration leaves it alone, as its manifest has none."""
        known = self._webhooks()
        if not known or all(each == bundle for each in known.values()):
            return
        encoded = b64encode(bundle).decode()
        self._client.apply(
            {
                "apiVersion": _CONFIGURATIONS.api_version,
                "kind": _CONFIGURATIONS.kind,
                "metadata": {"name": NAME},
                "webhooks": [{"name": name, "clientConfig": {"caBundle": encoded}} for name in known],
            },
            force=True,
        )

    # ---- What this replica serves

    def _write_files(self, keys: Keys) -> None:
        for name, content in zip(_FILES, (keys.leaf, keys.leaf_key), strict=True):
            path = self._folder / name
            if path.exists() and path.read_bytes() == content:
                continue
            beside = path.with_suffix(".new")
            with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(content)
            os.replace(beside, path)


# ---- Certificates


def _make_ca(now: datetime) -> tuple[bytes, bytes]:
    key = ec.generate_private_key(ec.SECP256R1())
    # Two CAs of one name would be taken for one another: each has a name of its own.
    name = _name(f"fleetform admission {now:%Y-%m-%d %H:%M:%S}")
    usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
    made = (
        _builder(name, name, key, now, CA_LASTS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .sign(key, hashes.SHA256())
    )
    return _pem(made), _private(key)


def _make_leaf(ca: bytes, ca_key: bytes, hosts: Sequence[str], now: datetime) -> tuple[bytes, bytes]:
    key, issuer = ec.generate_private_key(ec.SECP256R1()), x509.load_pem_x509_certificate(ca)
    signing = load_pem_private_key(ca_key, None)
    assert isinstance(signing, ec.EllipticCurvePrivateKey)
    made = (
        _builder(_name(hosts[0]), issuer.subject, key, now, LEAF_LASTS)
        .add_extension(x509.SubjectAlternativeName([_host(each) for each in hosts]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(signing, hashes.SHA256())
    )
    return _pem(made), _private(key)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, now: datetime, lasts: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + lasts)
    )


def _name(text: str) -> x509.Name:
    # A common name has at most 64 characters; who is meant stands in the alternative names.
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text[:64])])


def _host(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.PEM)


def _private(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _readable(*bundles: bytes) -> bytes:
    """The certificates of bundles, each once."""
    found: dict[bytes, None] = {}
    for each in bundles:
        with suppress(ValueError):
            found |= dict.fromkeys(map(_pem, x509.load_pem_x509_certificates(each)))
    return b"".join(found)


def _begins(certificate: bytes) -> datetime:
    return x509.load_pem_x509_certificate(certificate).not_valid_before_utc


def _expires(certificate: bytes) -> datetime:
    return x509.load_pem_x509_certificate(certificate).not_valid_after_utc


def _is_old(certificate: bytes, now: datetime) -> bool:
    """Whether two thirds of its time are over."""
    begins, ends = _begins(certificate), _expires(certificate)
    return now >= begins + (ends - begins) * 2 / 3


def _is_by(leaf: bytes, ca: bytes) -> bool:
    try:
        x509.load_pem_x509_certificate(leaf).verify_directly_issued_by(x509.load_pem_x509_certificate(ca))
    except (InvalidSignature, TypeError, ValueError):
        return False
    return True


def _is_for(leaf: bytes, hosts: Sequence[str]) -> bool:
    try:
        extension = x509.load_pem_x509_certificate(leaf).extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return False
    return set(extension.value) >= {_host(each) for each in hosts}
