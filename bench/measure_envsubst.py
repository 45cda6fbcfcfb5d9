"""Substitution as Flux does it, beside what Flux's own code takes for the same documents.

Its figure was measured on 2 cores of a machine whose calibration loop is not known; the ratio is what counts.
"""

from __future__ import annotations

from bench.calibrate import best_of, calibrate
from bench.table import Row, at_most, plainly, print_table
from fleetform.syntax.envsubst import Only, substitute

FLUX_MICROSECONDS = 15.668
DOCUMENTS = 10_000
DOCUMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: ${APP_NAME}
  namespace: ${NAMESPACE:=default}
  labels:
    app.kubernetes.io/name: ${APP_NAME}
    app.kubernetes.io/version: ${VERSION}
    fleet/cluster: ${CLUSTER}
spec:
  replicas: ${REPLICAS:-2}
  selector:
    matchLabels:
      app.kubernetes.io/name: web
  template:
    metadata:
      labels:
        app.kubernetes.io/name: web
    spec:
      containers:
        - name: web
          image: registry.example.com/${APP_NAME}:${VERSION}
          args:
            - --port=8080
            - --log-format=json
            - --region=${REGION}
          ports:
            - name: http
              containerPort: 8080
          env:
            - name: POD_NAME
              valueFrom:
                fieldRef:
                  fieldPath: metadata.name
            - name: NOT_OURS
              value: $${KEPT}
          resources:
            requests:
              cpu: 100m
              memory: 128Mi
            limits:
              memory: 256Mi
"""
# Every other operator; nothing of it is on the short way.
OPERATORS = "a: ${APP_NAME^^}\nb: ${VERSION%.*}\nc: ${CLUSTER/cluster/c}\nd: ${REGION:0:2}\ne: ${#APP_NAME}\n"
TITLE = f"Substitution: {DOCUMENTS:,} documents of 42 lines, 6 variables in 9 places"


def rows() -> list[Row]:
    loop = calibrate()
    every, declared = _microseconds(DOCUMENT, "All"), _microseconds(DOCUMENT, "Declared")
    return [
        plainly("Flux's envsubst 1.8, its own code", FLUX_MICROSECONDS, "µs a document"),
        plainly("Fleetform, every name", every, "µs a document", loop),
        at_most("  of Flux's time", every / FLUX_MICROSECONDS, 2.5, "×"),
        plainly("Fleetform, declared names only", declared, "µs a document", loop),
        at_most("  of Flux's time", declared / FLUX_MICROSECONDS, 2.5, "×"),
        plainly("and 5 mentions with operators in 5 lines", _microseconds(OPERATORS, "All"), "µs", loop),
    ]


def _microseconds(text: str, only: Only) -> float:
    return best_of(5, lambda: _substitute_all(text, only)) / DOCUMENTS * 1e6


def _substitute_all(text: str, only: Only) -> int:
    return sum(len(substitute(text, _variables(number), strict=True, only=only)) for number in range(DOCUMENTS))


def _variables(number: int) -> dict[str, str]:
    """Fresh for each document, as the peer's were."""
    return {
        "APP_NAME": f"web-{number}",
        "NAMESPACE": "team-a",
        "VERSION": "1.2.3",
        "CLUSTER": "cluster-17",
        "REPLICAS": "3",
        "REGION": "eu-1",
    }


if __name__ == "__main__":
    print_table(TITLE, rows())
