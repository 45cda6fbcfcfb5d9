"""Definitions: versions, sources, options and their own rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from msgspec import UNSET

from fleetform.engine.bindings.cycles import in_order
from fleetform.engine.check.catalogs import holds_login
from fleetform.engine.check.report import Report, exactly_one
from fleetform.engine.check.transforms import lint_patches
from fleetform.engine.check.variable_references import lint_option_defaults
from fleetform.engine.configs.items import ADDON_TEMPLATE
from fleetform.engine.versions.lifecycle import ANNOUNCED
from fleetform.model.kinds import PLATFORM_NAMESPACE
from fleetform.model.kinds.definition import FROM_REVISION, MigrationStep, Option, PluginDefinitionSpec, Source
from fleetform.model.objects import At, Object, Path
from fleetform.model.results.decisions import Revision
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.model.shape import did_you_mean
from fleetform.syntax.cel import ExpressionError, compile_expression, matches
from fleetform.syntax.option_paths import PathError, normal_form, parse_path
from fleetform.syntax.option_rules import breaks_rules, kind_of
from fleetform.syntax.times import parse_time
from fleetform.syntax.versions import VersionError, parse_version


def lint_definition(object_: Object[PluginDefinitionSpec]) -> list[Diagnostic]:
    report, spec = Report(object_), object_.spec
    try:
        parse_version(spec.version)
    except VersionError as error:
        report.error("bad-version", str(error), "write a version such as 1.4.0", "spec", "version")
    if spec.source is not None:
        _lint_source(report, spec.source)
    elif not any((each.group, each.resource) == ADDON_TEMPLATE for each in spec.configs or ()):
        add = report.warn if not object_.conventions.lenient else report.note
        add("no-source", "the definition has nothing to render", "add source: helm, kustomize or manifests", "spec")
    stamp = (object_.metadata.annotations or {}).get(ANNOUNCED)
    try:
        if stamp is not None:
            parse_time(stamp)
    except ValueError:
        hint = "write a time such as 2026-03-01T12:00:00Z"
        report.error("bad-stamp", f"{stamp} is not a time", hint, "metadata", "annotations", ANNOUNCED)
    _lint_options(report, spec.options or [])
    lint_option_defaults(report, spec)
    _lint_outputs_and_configs(report, spec)
    lint_patches(report, spec.patches)
    fields = {"rename": "rename", "remove": "remove", "retype": "retype", "require": "require"}
    for index, migration in enumerate((spec.changes.migrations if spec.changes else None) or []):
        exactly_one(report, migration, fields, "spec", "changes", "migrations", index)
        _lint_migration(report, spec, migration, index)
    _lint_renames(report, spec)
    return report.found


def _lint_source(report: Report, source: Source) -> None:
    if source.helm is not None and holds_login(source.helm.repository):
        message, hint = "the address holds credentials", "remove them: they are shown to everybody who reads this"
        report.warn("plain-secret", message, hint, "spec", "source", "helm", "repository")
    fields = {"helm": "helm", "kustomize": "kustomize", "manifests": "manifests"}
    exactly_one(report, source, fields, "spec", "source")
    if source.kustomize is not None:
        exactly_one(report, source.kustomize, {"path": "path", "git": "git"}, "spec", "source", "kustomize")
        git = source.kustomize.git
        if git is not None and git.ref is not None:
            refs = {"tag": "tag", "commit": "commit", "branch": "branch"}
            exactly_one(report, git.ref, refs, "spec", "source", "kustomize", "git", "ref")


def lint_revisions(revisions: list[Revision]) -> Iterator[Diagnostic]:
    """Versions of one definition side by side: none twice but for build metadata, major ones say whether they break."""
    in_order = sorted(revisions, key=lambda each: (parse_version(each.version), each.version))
    for before, after in pairwise(in_order):
        report = Report(after.object)
        if parse_version(before.version) == parse_version(after.version):
            message = f"{before.version} and {after.version} differ in build metadata only, which orders nothing"
            report.error("bad-version", message, "raise one of them", "spec", "version")
        changes = after.object.spec.changes
        major = parse_version(after.version).major > parse_version(before.version).major
        is_whole = FROM_REVISION not in (after.object.metadata.annotations or {})
        if major and is_whole and (changes is None or changes.breaking is None):
            message = (
                f"{after.object.ref.name} {after.version} is a new major version and does not say whether it breaks"
            )
            report.warn("unsaid-breaking", message, "write changes: {breaking: true} or false", "spec", "version")
        yield from report.found


def lint_dependencies(definitions: Iterable[Object[PluginDefinitionSpec]]) -> Iterator[Diagnostic]:
    """Definitions that wait for each other are installed nowhere; all their versions are looked at together.

    An organization sees its own, and the platform's beside them.
    """
    by_home: dict[str, list[Object[PluginDefinitionSpec]]] = {}
    for each in definitions:
        by_home.setdefault(each.ref.organization, []).append(each)
    reported: set[tuple[Object[PluginDefinitionSpec], ...]] = set()
    # The platform comes first: its own cycles are reported there, and not again for each organization that sees them.
    for home in sorted(by_home, key=lambda name: (name != PLATFORM_NAMESPACE, name)):
        for found in _cycles([*by_home.get(PLATFORM_NAMESPACE, []), *by_home[home]]):
            if found in reported:
                continue
            reported.add(found)
            names = [each.ref.name for each in found]
            message = f"the definitions {' → '.join([*names, names[0]])} wait for each other"
            if len(names) == 1:
                message = f"the definition {names[0]} waits for itself"
            at, *related = [each.at("spec", "dependsOn") for each in found]
            hint = "break it at one of them"
            yield Diagnostic("dependency-cycle", message, hint, "error", found[0].ref, at, tuple(related))


def _cycles(definitions: list[Object[PluginDefinitionSpec]]) -> Iterator[tuple[Object[PluginDefinitionSpec], ...]]:
    """Definitions that name each other in a cycle, each the one that names the next."""
    own = {each.ref.name: each.ref.organization for each in definitions}
    waiting: dict[str, dict[str, Object[PluginDefinitionSpec]]] = {}
    for each in definitions:
        # An organization's own definition hides the platform's.
        if own[each.ref.name] == each.ref.organization:
            for named in each.spec.depends_on or []:
                waiting.setdefault(each.ref.name, {}).setdefault(named.name, each)
    graph = {name: [other for other in others if other in waiting] for name, others in waiting.items()}
    for cycle in in_order(graph)[0]:
        yield tuple(waiting[name][after] for name, after in zip(cycle, [*cycle[1:], cycle[0]], strict=True))


def _lint_options(report: Report, options: list[Option]) -> None:
    """Each by itself, none twice, and none inside a single value of another."""
    names = [option.name for option in options]
    first: dict[tuple[str, ...], At] = {}
    declared: dict[tuple[str, ...], tuple[int, Option]] = {}
    for index, option in enumerate(options):
        path: Path = ("spec", "options", index)
        try:
            form = normal_form(parse_path(option.name))
        except PathError as error:
            add = report.error if not report.object.conventions.lenient else report.warn
            add("bad-path", error.message, "name options as a.b or a.b[0]", *path, "name")
            continue
        if form in first:
            message = f"the option {option.name} is declared twice"
            report.error("duplicate-option", message, "keep one of them", *path, "name", related=(first[form],))
        first.setdefault(form, report.object.at(*path, "name"))
        declared[form] = (index, option)
        _lint_option(report, option, names, index)
    for form, (index, option) in declared.items():
        outer = next((form[:length] for length in range(len(form) - 1, 0, -1) if form[:length] in declared), None)
        if outer is None:
            continue
        _, other = declared[outer]
        path = ("spec", "options", index, "name")
        # Other systems accept it, and there the inner one replaces that part (S54).
        add = report.error if not report.object.conventions.lenient else report.warn
        message = f"the option {option.name} lies inside {other.name}, which is {kind_of(other)}"
        add("duplicate-option", message, "declare one of them", *path, related=(first[outer],))


def _lint_option(report: Report, option: Option, names: list[str], index: int) -> None:
    path: Path = ("spec", "options", index)
    if option.regex is not None:
        try:
            matches(option.regex, "")
        except ExpressionError as error:
            message = f"the regex of {option.name} cannot be read: {error}"
            report.error("bad-regex", message, "write it as Go's regexp (RE2) takes it", *path, "regex")
    _lint_option_values(report, option, path)
    if option.regex is not None and option.type not in ("string", "secret", "any"):
        report.warn("bad-value", f"regex has no effect on {kind_of(option)}", "drop it", *path, "regex")
    for bound, value in (("minimum", option.minimum), ("maximum", option.maximum)):
        if value is not None and option.type not in ("int", "any"):
            report.warn("bad-value", f"{bound} has no effect on {kind_of(option)}", "drop it", *path, bound)
    if option.minimum is not None and option.maximum is not None and option.minimum > option.maximum:
        report.error("bad-value", f"no value of {option.name} can fit its bounds", "swap them", *path, "minimum")
    replacement = option.deprecated.replaced_by if option.deprecated else None
    if replacement is not None and replacement not in names:
        hint = did_you_mean(replacement, names)
        message = f"{option.name} is replaced by {replacement}, which is not declared"
        report.warn("undeclared-option", message, hint, *path, "deprecated", "replacedBy")


def _lint_option_values(report: Report, option: Option, path: Path) -> None:
    """The default and the choices that an option lists keep to its own rules."""
    default = option.default if option.default is not UNSET else None
    problem = breaks_rules(option, default) if default is not None else None
    if problem:
        message = f"the default breaks its own option's rules: {problem}"
        add = report.error if not report.object.conventions.lenient else report.warn
        add("wrong-type", message, "fix the default, or the option's type", *path, "default")
    if option.type == "secret" and default is not None and default != "":
        message = f"{option.name} has a secret for a default"
        report.warn("plain-secret", message, "leave the default out", *path, "default")
    # By all rules but the list itself.
    plain = Option(option.name, option.type, regex=option.regex, minimum=option.minimum, maximum=option.maximum)
    for position, choice in enumerate(option.enum or []):
        problem = breaks_rules(plain, choice)
        if problem:
            report.error("wrong-type", problem, "fix the choice", *path, "enum", position)


def _lint_outputs_and_configs(report: Report, spec: PluginDefinitionSpec) -> None:
    seen: dict[str, int] = {}
    for index, output in enumerate(spec.outputs or []):
        if (output.value is not UNSET) == (output.object_field_ref is not None):
            message = f"the output {output.name} needs exactly one of value and objectFieldRef"
            report.error("exactly-one", message, "keep one of them", "spec", "outputs", index)
        elif output.value is None:
            message = f"the output {output.name} cannot be null"
            report.error("null-value", message, "leave the output out", "spec", "outputs", index, "value")
        first = seen.setdefault(output.name, index)
        if first != index:
            related = (report.object.at("spec", "outputs", first),)
            message = f"the output {output.name} is named twice"
            report.error("duplicate-object", message, "rename one", "spec", "outputs", index, related=related)
    types: dict[tuple[str, str], At] = {}
    for index, config in enumerate(spec.configs or []):
        key = (config.group, config.resource)
        if key in types:
            message = f"{config.resource}.{config.group} is named twice; a type has at most one default"
            report.error("duplicate-object", message, "keep one", "spec", "configs", index, related=(types[key],))
        types.setdefault(key, report.object.at("spec", "configs", index))
        if key == ("", "secrets") and config.values is not None and config.values.use == "All":
            message = "secrets cannot become a list of values: each key of one is a reference of its own"
            report.error("bad-value", message, "use: Last", "spec", "configs", index, "values", "use")


def _lint_migration(report: Report, spec: PluginDefinitionSpec, migration: MigrationStep, index: int) -> None:
    path = ("spec", "changes", "migrations", index)
    names = [option.name for option in spec.options or []]
    target = migration.rename.to if migration.rename else migration.retype.name if migration.retype else None
    if migration.require is not None:
        target = migration.require.name
    gone = migration.rename.from_ if migration.rename else migration.remove.name if migration.remove else "a"
    try:
        parse_path(gone)
    except PathError as error:
        report.error("bad-path", error.message, "write a.b or a.b[0]", *path)
    if target is not None and target not in names:
        hint = did_you_mean(target, names, "name an option of this version")
        report.error("undeclared-option", f"the migration leads to {target}, which is not declared", hint, *path)
    if migration.retype is not None:
        try:
            compile_expression(migration.retype.expression)
        except ExpressionError as error:
            message = f"the expression of {migration.retype.name} cannot be read: {error.unquoted}"
            report.error("bad-expression", message, "it is CEL over value", *path, "retype", "expression")


def _lint_renames(report: Report, spec: PluginDefinitionSpec) -> None:
    """Renames lose nothing (S58): what is renamed is gone, and every name has one option that became it."""
    declared = {form for option in spec.options or [] if (form := _form(option.name)) is not None}
    into: dict[tuple[str, ...], At] = {}
    for index, migration in enumerate((spec.changes.migrations if spec.changes else None) or []):
        rename = migration.rename
        old, new = (_form(rename.from_), _form(rename.to)) if rename is not None else (None, None)
        if rename is None or old is None or new is None:
            continue
        path: Path = ("spec", "changes", "migrations", index, "rename")
        if old in declared:
            message = (
                f"{rename.from_} is renamed to {rename.to}, and this version still declares it: nothing is renamed"
            )
            report.error("bad-migration", message, "drop the rename, or the option", *path, "from")
        if new in into:
            message = f"two options are renamed to {rename.to}: the value of one would be lost"
            report.error("bad-migration", message, "remove one of them instead", *path, "to", related=(into[new],))
        into.setdefault(new, report.object.at(*path, "to"))


def _form(name: str) -> tuple[str, ...] | None:
    try:
        return normal_form(parse_path(name))
    except PathError:
        return None
