"""Certificates that replicas make and renew themselves."""

from __future__ import annotations

import socket
import ssl
from base64 import b64decode
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from fleetform.operator.admission.certificates import CA_LASTS, LEAF_LASTS, SEEN_AFTER, Keys, due, keys_in
from fleetform.outside.listening import listen
from support.asking import Asking, Replica, until
from support.fleets import override

HOSTS = ("fleetform-admission.fleetform-system.svc",)
START = datetime(2026, 1, 1, tzinfo=UTC)
DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)


def serial(pem: bytes) -> int:
    return x509.load_pem_x509_certificate(pem).serial_number


def issuers(pem: bytes) -> list[x509.Name]:
    return [each.subject for each in x509.load_pem_x509_certificates(pem)]


def first() -> Keys:
    made = due(None, HOSTS, START, published=False)
    assert made is not None
    return made


# ---- What is due, by the time


def test_a_leaf_is_renewed_after_two_thirds_of_its_time_by_the_same_ca() -> None:
    keys = first()
    assert due(keys, HOSTS, START + LEAF_LASTS * 0.6, published=True) is None
    renewed = due(keys, HOSTS, START + LEAF_LASTS * 0.7, published=True)
    assert renewed is not None
    assert renewed.ca == keys.ca
    assert serial(renewed.leaf) != serial(keys.leaf)


def test_a_new_ca_stands_beside_the_old_one_before_it_signs() -> None:
    at = START + CA_LASTS * 0.7
    keys = due(first()._replace(), HOSTS, at, published=True)
    assert keys is not None
    assert len(issuers(keys.bundle)) == 2
    assert keys.leaf == keys_in(keys.data()).leaf  # type: ignore[union-attr]
    assert due(keys, HOSTS, at + SEEN_AFTER - MINUTE, published=True) is None
    assert due(keys, HOSTS, at + SEEN_AFTER, published=False) is None
    signed = due(keys, HOSTS, at + SEEN_AFTER, published=True)
    assert signed is not None
    assert x509.load_pem_x509_certificate(signed.leaf).issuer == issuers(signed.ca)[0]
    assert signed.before == keys.before


def test_the_old_ca_leaves_when_nothing_that_it_signed_can_be_served_any_more() -> None:
    at = START + CA_LASTS * 0.7
    keys = due(first(), HOSTS, at, published=True)
    signed = due(keys, HOSTS, at + SEEN_AFTER, published=True)
    assert signed is not None
    while (renewed := due(signed, HOSTS, at + LEAF_LASTS - MINUTE, published=True)) is not None:
        signed = renewed
    assert signed.before
    alone = due(signed, HOSTS, at + LEAF_LASTS, published=True)
    assert alone is not None
    assert issuers(alone.bundle) == issuers(signed.ca)


def test_other_names_need_another_leaf_and_what_cannot_be_read_is_made_anew() -> None:
    keys = first()
    moved = due(keys, ("elsewhere.svc",), START + DAY, published=True)
    assert moved is not None
    assert moved.ca == keys.ca
    assert keys_in({"ca.crt": "!", "ca.key": "", "tls.crt": "", "tls.key": ""}) is None
    assert keys_in({}) is None
    assert keys_in(keys.data()) == keys


# ---- Two replicas on a real server


def trusted(asking: Asking) -> bytes:
    bundles = {each["clientConfig"]["caBundle"] for each in asking.configuration()["webhooks"]}
    (bundle,) = bundles
    return b64decode(bundle)


def served_by(replica: Replica, bundle: bytes) -> int:
    """The serial number of what a replica serves, after it was verified by what the API server trusts."""
    context = ssl.create_default_context(cadata=bundle.decode())
    with (
        socket.create_connection(("127.0.0.1", replica.port), timeout=10) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as secured,
    ):
        found = secured.getpeercert(binary_form=True)
    assert found is not None
    return x509.load_der_x509_certificate(found).serial_number


@pytest.fixture
def second(asking: Asking, tmp_path: Path) -> Replica:
    return Replica(asking.management, tmp_path, listen("127.0.0.1:0", secure=True), asking.installed)


def test_two_replicas_change_their_ca_while_the_api_server_asks(asking: Asking, second: Replica) -> None:
    replicas, real = (asking.replica, second), datetime.now(UTC)

    def look(*which: Replica, at: datetime) -> None:
        for each in which:
            each.now = at
            each.keys.look()

    def alike() -> bool:
        with suppress(ssl.SSLError):
            return served_by(asking.replica, trusted(asking)) == served_by(second, trusted(asking))
        return False

    def answers() -> bool:
        return asking.apply(override("fine", "[{path: host, value: b}]"), "--dry-run=server").returncode == 0

    def start_anew(*times: datetime) -> None:
        asking.client.delete(asking.client.resource("v1", "Secret"), "fleetform-system", "fleetform-admission")
        for each in times:
            look(*replicas, at=each)

    # A CA that is old by now, with a leaf that is not.
    start_anew(real - CA_LASTS * 2 / 3 - DAY, real - 2 * DAY)
    second.serve()
    try:
        until(alike)
        until(answers)
        old, known = served_by(second, trusted(asking)), len(issuers(trusted(asking)))
        # The new CA is told first, and neither replica serves anything else yet.
        look(*replicas, at=real - SEEN_AFTER)
        assert len(issuers(trusted(asking))) == known + 1
        assert {served_by(each, trusted(asking)) for each in replicas} == {old}
        assert answers()
        # One replica serves what it signed, the other what was before: the API server trusts both.
        look(asking.replica, at=real)
        until(lambda: served_by(asking.replica, trusted(asking)) != old)
        assert served_by(second, trusted(asking)) == old
        assert answers()
        look(second, at=real)
        until(alike)
        look(*replicas, at=real + LEAF_LASTS)
        assert len(issuers(trusted(asking))) == 1
    finally:
        start_anew(real)
        until(answers)
        second.close()
