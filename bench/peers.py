"""The workload on which Karmada and KubeFleet were timed: 10,000 objects, 500 label-selected overrides.

1,000 clusters with 10 objects each. Every override adds one annotation to the objects of its labels' clusters; 8.3 of
them meet on an object. The object is a Deployment of 4.7 kB with three containers.
"""

from __future__ import annotations

from typing import Any

from bench.fleets import ENVIRONMENTS, NOW, REGIONS, made
from fleetform.model.kinds.base import ClusterSelector, OptionValue
from fleetform.model.kinds.definition import Option, PluginDefinitionSpec
from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.kinds.preset import (
    ClusterOptionOverride,
    DefinitionRef,
    OverrideItem,
    PluginOverrideSpec,
    PluginPresetSpec,
    PluginTemplate,
)
from fleetform.model.objects import Object
from fleetform.model.snapshot import Snapshot
from fleetform.syntax.times import parse_time

CLUSTERS, OBJECTS, OVERRIDES = 1_000, 10, 500


def make_peers_fleet(own_names: bool) -> Snapshot:
    """own_names gives every object a name of its own, so that no two of the 10,000 are alike."""
    definition = PluginDefinitionSpec("1.0.0", options=[Option("object", "map")])
    web = made("PluginDefinition", "web", definition)
    clusters = [_cluster(number) for number in range(CLUSTERS)]
    presets = [_preset(number, own_names) for number in range(OBJECTS)]
    overrides = [_override(number) for number in range(OVERRIDES)]
    return Snapshot(
        NOW,
        clusters={each.ref: each for each in clusters},
        definitions={(web.ref, "1.0.0"): web},
        presets={each.ref: each for each in presets},
        overrides={each.ref: each for each in overrides},
    )


def _labels(number: int) -> dict[str, str]:
    return {"env": ENVIRONMENTS[number % 3], "region": f"r{number % REGIONS}"}


def _cluster(number: int) -> Object[ClusterSpec]:
    return made("Cluster", f"c{number}", ClusterSpec(), {**_labels(number), "tier": str(number % 4)})


def _preset(number: int, own_names: bool) -> Object[PluginPresetSpec]:
    name = f"web-{number}"
    template = PluginTemplate(
        DefinitionRef("web"), release_name=name, option_values=[OptionValue("object", value=deployment(name))]
    )
    blocks = [
        ClusterOptionOverride(
            f"c{cluster}", [OptionValue("object.metadata.name", value=f"web-{number * CLUSTERS + cluster}")]
        )
        for cluster in range(CLUSTERS if own_names else 0)
    ]
    spec = PluginPresetSpec(plugin=template, cluster_selector=ClusterSelector(), cluster_option_overrides=blocks)
    return made("PluginPreset", name, spec)


def _override(number: int) -> Object[PluginOverrideSpec]:
    item = OverrideItem(f"/object/metadata/annotations/example.com~1policy-{number:03}", value="yes")
    spec = PluginOverrideSpec([item], cluster_selector=ClusterSelector(match_labels=_labels(number)))
    return made("PluginOverride", f"policy-{number:03}", spec, created=parse_time("2026-01-01"))


def deployment(name: str) -> dict[str, Any]:
    labels = {f"app.kubernetes.io/l{number}": f"v{number}" for number in range(6)}
    notes = {
        f"example.com/note-{number}": f"some annotation text number {number} that is long enough" for number in range(6)
    }
    first = {"app.kubernetes.io/l0": "v0"}
    containers = [_container(each, number) for number, each in enumerate(("web", "sidecar", "metrics"))]
    pod = {
        "serviceAccountName": "web",
        "containers": containers,
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "volumes": [{"name": "config", "configMap": {"name": "web"}}, {"name": "tmp", "emptyDir": {}}],
        "terminationGracePeriodSeconds": 30,
    }
    spec = {
        "replicas": 3,
        "revisionHistoryLimit": 5,
        "selector": {"matchLabels": first},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 0}},
        "template": {"metadata": {"labels": first}, "spec": pod},
    }
    metadata = {"name": name, "namespace": "team-a", "labels": labels, "annotations": notes}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def _container(name: str, number: int) -> dict[str, Any]:
    variables: list[dict[str, Any]] = [{"name": f"VAR_{each}", "value": f"value-{each}-of-{name}"} for each in range(8)]
    variables.append({"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}})
    return {
        "name": name,
        "image": f"registry.example.com/team/{name}:1.2.{number}",
        "imagePullPolicy": "IfNotPresent",
        "args": [f"--port=80{number}", "--log-format=json", "--feature-gates=A=true,B=false", "--region=eu-de-1"],
        "ports": [{"name": "http", "containerPort": 8080 + number, "protocol": "TCP"}],
        "env": variables,
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
        "livenessProbe": {
            "httpGet": {"path": "/healthz", "port": "http"},
            "initialDelaySeconds": 10,
            "periodSeconds": 15,
        },
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": "http"}, "periodSeconds": 5},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "config", "mountPath": "/etc/config"}, {"name": "tmp", "mountPath": "/tmp"}],
    }
