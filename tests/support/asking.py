"""Replicas that answer an API server, and a management cluster that asks one of them."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from fleetform.app.fleet import Fleet
from fleetform.operator.admission.certificates import OwnCertificates
from fleetform.operator.admission.manifests import Installed, Manifest, policies, webhook_configuration
from fleetform.operator.admission.reviews import Answer, Request
from fleetform.operator.admission.serving import Admission, AdmissionServer
from fleetform.outside.listening import Listening
from support.admission import OPERATOR
from support.fleets import fleet_with, override
from support.management import Management

PATIENCE = 30.0
GENERATED = """
apiVersion: fleetform.dev/v1alpha1
kind: Plugin
metadata: {name: web-eu-1, namespace: acme, labels: {fleetform.dev/preset: web}}
spec: {presetRef: {name: web}, clusterName: eu-1, pluginDefinition: {name: web, version: 1.0.0}}
"""
BROKEN = override("broken", "[{path: replicas, value: 1}, {path: replicas, value: 2}]")


class Replica:
    """One replica of the operator, as far as it answers API servers. now is what it takes for the time."""

    def __init__(self, management: Management, folder: Path, listening: Listening, installed: Installed) -> None:
        self.fleet: Callable[[], Fleet | None] = fleet_with
        self.asked: list[Request] = []
        self.now = datetime.now(UTC)
        self.port = listening.socket.getsockname()[1]
        self.keys = OwnCertificates(
            management.client.access, installed.namespace, installed.hosts, folder, lambda: self.now
        )
        self._listening = listening
        self._server: AdmissionServer | None = None
        self._admission = _Recording(self)

    def serve(self) -> None:
        self.keys.look()
        self._server = AdmissionServer(self._admission, self._listening, self.keys.certificate, look_every=0.02)

    def close(self) -> None:
        self.keys.close()
        if self._server is not None:
            self._server.close()


class _Recording(Admission):
    def __init__(self, replica: Replica) -> None:
        super().__init__(lambda: replica.fleet(), OPERATOR, patience=0.1)
        self._replica = replica

    async def answer(self, request: Request) -> Answer:
        self._replica.asked.append(request)
        return await super().answer(request)


class Asking:
    """The cluster with its endpoint."""

    def __init__(self, management: Management, replica: Replica, installed: Installed) -> None:
        self.management, self.replica, self.installed = management, replica, installed
        self.client = management.client

    def give(self, fleet: Fleet | None) -> None:
        """The fleet that it answers from."""
        self.replica.fleet = lambda: fleet

    def kubectl(self, *arguments: str, given: str = "", user: str = "alice") -> subprocess.CompletedProcess[str]:
        """As somebody who may do everything but what admission denies."""
        return self.management.kubectl(*arguments, "--as", user, "--as-group", "system:masters", given=given)

    def apply(self, text: str, *more: str, user: str = "alice") -> subprocess.CompletedProcess[str]:
        return self.kubectl("apply", "-f", "-", *more, given=text, user=user)

    def written_by_operator(self, text: str) -> None:
        done = self.apply(text, "--server-side", "--field-manager", "fleetform", user=OPERATOR)
        assert done.returncode == 0, done.stderr

    def install(self) -> None:
        for each in (webhook_configuration(self.installed), *policies(self.installed)):
            self.client.apply(each)

    def wait_until_asked(self) -> None:
        """An API server learns of configurations a moment after they are stored."""
        until(lambda: "denied the request" in self.apply(BROKEN, "--dry-run=server").stderr)
        edited = GENERATED.replace("1.0.0", "0.9.0")
        until(lambda: "ValidatingAdmissionPolicy" in self.apply(edited, "--dry-run=server").stderr)

    def configuration(self) -> Manifest:
        found = self.client.get(
            self.client.resource("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"), "", "fleetform"
        )
        assert found is not None
        return found


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it never came about"
        time.sleep(0.05)
