"""Flux's objects, held to the CRDs that Flux publishes; and Fleeet's Assemblage."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tools.flux_schemas import Schemas, folder

from fleetform.dialects.flux.assemblage import AssemblageSync, assemblage, sync_tree
from fleetform.dialects.flux.delivery import FluxTarget, KubeConfig, fleeet_kubeconfig, flux_objects
from fleetform.dialects.flux.parts import FluxError, PlainSecretError
from fleetform.model.kinds.base import SecretKey
from fleetform.model.kinds.definition import (
    GitRevision,
    GitSource,
    HelmSource,
    KustomizeSource,
    ManifestsSource,
    ObjectFieldRef,
    Source,
)
from fleetform.model.kinds.preset import Binding
from fleetform.model.results.decisions import Secret
from fleetform.syntax.envsubst import is_opted_out
from fleetform.syntax.yaml_in import read_one
from fleetform.syntax.yaml_out import write_yaml
from support.expanding import expand

Manifest = dict[str, Any]

CHART = Source(helm=HelmSource("https://charts.example.com", "cert-manager", "1.14.2"))
OCI_CHART = Source(helm=HelmSource("oci://registry.example.com/charts", "cert-manager", "1.14.2"))
GIT = GitSource("https://git.example.com/apps.git", GitRevision(tag="v1.2.0"), "deploy/web")
KUSTOMIZATION = Source(kustomize=KustomizeSource(git=GIT))
SOURCES = {"chart": CHART, "oci chart": OCI_CHART, "kustomization": KUSTOMIZATION}

PULL = FluxTarget("cert-manager-eu-1", "cert-manager", "certs")
HUB = PULL._replace(namespace="acme", kubeconfig=KubeConfig("eu-1-access", "kubeconfig"))
PASSWORD = Secret(SecretKey("login", "password"), "hunter2")
PLAIN = Secret(None, "hunter2")


@pytest.fixture(scope="session")
def schemas() -> Schemas:
    return Schemas(folder())


def git(**changed: Any) -> Source:
    fields = {"url": GIT.url, "ref": GIT.ref, "path": GIT.path, **changed}
    return Source(kustomize=KustomizeSource(git=GitSource(**fields)))


def release(values: Manifest, source: Source = CHART, target: FluxTarget = PULL) -> Manifest:
    """The spec of a HelmRelease with these values."""
    spec: Manifest = flux_objects(source, values, {}, target)[1]["spec"]
    return spec


def kustomization(variables: Manifest, source: Source = KUSTOMIZATION, target: FluxTarget = PULL) -> Manifest:
    """The spec of a Kustomization with these variables."""
    spec: Manifest = flux_objects(source, {}, variables, target)[1]["spec"]
    return spec


# ---- Objects


@pytest.mark.rule("R3-5", "R3-9")
@pytest.mark.parametrize("target", [PULL, HUB], ids=["pull", "hub"])
@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_flux_takes_the_objects_of_every_source_in_every_mode(
    source: Source, target: FluxTarget, schemas: Schemas
) -> None:
    rich = target._replace(
        suspend=True, labels={"fleetform.dev/cluster": "eu-1"}, depends_on=("ingress-eu-1", "dns-eu-1"), interval="1h"
    )
    values = {"a": {"b": 1, "password": PASSWORD}, "list": [PASSWORD, {"x": None, "y": PASSWORD}]}
    for each in (target, rich):
        objects = flux_objects(source, values, {"replicas": 3, "password": PASSWORD}, each)
        for emitted in objects:
            assert list(emitted) == ["apiVersion", "kind", "metadata", "spec"]
            written = write_yaml(emitted)
            assert "&" not in written
            assert read_one(written) == emitted
            assert schemas.problems(emitted) == []


def test_a_chart_in_a_repository_is_a_helm_repository_and_a_helm_release() -> None:
    repository, helm_release = flux_objects(CHART, {"replicas": 2}, {}, PULL)
    metadata = {
        "name": "cert-manager-eu-1",
        "namespace": "flux-system",
        "labels": {"app.kubernetes.io/managed-by": "fleetform"},
        "annotations": {"kustomize.toolkit.fluxcd.io/substitute": "disabled"},
    }
    assert repository == {
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "HelmRepository",
        "metadata": metadata,
        "spec": {"interval": "10m", "url": "https://charts.example.com"},
    }
    retrying = {"name": "RetryOnFailure", "retryInterval": "2m"}
    assert helm_release == {
        "apiVersion": "helm.toolkit.fluxcd.io/v2",
        "kind": "HelmRelease",
        "metadata": metadata,
        "spec": {
            "interval": "10m",
            "timeout": "5m",
            "chart": {
                "spec": {
                    "chart": "cert-manager",
                    "version": "1.14.2",
                    "sourceRef": {"kind": "HelmRepository", "name": "cert-manager-eu-1"},
                }
            },
            "releaseName": "cert-manager",
            "targetNamespace": "certs",
            "storageNamespace": "certs",
            "install": {"createNamespace": True, "strategy": retrying},
            "upgrade": {"strategy": retrying},
            "values": {"replicas": 2},
        },
    }


def test_a_chart_in_a_registry_is_copied_as_it_is() -> None:
    source = Source(helm=HelmSource("oci://registry.example.com/charts/", "web", "1.0.0+build.7"))
    repository, helm_release = flux_objects(source, {}, {}, PULL)
    assert repository["kind"] == "OCIRepository"
    assert repository["spec"] == {
        "interval": "10m",
        "url": "oci://registry.example.com/charts/web",
        "ref": {"tag": "1.0.0_build.7"},
        "layerSelector": {
            "mediaType": "application/vnd.cncf.helm.chart.content.v1.tar+gzip",
            "operation": "copy",
        },
    }
    assert helm_release["spec"]["chartRef"] == {"kind": "OCIRepository", "name": "cert-manager-eu-1"}
    assert "chart" not in helm_release["spec"]
    assert "values" not in helm_release["spec"]


@pytest.mark.rule("R3-9", "S38")
def test_a_kustomization_in_git_is_a_git_repository_and_a_kustomization() -> None:
    target = PULL._replace(release_namespace=None, kubeconfig=fleeet_kubeconfig("eu-1"))
    repository, kustomized = flux_objects(KUSTOMIZATION, {}, {"APP_NAME": "web", "PORT": 3030}, target)
    assert repository["apiVersion"] == "source.toolkit.fluxcd.io/v1"
    assert repository["kind"] == "GitRepository"
    assert repository["spec"] == {
        "interval": "10m",
        "url": "https://git.example.com/apps.git",
        "ref": {"tag": "v1.2.0"},
    }
    assert kustomized["apiVersion"] == "kustomize.toolkit.fluxcd.io/v1"
    assert kustomized["kind"] == "Kustomization"
    assert kustomized["spec"] == {
        "interval": "10m",
        "timeout": "5m",
        "kubeConfig": {"secretRef": {"name": "eu-1-kubeconfig"}},
        "retryInterval": "2m",
        "sourceRef": {"kind": "GitRepository", "name": "cert-manager-eu-1"},
        "path": "./deploy/web",
        "prune": True,
        "wait": True,
        "postBuild": {"substitute": {"APP_NAME": "web", "PORT": "3030"}},
    }


@pytest.mark.rule("R3-5")
@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_only_the_hub_needs_a_way_into_the_cluster(source: Source) -> None:
    assert "kubeConfig" not in flux_objects(source, {}, {}, PULL)[1]["spec"]
    from_hub = flux_objects(source, {}, {}, HUB)[1]["spec"]
    assert from_hub["kubeConfig"] == {"secretRef": {"name": "eu-1-access", "key": "kubeconfig"}}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_suspending_and_waiting_for_others_is_said_of_what_installs(source: Source) -> None:
    target = PULL._replace(suspend=True, depends_on=("ingress-eu-1", "dns-eu-1"))
    spec = flux_objects(source, {}, {}, target)[1]["spec"]
    assert spec["suspend"] is True
    assert spec["dependsOn"] == [{"name": "dns-eu-1"}, {"name": "ingress-eu-1"}]
    assert not {"suspend", "dependsOn"} & flux_objects(source, {}, {}, PULL)[1]["spec"].keys()


def test_all_objects_have_the_labels_and_are_left_alone_by_substitution() -> None:
    target = PULL._replace(labels={"fleetform.dev/preset": "cert-manager", "fleetform.dev/cluster": "eu-1"})
    for source in SOURCES.values():
        for emitted in flux_objects(source, {"script": "echo ${HOME}"}, {"A": "${B}"}, target):
            labels = emitted["metadata"]["labels"]
            assert list(labels) == ["app.kubernetes.io/managed-by", "fleetform.dev/cluster", "fleetform.dev/preset"]
            assert is_opted_out(emitted)


def test_the_order_of_keys_decides_nothing() -> None:
    one = {"b": {"d": 1, "c": PASSWORD}, "a": [{"y": PASSWORD, "x": 2}]}
    other = {"a": [{"x": 2, "y": PASSWORD}], "b": {"c": PASSWORD, "d": 1}}
    assert write_yaml(release(one)) == write_yaml(release(other))
    variables = {"B": 1, "password": PASSWORD, "A": 2}
    assert write_yaml(kustomization(variables)) == write_yaml(kustomization(dict(reversed(variables.items()))))


@pytest.mark.parametrize(
    ("ref", "emitted"),
    [
        (GitRevision(tag="v1"), {"tag": "v1"}),
        (
            GitRevision(commit="132f4e719209eb10b9485302f8593fc0e680f4fc"),
            {"commit": "132f4e719209eb10b9485302f8593fc0e680f4fc"},
        ),
        (GitRevision(branch="main"), {"branch": "main"}),
    ],
)
def test_a_point_of_a_git_history(ref: GitRevision, emitted: dict[str, str], schemas: Schemas) -> None:
    repository = flux_objects(git(ref=ref), {}, {}, PULL)[0]
    assert repository["spec"]["ref"] == emitted
    assert schemas.problems(repository) == []


@pytest.mark.parametrize(
    ("path", "emitted"),
    [
        (None, "./"),
        ("", "./"),
        (".", "./"),
        ("/", "./"),
        ("./apps", "./apps"),
        ("/apps/web/", "./apps/web"),
        ("apps/../web", "./web"),
    ],
)
def test_a_path_begins_at_the_top_of_the_repository(path: str | None, emitted: str) -> None:
    assert kustomization({}, git(path=path))["path"] == emitted


# ---- Names


def test_a_name_that_is_too_long_is_cut_and_told_apart(schemas: Schemas) -> None:
    long, longer = "a" * 40 + "-" + "b" * 40, "c." * 100 + "d"
    for name in (long, longer):
        source, installed = flux_objects(CHART, {}, {}, PULL._replace(name=name, depends_on=(name + "x",)))
        cut = source["metadata"]["name"]
        assert len(cut) <= 53
        assert cut == installed["metadata"]["name"] == installed["spec"]["chart"]["spec"]["sourceRef"]["name"]
        assert installed["spec"]["dependsOn"] != [{"name": cut}]
        assert len(installed["spec"]["dependsOn"][0]["name"]) <= 53
        assert schemas.problems(source) == schemas.problems(installed) == []


@pytest.mark.parametrize(
    "text", ["a" * 64, "a" * 53 + "-." + "b" * 20, "c." * 100 + "d", "group/name", "-a", "a_", "ü" * 70]
)
def test_a_label_that_kubernetes_refuses_is_cut_and_told_apart(text: str, schemas: Schemas) -> None:
    for emitted in flux_objects(KUSTOMIZATION, {}, {}, PULL._replace(labels={"one": text, "other": text + "x"})):
        labels = emitted["metadata"]["labels"]
        assert re.fullmatch(r"[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?", labels["one"])
        assert labels["one"] != labels["other"]
        assert schemas.problems(emitted) == []


@pytest.mark.parametrize("text", ["", "a", "a" * 63, "A_b.c-9"])
def test_a_label_that_kubernetes_takes_stays_as_it_is(text: str) -> None:
    source, _ = flux_objects(KUSTOMIZATION, {}, {}, PULL._replace(labels={"one": text}))
    assert source["metadata"]["labels"]["one"] == text


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (CHART, PULL._replace(release_name="r" * 54), "53 characters"),
        (CHART, PULL._replace(release_namespace="n" * 64), "63 characters"),
        (KUSTOMIZATION, PULL._replace(release_namespace="n" * 64), "63 characters"),
    ],
)
def test_a_name_that_is_not_ours_to_cut_is_refused(source: Source, target: FluxTarget, message: str) -> None:
    with pytest.raises(FluxError, match=message) as refused:
        flux_objects(source, {}, {}, target)
    assert refused.value.hint


# ---- What Flux cannot fetch


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (Source(), "no source"),
        (Source(manifests=ManifestsSource("manifests")), "the manifests in the folder manifests"),
        (Source(kustomize=KustomizeSource(path="overlays/eu")), "the kustomization in the folder overlays/eu"),
        (Source(helm=HelmSource("charts", "web", "1.0.0")), "the chart in the folder charts/web"),
        (Source(helm=HelmSource("https://charts.example.com", "web")), "has no version"),
        (Source(helm=HelmSource("oci://registry.example.com", "web")), "has no version"),
        (git(ref=None), "has no ref"),
        (git(ref=GitRevision()), "has no ref"),
        (git(path="../other"), "leads out of the repository"),
        (git(url="file:///srv/apps.git"), "it takes addresses with https:// or ssh://"),
        (git(url="../apps"), "it takes addresses with https:// or ssh://"),
    ],
)
def test_a_source_that_flux_cannot_fetch_is_refused_with_advice(source: Source, message: str) -> None:
    with pytest.raises(FluxError, match=message) as refused:
        flux_objects(source, {}, {}, PULL)
    assert not isinstance(refused.value, PlainSecretError)
    assert refused.value.hint


@pytest.mark.parametrize(
    ("source", "place"),
    [
        (Source(helm=HelmSource("charts", "web", "1.0.0")), "a Helm repository or an OCI registry"),
        (Source(manifests=ManifestsSource("manifests")), "a git repository (source.kustomize.git)"),
        (Source(kustomize=KustomizeSource(path="overlays/eu")), "a git repository (source.kustomize.git)"),
    ],
)
def test_what_lies_in_a_folder_is_to_go_where_flux_can_fetch_it(source: Source, place: str) -> None:
    with pytest.raises(FluxError) as refused:
        flux_objects(source, {}, {}, PULL)
    assert refused.value.hint == f"put it into {place}, or do not deliver this plugin through Flux"


def test_the_short_form_of_an_ssh_address_is_refused_with_the_long_one() -> None:
    with pytest.raises(FluxError) as refused:
        flux_objects(git(url="git@git.example.com:team/apps.git"), {}, {}, PULL)
    assert refused.value.hint == "write ssh://git@git.example.com/team/apps.git"
    assert flux_objects(git(url="ssh://git@git.example.com/team/apps.git"), {}, {}, PULL)


@pytest.mark.rule("S40")
@pytest.mark.parametrize(
    "source",
    [
        Source(helm=HelmSource("https://me:hunter2@charts.example.com", "web", "1.0.0")),
        Source(helm=HelmSource("oci://hunter2@registry.example.com", "web", "1.0.0")),
        git(url="https://me:hunter2@git.example.com/apps.git"),
    ],
)
def test_an_address_with_credentials_is_a_plain_secret(source: Source) -> None:
    with pytest.raises(PlainSecretError, match="holds credentials") as refused:
        flux_objects(source, {}, {}, PULL)
    assert "hunter2" not in refused.value.message + refused.value.hint


# ---- Secrets of values

# What Flux makes of these pairs was tried out with github.com/fluxcd/pkg/chartutil v1.27.1: each gives back the values
# with the secret, as a text, in its place. With a null in a map in place of the missing key it would not.
REFERENCES: list[tuple[Manifest, Manifest, list[str]]] = [
    ({"a": PASSWORD}, {}, ["a"]),
    ({"a": {"b": 1, "c": PASSWORD}}, {"a": {"b": 1}}, ["a.c"]),
    ({"a": {"b": PASSWORD}}, {"a": {}}, ["a.b"]),
    ({"a": [PASSWORD, "b"]}, {"a": [None, "b"]}, ["a[0]"]),
    ({"a": ["b", PASSWORD]}, {"a": ["b", None]}, ["a[1]"]),
    ({"a": [{"p": PASSWORD, "x": 1}, {"y": 2}]}, {"a": [{"x": 1}, {"y": 2}]}, ["a[0].p"]),
    ({"a": [{"p": PASSWORD}, {"y": 2}]}, {"a": [{}, {"y": 2}]}, ["a[0].p"]),
    ({"a": [["u", PASSWORD], ["v"]]}, {"a": [["u", None], ["v"]]}, ["a[0][1]"]),
    (
        {"a": [PASSWORD, PASSWORD, "x"], "b": [PASSWORD]},
        {"a": [None, None, "x"], "b": [None]},
        ["a[0]", "a[1]", "b[0]"],
    ),
    ({"a.b/c": PASSWORD}, {}, [r"a\.b/c"]),
    ({"a\\b": PASSWORD}, {}, [r"a\\b"]),
    ({"0": {"1": PASSWORD}}, {"0": {}}, ["0.1"]),
    ({"a": {"b.c": {"d.e": PASSWORD}}}, {"a": {"b.c": {}}}, [r"a.b\.c.d\.e"]),
]


@pytest.mark.rule("S40", "B18")
@pytest.mark.parametrize(("values", "inline", "paths"), REFERENCES)
def test_a_secret_of_a_chart_goes_by_reference(
    values: Manifest, inline: Manifest, paths: list[str], schemas: Schemas
) -> None:
    helm_release = flux_objects(CHART, values, {}, PULL)[1]
    assert helm_release["spec"].get("values", {}) == inline
    reference = {"kind": "Secret", "name": "login", "valuesKey": "password", "literal": True}
    assert helm_release["spec"]["valuesFrom"] == [{**reference, "targetPath": path} for path in paths]
    assert schemas.problems(helm_release) == []
    assert "hunter2" not in write_yaml(helm_release)


@pytest.mark.rule("S40", "B18")
@pytest.mark.parametrize(
    ("values", "path"),
    [
        ({"password": PLAIN}, "password"),
        ({"auth": {"admin.password": PLAIN}}, r"auth.admin\.password"),
        ({"users": [{"name": "a"}, {"password": PLAIN}]}, "users[1].password"),
        ({"tokens": ["a", PLAIN]}, "tokens[1]"),
    ],
)
def test_a_plain_secret_of_a_chart_is_refused_by_its_path(values: Manifest, path: str) -> None:
    with pytest.raises(PlainSecretError, match=re.escape(f"the option {path} has a secret in plain text")) as refused:
        release(values)
    assert "valueFrom.secret" in refused.value.hint
    assert "hunter2" not in refused.value.message + refused.value.hint


@pytest.mark.parametrize(
    "values",
    [
        {"a b": PASSWORD},
        {"a": {"": PASSWORD}},
        {"": {"a": PASSWORD}},
        {"a=b": PASSWORD},
        {"ü": PASSWORD},
        {"a\n": PASSWORD},
        {"a" * 251: PASSWORD},
        {"a": Secret(SecretKey("login", "pass word"))},
    ],
)
def test_a_place_that_flux_cannot_name_is_refused(values: Manifest) -> None:
    with pytest.raises(FluxError) as refused:
        release(values)
    assert not isinstance(refused.value, PlainSecretError)


# ---- Variables


@pytest.mark.rule("S38", "R3-9")
@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("web", "web"),
        ("", ""),
        ("004", "004"),
        ("yes", "yes"),
        (3030, "3030"),
        (True, "true"),
        (False, "false"),
        (0.5, "0.5"),
        (2.0, "2"),
        (1e21, "1e+21"),
        (2**63, "9223372036854775808"),
        ("a\nb", "a\nb"),
        ("$(X) ${Y}", "$(X) ${Y}"),
    ],
)
def test_variables_are_always_texts(value: Any, text: str, schemas: Schemas) -> None:
    kustomized = flux_objects(KUSTOMIZATION, {}, {"V": value}, PULL)[1]
    assert kustomized["spec"]["postBuild"] == {"substitute": {"V": text}}
    assert schemas.problems(read_one(write_yaml(kustomized))) == []


@pytest.mark.parametrize(
    ("value", "what"), [(None, "null"), ({"a": 1}, "a map"), ([1], "a list"), ({}, "a map"), ([PLAIN], "a list")]
)
def test_a_value_without_a_text_is_no_variable(value: Any, what: str) -> None:
    with pytest.raises(FluxError, match=f"the variable ZONES is {what}") as refused:
        kustomization({"ZONES": value})
    assert refused.value.hint


@pytest.mark.parametrize("name", ["a-b", "1st", "a.b", "", "ü", "a\n"])
def test_a_name_that_flux_refuses_is_no_variable(name: str) -> None:
    with pytest.raises(FluxError, match="cannot be the name of a variable"):
        kustomization({name: "x"})


def test_without_variables_nothing_is_substituted() -> None:
    assert "postBuild" not in kustomization({})


@pytest.mark.rule("S40", "B18")
def test_a_secret_variable_comes_from_the_secret_that_has_it_as_a_key(schemas: Schemas) -> None:
    variables = {
        "password": PASSWORD,
        "TOKEN": Secret(SecretKey("api", "TOKEN"), "hunter2"),
        "user": Secret(SecretKey("login", "user")),
        "HOST": "db",
    }
    kustomized = flux_objects(KUSTOMIZATION, {}, variables, PULL)[1]
    assert kustomized["spec"]["postBuild"] == {
        "substitute": {"HOST": "db"},
        "substituteFrom": [{"kind": "Secret", "name": "api"}, {"kind": "Secret", "name": "login"}],
    }
    assert schemas.problems(kustomized) == []
    assert "hunter2" not in write_yaml(kustomized)


def test_a_secret_variable_of_another_name_than_its_key_is_refused() -> None:
    with pytest.raises(FluxError, match="DB_PASSWORD from a key of that name, not from password of login") as refused:
        kustomization({"DB_PASSWORD": PASSWORD})
    assert not isinstance(refused.value, PlainSecretError)
    assert refused.value.hint == "give the Secret login a key DB_PASSWORD, and refer to that"


def with_keys(variables: Manifest, **keys: list[str]) -> Manifest:
    """The postBuild of a Kustomization where it is known which keys Secrets have."""
    emitted = flux_objects(KUSTOMIZATION, {}, variables, PULL, lambda name: keys.get(name, []))
    found: Manifest = emitted[1]["spec"]["postBuild"]
    return found


def test_a_variable_that_two_secrets_have_is_refused() -> None:
    token = Secret(SecretKey("api", "TOKEN"))
    both = {"password": PASSWORD, "TOKEN": token}
    for keys in ({"login": ["password", "TOKEN"]}, {"api": ["TOKEN", "password"]}):
        [holder] = keys
        with pytest.raises(FluxError, match=r"is a key of .*: Flux reads both whole") as refused:
            with_keys(both, **keys)
        assert refused.value.hint == f"take it out of {holder}, or keep both in one Secret"
    names = [{"kind": "Secret", "name": name} for name in ("api", "login")]
    assert with_keys(both, login=["password", "OTHER"], api=["TOKEN", "OTHER"])["substituteFrom"] == names
    # Nothing is read of a Secret that is not named, and what the Kustomization says itself wins.
    assert with_keys({"password": PASSWORD}, login=["password", "HOST"], api=["password"])
    assert with_keys({"password": PASSWORD, "HOST": "db"}, login=["password", "HOST"])["substitute"] == {"HOST": "db"}


def test_a_secret_with_a_key_that_cannot_be_a_variable_is_refused() -> None:
    with pytest.raises(FluxError, match=r"login has a key tls\.crt") as refused:
        with_keys({"password": PASSWORD}, login=["password", "tls.crt"])
    assert refused.value.hint == "keep tls.crt in another Secret"


@pytest.mark.rule("S40", "B18")
def test_a_plain_secret_variable_is_refused_by_its_name() -> None:
    with pytest.raises(PlainSecretError, match="DB_PASSWORD") as refused:
        kustomization({"DB_PASSWORD": PLAIN})
    assert "hunter2" not in refused.value.message + refused.value.hint


# ---- Fleeet's Assemblage

DOWNSTREAM = Binding("IP", object_field_ref=ObjectFieldRef("Service", "$(APP)-lb", "/status/ip", "v1"))
SYNC = AssemblageSync(
    "web", GIT, {"PORT": 3030, "APP": "web"}, (DOWNSTREAM,), {"ADDR": "$(IP):$(PORT)", "N": 2}, "eu-1"
)


@pytest.mark.rule("S38", "R3-9")
def test_what_travels_is_an_assemblage() -> None:
    bare = AssemblageSync("api", GitSource(GIT.url, GitRevision(commit="132f4e7")), {}, (), {}, "eu-1")
    syncs = [sync_tree(SYNC), sync_tree(bare)]
    made = assemblage("eu-1", syncs, namespace="fleet", labels={"fleetform.dev/cluster": "eu-1"})
    assert list(made) == ["apiVersion", "kind", "metadata", "spec"]
    assert (made["apiVersion"], made["kind"]) == ("fleet.squaremo.dev/v1alpha1", "Assemblage")
    assert (made["metadata"]["name"], made["metadata"]["namespace"]) == ("eu-1", "fleet")
    assert made["metadata"]["labels"]["fleetform.dev/cluster"] == "eu-1"
    assert is_opted_out(made)
    assert made["spec"] == {
        "syncs": [
            {
                "name": "api",
                "source": {"git": {"url": GIT.url, "version": {"revision": "132f4e7"}}},
                "package": {"kustomize": {"path": "."}},
            },
            {
                "name": "web",
                "bindings": [
                    {"name": "APP", "value": "web"},
                    {"name": "PORT", "value": "3030"},
                    {
                        "name": "IP",
                        "objectFieldRef": {
                            "kind": "Service",
                            "name": "$(APP)-lb",
                            "fieldPath": "/status/ip",
                            "apiVersion": "v1",
                        },
                    },
                ],
                "source": {"git": {"url": GIT.url, "version": {"tag": "v1.2.0"}}},
                "package": {"kustomize": {"path": "deploy/web", "substitute": {"ADDR": "$(IP):$(PORT)", "N": "2"}}},
            },
        ]
    }
    assert made == assemblage("eu-1", syncs[::-1], namespace="fleet", labels={"fleetform.dev/cluster": "eu-1"})


@pytest.mark.rule("S38")
@pytest.mark.parametrize("data", ["$(IP)", "$$(IP)", "a$$b", "$", "costs $5", "$$$(A)", "${A}", "$(", "plain"])
def test_data_that_looks_like_a_mention_arrives_as_data(data: str) -> None:
    [binding] = sync_tree(SYNC._replace(bound={"DATA": data}, downstream=()))["bindings"]
    assert expand(binding["value"], {"IP": "10.0.0.1", "A": "a"}.__getitem__, syntax="kubernetes") == data


@pytest.mark.rule("S40", "B18")
@pytest.mark.parametrize("secret", [PLAIN, PASSWORD])
def test_no_secret_travels_in_an_assemblage(secret: Secret) -> None:
    for sync in (SYNC._replace(bound={"DB_PASSWORD": secret}), SYNC._replace(substitute={"DB_PASSWORD": secret})):
        with pytest.raises(PlainSecretError, match="DB_PASSWORD") as refused:
            sync_tree(sync)
        assert "hunter2" not in refused.value.message + refused.value.hint


def test_fleeet_knows_no_branches() -> None:
    with pytest.raises(FluxError, match="neither tag nor revision"):
        sync_tree(SYNC._replace(git=GitSource(GIT.url, GitRevision(branch="main"))))


# ---- The check itself


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        (("spec", "intervall"), "10m", "'intervall' was unexpected"),
        (("spec", "interval"), "10d", "does not match"),
        (("spec", "interval"), "10m\n", "does not match"),
        (("spec", "releaseName"), "r" * 54, "is too long"),
        (("spec", "prune"), True, "'prune' was unexpected"),
        (("spec", "chart", "spec", "chart"), 7, "is not of type 'string'"),
        (("spec", "chart", "spec", "sourceRef", "kind"), "OCIRepository", "is not one of"),
        (("spec", "chartRef"), {"kind": "OCIRepository", "name": "x"}, "either chart or chartRef must be set"),
        (("spec", "kubeConfig"), {}, "exactly one of spec.kubeConfig.configMapRef or spec.kubeConfig.secretRef"),
        (("metadata", "labels", "a"), "not/allowed", "does not match"),
        (("apiVersion",), "helm.toolkit.fluxcd.io/v3", "no CRD knows"),
    ],
)
def test_what_flux_would_refuse_or_drop_is_found(
    path: tuple[str, ...], value: Any, problem: str, schemas: Schemas
) -> None:
    helm_release = flux_objects(CHART, {"anything": {"goes": [None]}}, {}, PULL)[1]
    assert schemas.problems(helm_release) == []
    holder = helm_release
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    assert any(problem in each for each in schemas.problems(helm_release))


def test_a_variable_that_is_no_text_would_be_found(schemas: Schemas) -> None:
    kustomized = flux_objects(KUSTOMIZATION, {}, {"PORT": 3030}, PULL)[1]
    kustomized["spec"]["postBuild"]["substitute"]["PORT"] = 3030
    assert schemas.problems(kustomized) == ["$.spec.postBuild.substitute.PORT: 3030 is not of type 'string'"]
    del kustomized["spec"]["prune"]
    assert "$.spec: 'prune' is a required property" in schemas.problems(kustomized)
