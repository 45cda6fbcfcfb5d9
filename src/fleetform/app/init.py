"""init: a small fleet to start from, that validates and explains."""

from __future__ import annotations

FILES: dict[str, str] = {
    "organization.yaml": """\
# The people and defaults of a namespace. Everything below belongs to this organization.
apiVersion: fleetform.dev/v1alpha1
kind: Organization
metadata: {name: acme, namespace: acme}
""",
    "clusters.yaml": """\
# Clusters are selected by their labels and by name.
apiVersion: fleetform.dev/v1alpha1
kind: Cluster
metadata:
  name: eu-prod-1
  namespace: acme
  labels: {region: eu, environment: prod}
spec:
  timeZone: Europe/Berlin
---
apiVersion: fleetform.dev/v1alpha1
kind: Cluster
metadata:
  name: us-dev-1
  namespace: acme
  labels: {region: us, environment: dev}
spec:
  timeZone: America/New_York
""",
    "catalog/hello/plugindefinition.yaml": """\
# What can be installed, and which options it takes.
apiVersion: fleetform.dev/v1alpha1
kind: PluginDefinition
metadata: {name: hello, namespace: acme}
spec:
  version: 1.0.0
  description: A page that greets
  source:
    manifests: {path: ./manifests}
  options:
    - {name: replicas, type: int, default: 1, minimum: 1, maximum: 9, description: How many pods}
    - {name: greeting, type: string, default: Hello, description: What the page says}
    - {name: host, type: string, required: true, description: The name it is reached by}
""",
    "catalog/hello/manifests/deployment.yaml": """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: hello}
spec:
  replicas: ${replicas}
  selector: {matchLabels: {app: hello}}
  template:
    metadata: {labels: {app: hello}}
    spec:
      containers:
        - name: hello
          image: registry.example.com/hello:1.0.0
          env:
            - {name: GREETING, value: "${greeting}"}
            - {name: HOST, value: "${host}"}
""",
    "presets/hello.yaml": """\
# One plugin on every cluster the selector matches; {} is all of the organization.
apiVersion: fleetform.dev/v1alpha1
kind: PluginPreset
metadata: {name: hello, namespace: acme}
spec:
  clusterSelector: {}
  plugin:
    pluginDefinition: {name: hello}
    optionValues:
      - name: host
        expression: "'hello.' + cluster.name + '.example.com'"
  groups:
    - name: prod
      clusterSelector:
        labelSelector: {matchLabels: {environment: prod}}
      optionValues:
        - {name: replicas, value: 3}
""",
    "overrides/eu.yaml": """\
# Overrides go above presets, on the clusters and definitions they name.
apiVersion: fleetform.dev/v1alpha1
kind: PluginOverride
metadata:
  name: eu-greeting
  namespace: acme
  annotations: {fleetform.dev/created: "2026-01-15T09:00:00Z"}
spec:
  clusterSelector:
    labelSelector: {matchLabels: {region: eu}}
  overrides:
    - {path: greeting, value: Guten Tag}
  owner: web-team
  reason: greet in the language of the region
""",
}
