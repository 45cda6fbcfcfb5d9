"""Theme: colours for light and dark, patterns and glyphs. Colours are written out: many viewers know no variables."""

from __future__ import annotations

from fleetform.pictures.markup import Markup

LIGHT = {
    "page": "#f5f6f8", "surface": "#ffffff", "sunk": "#eceff3", "line": "#dde2e8", "edge": "#8792a0",
    "text": "#171c23", "muted": "#56606c", "accent": "#2450cf", "on-text": "#ffffff",
    "ok": "#57836a", "ok-text": "#3f6b53", "ok-back": "#eaf2ed",
    "flight": "#3a62f0", "forecast": "#5794ae",
    "failed": "#b81f0c", "failed-text": "#b3190a", "failed-back": "#fceae8", "on-failed": "#ffffff",
    "stuck": "#c67c16", "stuck-text": "#8f5200", "stuck-back": "#fbf0de",
    "back": "#5d3494", "back-back": "#f0eaf8", "silent": "#50555c",
    "window": "#e4efe9", "freeze": "#e3e6ea",
}  # fmt: skip
DARK = {
    "page": "#0d1117", "surface": "#11161c", "sunk": "#1a212a", "line": "#28303b", "edge": "#667281",
    "text": "#e6eaf0", "muted": "#9aa5b3", "accent": "#8fb3ff", "on-text": "#0d1117",
    "ok": "#7aa888", "ok-text": "#8fbf9e", "ok-back": "#18241d",
    "flight": "#62c6ff", "forecast": "#6d9cbc",
    "failed": "#f0524a", "failed-text": "#ff7a72", "failed-back": "#331816", "on-failed": "#1d0605",
    "stuck": "#f2c54a", "stuck-text": "#f2c54a", "stuck-back": "#2c2410",
    "back": "#bb9af0", "back-back": "#251b38", "silent": "#959dab",
    "window": "#182a22", "freeze": "#222932",
}  # fmt: skip
FONT = "Inter,ui-sans-serif,system-ui,-apple-system,'Segoe UI',Roboto,sans-serif"

# Each rule with the names of colours in angle brackets.
_PICTURE = (
    (".s", "fill:<surface>"), (".ti", "fill:<text>;font-size:17px;font-weight:650"),
    (".n", "fill:<text>;font-size:14px;font-weight:600"), (".h", "fill:<text>;font-size:13.5px;font-weight:600"),
    (".m", "fill:<muted>;font-size:12px"), (".d", "fill:<text>;font-size:12px;font-weight:600"),
    (".b", "font-weight:600"), (".g", "stroke:<line>;fill:none"), (".w", "fill:<window>"),
    (".l,.c,.fz", "font-size:12px;stroke-width:3px;paint-order:stroke;stroke-linejoin:round"),
    (".l", "fill:<text>;font-weight:600;stroke:<surface>"), (".c", "fill:<muted>;stroke:<surface>"),
    (".fz", "fill:<text>;font-weight:600;stroke:<freeze>"),
    (".p", "fill:<ok>"), (".pl", "stroke:<ok>;fill:none;stroke-width:2"),
    (".f", "fill:<forecast>"), (".fl", "stroke:<forecast>;fill:none;stroke-width:2;stroke-dasharray:5 4"),
    (".e", "stroke:<forecast>;fill:none;stroke-width:1.5;stroke-dasharray:3 3"),
    (".y", "fill:<flight>"), (".x", "fill:<failed>"), (".xl", "stroke:<failed>;fill:none;stroke-width:2"),
    (".xg", "stroke:<on-failed>;stroke-width:1.8;stroke-linecap:round;fill:none"),
    (".hs", "stroke:<forecast>;stroke-width:1.8;opacity:.6"), (".hz", "stroke:<edge>;stroke-width:.8;opacity:.6"),
    (".z", "fill:<freeze>"), (".k", "fill:<surface>;stroke:<accent>;stroke-width:2"),
    (".ki", "stroke:<accent>;stroke-width:1.6;fill:none;stroke-linecap:round;stroke-linejoin:round"),
    (".ka", "fill:<accent>"),
    (".u", "fill:<surface>;stroke:<silent>;stroke-width:2;stroke-dasharray:3 2"), (".ut", "fill:<silent>"),
    (".bk", "stroke:<back>;stroke-width:2;fill:none;stroke-linecap:round;stroke-linejoin:round"),
    (".nl", "stroke:<text>;stroke-width:1.5"), (".nb", "fill:<text>"),
    (".nt", "fill:<on-text>;font-size:11.5px;font-weight:600"),
    # After the others, so that a colour of its own wins.
    (".okt", "fill:<ok-text>"), (".bt", "fill:<failed-text>"), (".wt", "fill:<stuck-text>"),
    (".bkt", "fill:<back>"), (".at", "fill:<accent>"),
)  # fmt: skip


def style(rules: tuple[tuple[str, str], ...], within: str = "") -> str:
    """Rules for light, and those that are others in the dark."""
    scoped = [(",".join(within + each for each in selector.split(",")), text) for selector, text in rules]
    light = "".join(f"{selector}{{{_filled(text, LIGHT)}}}" for selector, text in scoped)
    dark = "".join(f"{selector}{{{_filled(text, DARK)}}}" for selector, text in scoped if "<" in text)
    return f"{light}@media(prefers-color-scheme:dark){{{dark}}}"


def _filled(text: str, colours: dict[str, str]) -> str:
    for name, colour in colours.items():
        text = text.replace(f"<{name}>", colour)
    return text


def picture_style(within: str) -> Markup:
    """The style of a picture; within is a selector, so that a page around it keeps its own."""
    font = f"{within}text{{font-family:{FONT};font-variant-numeric:tabular-nums}}"
    return Markup(f"<style>{font}{style(_PICTURE, within)}</style>")


def patterns(prefix: str) -> Markup:
    """Hatched for soak, crossed for freezes. A prefix keeps two pictures on one page apart."""
    return Markup(
        f'<defs><pattern id="{prefix}hs" width="6" height="6" patternUnits="userSpaceOnUse"'
        ' patternTransform="rotate(45)"><path d="M0 0V6" class="hs"/></pattern>'
        f'<pattern id="{prefix}hz" width="8" height="8" patternUnits="userSpaceOnUse">'
        '<rect width="8" height="8" class="z"/><path d="M0 8 8 0M0 0 8 8" class="hz"/></pattern></defs>'
    )


# Glyphs of 12 by 12.
FAILED = Markup('<rect width="12" height="12" rx="2.5" class="x"/><path d="M3.5 3.5l5 5m0-5l-5 5" class="xg"/>')
SET_ASIDE = Markup('<circle cx="6" cy="6" r="5" class="u"/>')
BACK = Markup('<path d="M2 4.5h6a2.8 2.8 0 0 1 0 6H5M4.5 2 2 4.5 4.5 7" class="bk"/>')
APPROVAL = Markup(
    '<circle cx="6" cy="6" r="10" class="k"/><circle cx="4" cy="8" r="2.4" class="ki"/>'
    '<path d="M5.8 6.2 10 2M8.4 3.6l1.6 1.6" class="ki"/>'
)
