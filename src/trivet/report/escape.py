"""Text from behind the wall, made harmless for each place where it is shown.

Paths, messages and outcomes come from the patch or from code under test. Every renderer takes them through one of these functions:
control characters, terminal escapes, bidirectional overrides and lone surrogates become visible text, and lengths are bounded.
"""

from __future__ import annotations

import html
import re

LIMIT = 2000
"""Characters of one shown text; the rest is counted, not shown."""
NAME_LIMIT = 300
"""Characters of one shown path or test id."""

# C0 and C1 controls, DEL, line separators, bidirectional and invisible format characters, surrogates, non-characters, private tags.
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\uffff\ud800-\udfff\U000e0000-\U000e0fff]",
)
# Where a GitHub runner shows our output it obeys `::command::` at the start of a line and `##[command]` anywhere.
_COMMAND = re.compile(r"^\s*::|##\[")


def _broken(match: re.Match[str]) -> str:
    return f"{match[0][:-1]}\\{match[0][-1]}"


def _visible(match: re.Match[str]) -> str:
    code = ord(match[0])
    known = {9: "\\t", 10: "\\n", 13: "\\r"}.get(code)
    if known:
        return known
    if "\udc80" <= match[0] <= "\udcff":  # a byte that is not UTF-8, as surrogateescape keeps it
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if match[0] <= "\xff" else f"\\u{code:04x}" if match[0] <= "\uffff" else f"\\U{code:08x}"


def line(text: str, limit: int = LIMIT) -> str:
    """One line of visible text, at most about ``limit`` characters."""
    shown, rest = text[:limit], len(text) - limit
    return _COMMAND.sub(_broken, _HIDDEN.sub(_visible, shown)) + (f"… ({rest} more characters)" if rest > 0 else "")


def lines(text: str, limit: int = LIMIT, rows: int = 20) -> tuple[str, ...]:
    """Several lines of visible text: at most ``rows``, together about ``limit`` characters."""
    kept = "\n".join(text[:limit].split("\n")[:rows])
    rest = len(text) - len(kept)
    shown = [line(part.removesuffix("\r")) for part in kept.split("\n")]
    if rest > 0:
        shown[-1] += f"… ({rest} more characters)"
    return tuple(shown)


def name(path: bytes | str) -> str:
    r"""A path or test id as one visible, bounded line; bytes that are not UTF-8 show as ``\xNN``."""
    return line(path.decode("utf-8", "surrogateescape") if isinstance(path, bytes) else path, NAME_LIMIT)


def markdown(text: str, limit: int = LIMIT) -> str:
    """One line for running Markdown text: no markup, no HTML, no mention, no reference, no link."""
    shown = html.escape(line(text, limit), quote=False)
    shown = re.sub(r"([\\`*_{}\[\]()#+!|~$-])", r"\\\1", shown)
    shown = re.sub(r"(?i)(?<=http)(s?):|(?<=ftp):|(?<=www)\.", lambda found: f"{found[1] or ''}\u200b{found[0][-1]}", shown)
    return re.sub(r"([@#])", "\\1\u200b", shown)  # a zero-width space: names are not notified, numbers are not linked


def code(text: str, limit: int = NAME_LIMIT) -> str:
    """A Markdown code span that its content can't leave (not for table cells, where a bar ends the cell first)."""
    shown = line(text, limit)
    longest = max((len(run) for run in re.findall(r"`+", shown)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest or shown != shown.strip() or not shown else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def xml(text: str, limit: int = LIMIT) -> str:
    """Text for an XML writer that escapes markup itself: without characters that XML 1.0 forbids; line breaks stay."""
    return "\n".join(lines(text, limit, rows=200))


def command_data(text: str, limit: int = LIMIT) -> str:
    """The message of a GitHub workflow command: one line, ``%`` encoded, so that no second command can begin."""
    return line(text, limit).replace("%", "%25")


def command_property(text: str, limit: int = NAME_LIMIT) -> str:
    """A property of a GitHub workflow command (file, title)."""
    return command_data(text, limit).replace(":", "%3A").replace(",", "%2C")
