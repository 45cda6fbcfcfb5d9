"""Changes for people: a change is read once, however many clusters it touches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fleetform.app.diff import signature
from fleetform.cli.text import Painter, count, cut, place_text, value_text
from fleetform.cli.upgrades import option_texts, upgrade_lines

View = dict[str, Any]
MARKDOWN_LIMIT = 60_000
_SHOWN_OPTIONS = 6
_SHOWN_FIELDS = 6
_MARKDOWN_ROWS = 40
_MARKS: dict[str, str] = {
    "install": "+",
    "delete": "-",
    "retain": "-",
    "downgrade": "↓",
    "upgrade": "↑",
    "handover": "⇄",
    "reconfigure": "~",
}
_COLORS = {"install": "green", "delete": "red", "downgrade": "yellow"}


def change_lines(view: View, paint: Painter, wide: bool) -> Iterator[str]:
    yield paint(headline(view), bold=True)
    for members in alike(view):
        yield from _group_lines(members, paint, wide)
    for upgrade in view["upgrades"]:
        span = f"{upgrade['definition']} {upgrade['from']} → {upgrade['to']}"
        yield f"\n{paint(span, bold=True)} on {count(upgrade['plugins'], 'cluster')}"
        yield from (f"  {line}" for line in upgrade_lines(upgrade, paint, wide))
    for number, line in enumerate(_override_lines(view, wide)):
        yield line if number else f"\n{line}"


def headline(view: View) -> str:
    summary = view["summary"]
    parts = []
    if not view["changes"]:
        parts.append("no change" if not summary["unknown"] else "no known change")
    else:
        parts += [count(summary["clusters"], "cluster"), f"{count(summary['plugins'], 'plugin')} changed"]
        for key, word in (("installs", "installed"), ("upgrades", "upgraded"), ("downgrades", "downgraded")):
            if summary[key]:
                parts.append(f"{summary[key]:,} {word}")
        parts.append(f"{summary['deletes']:,} deleted" if summary["deletes"] else "nothing deleted")
        if summary["blocked"]:
            parts.append(f"{summary['blocked']:,} blocked")
    if summary["unknown"]:
        parts.append(f"{summary['unknown']:,} unknown: their secrets, or their catalogs, are not at hand")
    return " · ".join(parts)


def alike(view: View) -> list[list[View]]:
    """Changes that are the same but for the cluster, the most common first."""
    groups: dict[str, list[View]] = {}
    for change in view["changes"]:
        groups.setdefault(signature(change), []).append(change)
    return sorted(groups.values(), key=lambda members: (-len(members), members[0]["plugin"]))


def clusters_text(members: list[View], limit: int = 3) -> str:
    names = [member["cluster"] for member in members]
    if len(names) == 1:
        return str(names[0])
    shown = ", ".join(names[:limit]) + (", …" if len(names) > limit else "")
    return f"{len(names):,} clusters ({shown})"


def what_text(change: View) -> str:
    """The plugin and what becomes of it."""
    name, version = change["preset"] or change["plugin"], change["version"]
    action = change["action"]
    if action == "install":
        return f"{name} {version['to'] or ''} is installed".replace("  ", " ")
    if action in ("delete", "retain"):
        return f"{name} {version['from'] or ''} is {'deleted' if action == 'delete' else 'kept, no longer managed'}"
    if version["from"] != version["to"]:
        return f"{name} {version['from'] or 'none'} → {version['to'] or 'none'}"
    return f"{name} {version['to'] or ''} is handed over" if action == "handover" else f"{name} {version['to'] or ''}"


def _group_lines(members: list[View], paint: Painter, wide: bool) -> Iterator[str]:
    change = members[0]
    mark = paint(_MARKS[change["action"]], fg=_COLORS.get(change["action"], "cyan"), bold=True)
    yield f"  {mark} {paint(clusters_text(members), bold=True)}   {what_text(change)}"
    options = change["options"] if wide or change["action"] != "install" else []
    shown = options if wide else options[:_SHOWN_OPTIONS]
    for option in shown:
        yield f"      {option_text(option)}"
    if len(options) > len(shown):
        yield f"      and {count(len(options) - len(shown), 'option')} more (-o wide)"
    yield from (f"      {line}" for line in _variable_lines(change, wide))
    for config in change["configs"]:
        yield f"      config {config_text(config)}"
    yield from (f"      {line}" for line in manifest_lines(change["manifests"], wide))
    if also := [each for each in change["also"] if each not in ("blocked", "configs")]:
        yield f"      {', '.join(also)} differ{'s' if len(also) == 1 else ''}"
    for gate in change["blocked"]:
        yield f"      {paint('blocked', fg='red')}: {gate['message']}"
        yield f"        {gate['do']}"


def _variable_lines(change: View, wide: bool) -> Iterator[str]:
    variables = change["variables"] if wide or change["action"] != "install" else []
    shown = variables if wide else variables[:_SHOWN_OPTIONS]
    for each in shown:
        yield f"variable {each['name']} {_value(each['from'])} → {_value(each['to'])}"
    if len(variables) > len(shown):
        yield f"and {count(len(variables) - len(shown), 'variable')} more (-o wide)"


def manifest_lines(manifests: list[View], wide: bool) -> Iterator[str]:
    """Objects that come, go or change; all that changes in them where it is asked for."""
    for each in manifests:
        patch = each["patch"]
        if patch[0]["path"] == "":
            yield f"{each['object']} is {'new' if patch[0]['op'] == 'add' else 'gone'}"
            continue
        shown = patch if wide else patch[:_SHOWN_FIELDS]
        yield f"{each['object']}"
        yield from (f"  {operation_text(one)}" for one in shown)
        if len(patch) > len(shown):
            yield f"  and {count(len(patch) - len(shown), 'field')} more (-o wide)"


def operation_text(operation: View) -> str:
    if operation["op"] == "remove":
        return f"{operation['path']} is gone"
    value = value_text(operation["value"], 40)
    if operation["op"] == "add":
        return f"{operation['path']} is new: {value}"
    return f"{operation['path']} {value_text(operation['was'], 40)} → {value}"


def config_text(config: View) -> str:
    """A config and what became of it."""
    where = f"{config['namespace']}/{config['name']}" if config["namespace"] else config["name"]
    change = {"changed": "has other content", "moved": "stands elsewhere in the order"}
    return f"{config['resource']} {where} {change.get(config['change'], 'is ' + config['change'])}"


def option_text(option: View) -> str:
    cause = option["cause"]
    where = f"   ({place_text(cause.get('place')) or cause['name']})" if cause else ""
    return f"{option['path']} {_value(option['from'])} → {_value(option['to'])}{where}"


def _value(value: Any, limit: int = 40) -> str:
    return value_text(value, limit) if value is not None else "unset"


def _override_lines(view: View, all_of_them: bool = False) -> Iterator[str]:
    """Overrides that the change leaves without effect or tied; with all_of_them those that were so before, too."""
    texts = {
        "dead": "reaches no plugin",
        "shadowed": "is hidden by others everywhere",
        "ties": "disagrees with another of its rank",
    }
    for kind, text in texts.items():
        for ref in view["overrides"][kind]:
            if not ref["new"] and not all_of_them:
                continue
            yield f"override {ref['name']} {text} ({place_text(ref.get('place'))})"


# ---- Markdown


def markdown(view: View) -> str:
    """A pull request's comment: at most 60 kB, cut between changes, with counts of what is left out."""
    head = f"### Fleetform: {headline(view)}\n\n`{view['from']}` → `{view['to']}` · change `{view['changeId'][:15]}`\n"
    blocks = [_markdown_group(members) for members in alike(view)]
    blocks += [_markdown_upgrade(each) for each in view["upgrades"]]
    overrides = list(_override_lines(view))
    if overrides:
        blocks.append("\n".join(f"- {line}" for line in overrides) + "\n")
    return _fitted(head, blocks)


def _markdown_upgrade(upgrade: View) -> str:
    """A span of versions, folded: the changelogs as they were written, and what becomes of options."""
    title = f"{upgrade['definition']} {upgrade['from']} → {upgrade['to']}"
    lines = [f"<details><summary>{title}</summary>", ""]
    for entry in upgrade["changelog"]:
        if entry["text"] or entry["breaking"]:
            marks = [word for word in ("breaking", "irreversible") if entry[word]]
            lines += [" ".join([f"**{entry['version']}**", *marks]), ""]
            lines += [f"To do first: {_escape(entry['acknowledge'])}", ""] if entry["acknowledge"] else []
            lines += [entry["text"].rstrip(), ""] if entry["text"] else []
    lines += [f"- options {word}: {_escape(', '.join(texts))}" for word, texts in option_texts(upgrade["options"])]
    return "\n".join([*lines, "", "</details>", ""])


def _fitted(head: str, blocks: list[str]) -> str:
    text = head
    for number, block in enumerate(blocks):
        if len((text + block).encode()) > MARKDOWN_LIMIT - 200:
            left = count(len(blocks) - number, "group")
            return f"{text}\n…and {left} of changes more: run `fleetform diff` to see them all\n"
        text += "\n" + block
    return text.rstrip()


def _markdown_group(members: list[View]) -> str:
    change = members[0]
    lines = [f"**{_escape(what_text(change))}** on {_escape(clusters_text(members, 10))}", ""]
    options = change["options"][:_MARKDOWN_ROWS] if change["action"] != "install" else []
    if options:
        lines += ["| option | from | to | because of |", "|---|---|---|---|"]
        lines += [_markdown_row(option) for option in options]
        if len(change["options"]) > len(options):
            lines.append(f"\nand {count(len(change['options']) - len(options), 'option')} more")
    lines += _markdown_variables(change)
    lines += [f"- config {_escape(config_text(each))}" for each in change["configs"]]
    lines += [f"- {_escape(line.strip())}" for line in manifest_lines(change["manifests"][:20], False)]
    if also := [each for each in change["also"] if each not in ("blocked", "configs")]:
        lines.append(f"- also: {', '.join(also)}")
    lines += [f"- blocked: {_escape(gate['message'])}. {_escape(gate['do'])}" for gate in change["blocked"]]
    return "\n".join(lines) + "\n"


def _markdown_row(option: View) -> str:
    before, after = (_code(_value(option[each], 60)) for each in ("from", "to"))
    cause = option["cause"]
    where = (place_text(cause.get("place")) or cause["name"]) if cause else ""
    return f"| `{option['path']}` | {before} | {after} | {_escape(where)} |"


def _markdown_variables(change: View) -> Iterator[str]:
    variables = change["variables"] if change["action"] != "install" else []
    for each in variables[:_MARKDOWN_ROWS]:
        before, after = (_code(_value(each[side], 60)) for side in ("from", "to"))
        yield f"- variable {_code(each['name'])}: {before} → {after}"
    if len(variables) > _MARKDOWN_ROWS:
        yield f"- and {count(len(variables) - _MARKDOWN_ROWS, 'variable')} more"


def _code(text: str) -> str:
    return f"`{cut(text, 60).replace('`', '´').replace('|', chr(92) + '|')}`"


def _escape(text: str) -> str:
    for character in "|<>*_":
        text = text.replace(character, f"\\{character}")
    return text.replace("@", "@\u200b")
