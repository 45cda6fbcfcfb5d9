"""What can be installed: definitions, their revisions, catalogs."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import msgspec

from fleetform.model.kinds.base import Choices, Digest, Duration, Name, NameRef, Record, SecretRef, Text, Time, doc

OptionType = Literal["string", "bool", "int", "list", "map", "secret", "any"]
ConfigMode = Literal["OverrideByGVK", "Merge", "Override"]


class GitRevision(Record, frozen=True):
    """A point of a git history: one of its fields."""

    tag: Annotated[str | None, doc("A tag.")] = None
    commit: Annotated[str | None, doc("A commit.")] = None
    branch: Annotated[str | None, doc("A branch.")] = None


class GitSource(Record, frozen=True):
    """A folder of a git repository."""

    url: Annotated[str, doc("The repository.")]
    ref: Annotated[GitRevision | None, doc("Which state of it.")] = None
    path: Annotated[str | None, doc("The folder inside it.")] = None


class HelmSource(Record, frozen=True):
    """A Helm chart."""

    repository: Annotated[str, doc("https://…, oci://… or a folder relative to this file.", min_length=1)]
    chart: Annotated[str, doc("The chart's name.", min_length=1)]
    version: Annotated[str | None, doc("The chart's version.")] = None


class KustomizeSource(Record, frozen=True):
    """A kustomization: one of path and git."""

    path: Annotated[str | None, doc("A folder relative to this file.")] = None
    git: Annotated[GitSource | None, doc("A folder of a git repository.")] = None


class ManifestsSource(Record, frozen=True):
    """Plain manifests."""

    path: Annotated[str, doc("A folder relative to this file.")]


class Source(Record, frozen=True):
    """What is rendered: exactly one of its fields."""

    helm: Annotated[HelmSource | None, doc("A Helm chart.")] = None
    kustomize: Annotated[KustomizeSource | None, doc("A kustomization.")] = None
    manifests: Annotated[ManifestsSource | None, doc("Plain manifests.")] = None


class Deprecated(Record, frozen=True):
    """A deprecated option."""

    replaced_by: Annotated[str | None, doc("The option to use instead.")] = None


class Option(Record, frozen=True):
    """Something a user may set; every rule it states is enforced on every layer."""

    # Other systems take 2.5 for an int option.
    takes_fractions: ClassVar[bool] = False

    name: Annotated[str, doc("Its name; dots and indexes make the tree the renderer gets.", min_length=1)]
    type: Annotated[OptionType, doc("What its value is; any, if its author cannot say.")]
    default: Annotated[Any, doc("Its value if no layer sets it.")] = msgspec.UNSET
    required: Annotated[bool, doc("A value must come from somewhere.")] = False
    description: Annotated[str | None, doc("For people.")] = None
    display_name: Annotated[str | None, doc("For people.")] = None
    regex: Annotated[str | None, doc("Text values must match it.")] = None
    enum: Annotated[Choices | None, doc("The only values allowed.")] = None
    minimum: Annotated[int | float | None, doc("The least number allowed.")] = None
    maximum: Annotated[int | float | None, doc("The greatest number allowed.")] = None
    deprecated: Annotated[Deprecated | None, doc("It is deprecated.")] = None


class ObjectFieldRef(Record, frozen=True):
    """A field of an object; every part may refer to variables."""

    kind: Annotated[str, doc("The object's kind.")]
    name: Annotated[str, doc("The object's name.")]
    field_path: Annotated[str, doc("The field, as a JSON pointer or a dotted path.")]
    api_version: Annotated[str | None, doc("Its apiVersion; core kinds need none.")] = None
    namespace: Annotated[str | None, doc("Its namespace.")] = None


class Output(Record, frozen=True):
    """A value that other plugins may bind to: one of value and objectFieldRef."""

    name: Annotated[str, doc("The output's name.", min_length=1)]
    value: Annotated[Any, doc("A value; it may refer to variables.")] = msgspec.UNSET
    object_field_ref: Annotated[ObjectFieldRef | None, doc("A field of an object.")] = None


class ObjectName(Record, frozen=True):
    """An object by namespace and name."""

    name: Annotated[Name, doc("Its name.")]
    namespace: Annotated[Name | None, doc("Its namespace.")] = None


class ConfigValues(Record, frozen=True):
    """How a config object becomes option values."""

    from_: Annotated[str, doc("Where in the object, as a JSON pointer.")] = msgspec.field(name="from", default="/spec")
    to: Annotated[str | None, doc("Where in the values.")] = None
    use: Annotated[Literal["Last", "All", "None"], doc("Which of several configs.")] = "Last"


class SupportedConfig(Record, frozen=True):
    """A type of config objects that the add-on takes."""

    group: Annotated[str, doc("The API group; empty for core.")]
    resource: Annotated[str, doc("The plural resource name.", min_length=1)]
    default: Annotated[ObjectName | None, doc("The config used if nobody names one.")] = None
    merge_fields: Annotated[bool, doc("Merge several configs field by field.")] = False
    values: Annotated[ConfigValues | None, doc("How a config becomes values.")] = None


class TransformSelector(Record, frozen=True):
    """Which objects a transform sees."""

    kinds: Annotated[list[str] | None, doc("Objects of these kinds.")] = None
    names: Annotated[list[str] | None, doc("Objects of these names.")] = None


class Transform(Record, frozen=True):
    """A transform plugin and its options."""

    plugin: Annotated[str, doc("The plugin's name.", min_length=1)]
    priority: Annotated[int | None, doc("The lower wins.")] = None
    options: Annotated[dict[str, Any] | None, doc("The plugin's options.")] = None
    selector: Annotated[TransformSelector | None, doc("Which objects it sees.")] = None
    digest: Annotated[Digest | None, doc("Pins the plugin's bytes.")] = None


class PatchTarget(Record, frozen=True):
    """Which objects a patch changes."""

    kind: Annotated[str | None, doc("Objects of this kind.")] = None
    name: Annotated[str | None, doc("Objects of this name.")] = None
    namespace: Annotated[str | None, doc("Objects of this namespace.")] = None
    group: Annotated[str | None, doc("Objects of this API group.")] = None
    version: Annotated[str | None, doc("Objects of this API version.")] = None


class Patch(Record, frozen=True):
    """A change to rendered objects: a list of RFC 6902 operations, or a strategic merge as a map."""

    target: Annotated[PatchTarget, doc("Which objects.")]
    patch: Annotated[list[dict[str, Any]] | dict[str, Any], doc("What changes.")]


class HealthCheck(Record, frozen=True):
    """An object whose health counts."""

    kind: Annotated[str, doc("Its kind.")]
    name: Annotated[str, doc("Its name.")]
    namespace: Annotated[str | None, doc("Its namespace.")] = None
    api_version: Annotated[str | None, doc("Its apiVersion.")] = None


class Rename(Record, frozen=True):
    """An option got another name."""

    from_: Annotated[str, doc("Its name before.")] = msgspec.field(name="from")
    to: Annotated[str, doc("Its name now.")]


class Removal(Record, frozen=True):
    """An option went away."""

    name: Annotated[str, doc("Its name before.")]
    reason: Annotated[str | None, doc("Why.")] = None


class Retype(Record, frozen=True):
    """An option's value changed its shape."""

    name: Annotated[str, doc("The option.")]
    expression: Annotated[str, doc("CEL over `value`, giving the new value.", min_length=1)]


class OptionRequirement(Record, frozen=True):
    """An option must now be set."""

    name: Annotated[str, doc("The option.")]
    hint: Annotated[str | None, doc("What to do.")] = None


class MigrationStep(Record, frozen=True):
    """One step from the version before to this one: exactly one of its fields."""

    rename: Annotated[Rename | None, doc("An option got another name.")] = None
    remove: Annotated[Removal | None, doc("An option went away.")] = None
    retype: Annotated[Retype | None, doc("An option's value changed its shape.")] = None
    require: Annotated[OptionRequirement | None, doc("An option must now be set.")] = None


class Changes(Record, frozen=True):
    """This version against the one before."""

    summary: Annotated[str | None, doc("One line.")] = None
    changelog: Annotated[str | None, doc("The text shown in diff, notifications and dashboard.")] = None
    breaking: Annotated[bool | None, doc("true: blocked until acknowledged.")] = None
    irreversible: Annotated[bool, doc("true: no rollback.")] = False
    acknowledge: Annotated[str | None, doc("What a person must do when it is breaking.")] = None
    grace: Annotated[Duration | None, doc("May lengthen the policy's grace.")] = None
    migrations: Annotated[list[MigrationStep] | None, doc("What happens to values written for the version before.")] = (
        None
    )


class PluginDefinitionSpec(Record, frozen=True):
    """One version of something that can be installed."""

    version: Annotated[str, doc("Its semantic version.", min_length=1)]
    display_name: Annotated[str | None, doc("For people.")] = None
    description: Annotated[str | None, doc("For people.")] = None
    icon: Annotated[str | None, doc("For people.")] = None
    docs_url: Annotated[str | None, doc("For people.")] = msgspec.field(name="docsURL", default=None)
    source: Annotated[Source | None, doc("What is rendered.")] = None
    options: Annotated[list[Option] | None, doc("What users may set.")] = None
    outputs: Annotated[list[Output] | None, doc("What other plugins may bind to.")] = None
    configs: Annotated[list[SupportedConfig] | None, doc("Types of config objects it takes.")] = None
    config_mode: Annotated[ConfigMode | None, doc("How configs of several places combine.")] = None
    transforms: Annotated[list[Transform] | None, doc("Applied before a preset's.")] = None
    patches: Annotated[list[Patch] | None, doc("Applied before a preset's.")] = None
    depends_on: Annotated[list[NameRef] | None, doc("Definitions that must be healthy on the cluster first.")] = None
    health: Annotated[list[HealthCheck] | None, doc("What counts as healthy; absent: every object.")] = None
    changes: Annotated[Changes | None, doc("This version against the one before.")] = None


# On a definition that was made from its revision: not all that somebody wrote is known of it.
FROM_REVISION = "fleetform.dev/revision"


class PluginDefinitionRevisionSpec(Record, frozen=True):
    """An immutable snapshot of a definition, written by Fleetform."""

    number: Annotated[int, doc("Its number.", ge=1)]
    version: Annotated[str, doc("Its version.")]
    content_hash: Annotated[str, doc("The hash of its content.")]
    options: Annotated[list[Option] | None, doc("Its options.")] = None
    source: Annotated[dict[str, Any] | None, doc("Its source, with the digest of the bytes.")] = None


class CatalogRename(Record, frozen=True):
    """An entry that is offered under another name."""

    name: Annotated[Name, doc("Its name in the source.")]
    as_: Annotated[Name, doc("Its name here.")] = msgspec.field(name="as")


class OptionDefault(Record, frozen=True):
    """Another default of an option."""

    name: Annotated[str, doc("The option.", min_length=1)]
    value: Annotated[Any, doc("Its default.")]


class CatalogOverride(Record, frozen=True):
    """What a catalog changes of a definition that it offers."""

    name: Annotated[Name, doc("Its name in the source.")]
    repository: Annotated[Text | None, doc("Where its Helm chart is.")] = None
    options: Annotated[list[OptionDefault] | None, doc("Other defaults of its options.")] = None


class HelmRepository(Record, frozen=True):
    """A Helm repository."""

    repository: Annotated[str, doc("Its address.")]


class OciRepository(Record, frozen=True):
    """An OCI repository."""

    repository: Annotated[str, doc("Its address.")]


class CatalogGit(GitSource, frozen=True):
    """A git repository of definitions."""

    versions: Annotated[
        Literal["History", "Tags", "Head"],
        doc("Which versions it offers: every one the main line ever held, those at its tags, or those it holds now."),
    ] = "History"


class CatalogSource(Record, frozen=True):
    """Where definitions come from: one of directory, git, helm, oci."""

    directory: Annotated[str | None, doc("A folder relative to this file.")] = None
    git: Annotated[CatalogGit | None, doc("A git repository.")] = None
    helm: Annotated[HelmRepository | None, doc("A Helm repository.")] = None
    oci: Annotated[OciRepository | None, doc("An OCI repository.")] = None
    include: Annotated[list[str] | None, doc("Globs of the files, or charts, that count.")] = None
    interval: Annotated[Duration | None, doc("How often it is read; default: an hour.")] = None
    secret_ref: Annotated[
        SecretRef | None, doc("Credentials: username and password, a token, or ssh-privatekey and known_hosts.")
    ] = None
    rename: Annotated[list[CatalogRename] | None, doc("Entries offered under another name.")] = None
    overrides: Annotated[list[CatalogOverride] | None, doc("Definitions offered with other defaults, or charts.")] = (
        None
    )


class CatalogSpec(Record, frozen=True):
    """Where definitions come from."""

    sources: Annotated[list[CatalogSource], doc("In order.", min_length=1)]


class VersionEnd(Record, frozen=True):
    """When support of versions ends."""

    version: Annotated[str, doc("Which versions.")]
    at: Annotated[Time, doc("When.")]


class Support(Record, frozen=True):
    """Which versions of a definition are supported."""

    definition: Annotated[Name, doc("The definition.")]
    floor: Annotated[str | None, doc("The lowest version supported.")] = None
    yanked: Annotated[list[str] | None, doc("Versions withdrawn.")] = None
    ends: Annotated[list[VersionEnd] | None, doc("When support ends.")] = None
