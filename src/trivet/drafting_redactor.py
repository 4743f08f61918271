"""What must not leave the house: secrets, addresses, numbers with a checksum, values of named fields, and all that is sealed.

Each find becomes a word in brackets; equal values become equal words, so that a trace and a sample still fit together. Taking out too much
is no harm: a test that is drafted from it needs shapes, not people.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

FIELDS = (
    "name", "first_name", "last_name", "full_name", "given_name", "family_name", "surname", "nickname", "display_name", "user_name",
    "username", "login", "customer", "owner", "holder", "recipient", "sender", "email", "mail", "phone", "mobile", "address", "street",
    "city", "zip",
    "postcode", "birthday", "birth_date", "date_of_birth", "ssn", "passport", "tax_id", "password", "passwd", "secret", "token", "api_key",
    "authorization", "cookie", "session",
)  # fmt: skip
"""Fields whose values are taken out, whatever they hold; a caller adds its own."""
_SHORTEST = 3
"""Characters that a field's value needs to be looked for elsewhere in the text."""
_SEALED_LINE, _SEALED_WORD = 12, 8
"""Characters that a line, or a word of data, of a sealed file needs to be recognised as its own."""
_SECRETS = (
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    r"\bgh[pousr]_[A-Za-z0-9]{20,}\b|\bgithub_pat_\w{20,}\b",
    r"\bgl(?:pat|dt|rt|cbt|ptt)-[\w-]{16,}",
    r"\bxox[abeprs]-[\w-]{10,}",
    r"\b(?:sk|pk|rk)[-_](?:live|test|proj|ant)?[-_]?[A-Za-z0-9_-]{16,}\b",
    r"\bAIza[\w-]{30,}",
    r"\bnpm_[A-Za-z0-9]{30,}\b|\bpypi-[\w-]{30,}",
    r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*",
    r"(?i)\b(?:bearer|basic)\s+[\w.~+/=-]{8,}",
    r"(?<=://)[^\s/:@]+:[^\s/@]+(?=@)",
    r"(?i)(?:password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key|client[_-]?secret)[\"']?\s*[:=]\s*[\"']?(?!\[|None\b|True\b|False\b|null\b)[^\s\"',;)}\]]{4,}",
)
_EMAIL = re.compile(r"[\w.!#$%&'*+/=?^`{|}~-]+@[\w-]+(?:\.[\w-]+)+")
_HOME = re.compile(r"(?<=/home/)[\w.-]+|(?<=/Users/)[\w.-]+|(?<=\\Users\\)[\w.-]+")
_CARD = re.compile(r"(?<![\w.])(?:\d[ -]?){12,18}\d(?![\w])")
_IBAN = re.compile(r"\b[A-Za-z]{2}\d{2}(?: ?[A-Za-z0-9]{4}){2,7}(?: ?[A-Za-z0-9]{1,4})?\b")
_ROUTING = re.compile(r"(?<![\w.])\d{9}(?![\w.])")
_LONG = re.compile(r"(?<![\w/+])[A-Za-z0-9+/_-]{32,}={0,2}")


@dataclass(slots=True)
class Redactor:
    """Takes things out, and counts them by kind.

    Args:
        fields: further names of fields, beside ``FIELDS``; the last part of a dotted name counts.
        sealed: the texts of all sealed files.
    """

    fields: Iterable[str] = ()
    sealed: Iterable[str] = ()
    counts: Counter[str] = field(default_factory=Counter)
    _known: dict[tuple[str, str], str] = field(default_factory=dict)
    _values: dict[str, str] = field(default_factory=dict)
    _names: frozenset[str] = frozenset()
    _lines: frozenset[str] = frozenset()
    _words: tuple[str, ...] = ()
    _parts: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Read the sealed texts once."""
        self._names = frozenset(_plain_name(name) for name in (*FIELDS, *self.fields))
        lines, words, parts = set[str](), set[str](), set[str]()
        for text in self.sealed:
            lines |= {line.strip() for line in text.splitlines() if len(line.strip()) >= _SEALED_LINE}
            data = _data_of(text)
            if data is not None:
                words |= {leaf for leaf in _leaves(data) if len(leaf) >= _SEALED_WORD}
                parts |= set(_subtrees(data))
        self._lines, self._parts = frozenset(lines), frozenset(parts)
        self._words = tuple(sorted(words, key=len, reverse=True))

    # --- data -----------------------------------------------------------------------------------

    def data(self, value: object, name: str = "") -> object:
        """A value of JSON with everything taken out; its shape stays."""
        if isinstance(value, (dict, list)) and _canonical(value) in self._parts:
            self.counts["sealed"] += 1
            return "[sealed]"
        if name and _plain_name(name) in self._names and value not in (None, "", True, False):
            return self._of_field(value, name)
        if isinstance(value, dict):
            return {self.text(str(key)): self.data(part, str(key)) for key, part in value.items()}
        if isinstance(value, list):
            return [self.data(part) for part in value]
        if isinstance(value, str):
            return self.text(value)
        shown = repr(value)
        return value if value in (None, True, False) or self.text(shown) == shown else self.text(shown)

    def _of_field(self, value: object, name: str) -> object:
        if isinstance(value, dict):
            return {str(key): self._of_field(part, name) for key, part in value.items()}
        if isinstance(value, list):
            return [self._of_field(part, name) for part in value]
        word = self._word(_plain_name(name), str(value))
        if len(str(value)) >= _SHORTEST:
            self._values[str(value)] = word
        return word

    def sample(self, text: str) -> str:
        """A sample: JSON, JSON lines, or comma- and tab-separated columns with a header keep their shape; all else is text."""
        data = _data_of(text)
        if data is not None:
            return self.text(json.dumps(self.data(data), indent=1, ensure_ascii=False))
        lines = text.splitlines()
        rows = [_data_of(line) for line in lines if line.strip()]
        if rows and all(isinstance(row, (dict, list)) for row in rows):
            return self.text("\n".join(json.dumps(self.data(row), ensure_ascii=False) for row in rows))
        return self.text("\n".join(self._columns(lines)))

    def _columns(self, lines: list[str]) -> list[str]:
        if not lines:
            return lines
        separator = next((mark for mark in ("\t", ";", ",") if mark in lines[0]), "")
        head = [cell.strip().strip('"') for cell in lines[0].split(separator)] if separator else []
        if not any(_plain_name(cell) in self._names for cell in head):
            return lines
        found = [lines[0]]
        for line in lines[1:]:
            cells = line.split(separator)
            # A line that has other columns than the header says is not understood: it goes as a whole.
            found.append(
                separator.join(self._cell(cell, name) for cell, name in zip(cells, head, strict=True))
                if len(cells) == len(head)
                else self._word("line", line)
            )
        return found

    def _cell(self, cell: str, name: str) -> str:
        inner = cell.strip().strip('"')
        return str(self._of_field(inner, name)) if inner and _plain_name(name) in self._names else cell

    # --- text -----------------------------------------------------------------------------------

    def text(self, text: str) -> str:
        """Text with everything taken out."""
        text = "\n".join(self._line(line) for line in text.split("\n"))
        for value, word in sorted(self._values.items(), key=lambda pair: -len(pair[0])):
            if value in text:
                text = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", self._counted("field", word).replace("\\", r"\\"), text)
        for word in self._words:
            if word in text:
                text = text.replace(word, self._counted("sealed", "[sealed]"))
        for secret in _SECRETS:
            text = self._taken(re.compile(secret, re.DOTALL), "secret", text)
        text = self._taken(_EMAIL, "email", text)
        text = self._fields_in(self._taken(_HOME, "user", text))
        for kind, pattern, holds in _NUMBERS:
            text = self._taken(pattern, kind, text, holds)
        return self._taken(_LONG, "secret", text, _is_dense)

    def _taken(self, pattern: re.Pattern[str], kind: str, text: str, holds: Callable[[str], bool] = bool) -> str:
        return pattern.sub(lambda found: self._word(kind, found[0]) if holds(found[0]) else found[0], text)

    def _line(self, line: str) -> str:
        bare = line.strip().removeprefix(">").strip()
        if bare in self._lines or re.sub(r"^(?:\d+\s*[|:]?|[|+E-])\s+", "", bare) in self._lines:
            return self._counted("sealed", "[sealed line]")
        return line

    def _fields_in(self, text: str) -> str:
        """``name="Rosa"``, ``'name': 'Rosa'``, ``name: Rosa``."""
        pattern = r"(?<![\w.])([\"']?)([A-Za-z][\w-]*)\1(\s*[:=]\s*)(?:\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'|([^\s\"',;(){}\[\]]+))"

        def taken(found: re.Match[str]) -> str:
            value = next((part for part in (found[4], found[5], found[6]) if part), "")
            if _plain_name(found[2]) not in self._names or value[:1] in ("", "[") or value in ("None", "null", "=", "True", "False"):
                return found[0]
            return found[0].replace(value, self._word(_plain_name(found[2]), value))

        return re.sub(pattern, taken, text)

    def _word(self, kind: str, value: str) -> str:
        if value.startswith("[") and value.endswith("]"):
            return value
        self.counts[kind] += 1
        if (kind, value) not in self._known:
            number = 1 + sum(known == kind for known, _ in self._known)
            self._known[kind, value] = f"[{kind} {number}]"
        return self._known[kind, value]

    def _counted(self, kind: str, word: str) -> str:
        self.counts[kind] += 1
        return word


def _plain_name(name: str) -> str:
    """``customer.fullName``, ``Full-Name`` and ``full_name`` are one name."""
    last = re.split(r"[.\[\]]", name.strip().rstrip("]"))[-1] or name
    return re.sub(r"[\s-]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", last)).lower()


def _data_of(text: str) -> object:
    stripped = text.strip()
    if not stripped.startswith(("{", "[")):
        return None
    try:
        return json.loads(stripped)
    except (ValueError, RecursionError):
        return None


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for part in value.values():
            yield from _leaves(part)
    elif isinstance(value, list):
        for part in value:
            yield from _leaves(part)
    elif isinstance(value, (str, float)) or (isinstance(value, int) and not isinstance(value, bool)):
        yield str(value)


def _subtrees(value: object) -> Iterator[str]:
    """The canonical form of every object and list of a sealed file that says enough to be its own."""
    if isinstance(value, (dict, list)):
        if len(value) > 1:
            yield _canonical(value)
        for part in value.values() if isinstance(value, dict) else value:
            yield from _subtrees(part)


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


# --- numbers that prove themselves --------------------------------------------------------------


def luhn(text: str) -> bool:
    """Whether a number of 13 to 19 digits has the check digit of payment cards."""
    digits = [int(char) for char in text if char.isdigit()]
    if not 13 <= len(digits) <= 19 or len(set(digits)) == 1:  # noqa: PLR2004 - ISO/IEC 7812
        return False
    doubled = (digit if place % 2 == 0 else sum(divmod(2 * digit, 10)) for place, digit in enumerate(reversed(digits)))
    return sum(doubled) % 10 == 0


def iban(text: str) -> bool:
    """Whether an account number has the check digits of ISO 13616."""
    bare = re.sub(r"\s", "", text).upper()
    if not 15 <= len(bare) <= 34:  # noqa: PLR2004 - ISO 13616
        return False
    return int("".join(str(int(char, 36)) for char in bare[4:] + bare[:4])) % 97 == 1


def routing(text: str) -> bool:
    """Whether nine digits are a routing number of a bank of the United States."""
    digits = [int(char) for char in text]
    district = int(text[:2])
    known = 1 <= district <= 12 or 21 <= district <= 32 or 61 <= district <= 72 or district == 80  # noqa: PLR2004 - ABA
    return known and sum(weight * digit for weight, digit in zip((3, 7, 1) * 3, digits, strict=True)) % 10 == 0


_NUMBERS: tuple[tuple[str, re.Pattern[str], Callable[[str], bool]], ...] = (
    ("account", _IBAN, iban),
    ("card", _CARD, luhn),
    ("account", _ROUTING, routing),
)


def _is_dense(text: str) -> bool:
    """Whether a long word is too even in its characters to be a name: a key, a digest, a token."""
    if "/" in text and text.count("/") > len(text) / 16:
        return False
    if re.fullmatch(r"[0-9a-fA-F-]+", text):
        return any(char.isdigit() for char in text)
    kinds = sum(bool(re.search(kind, text)) for kind in ("[a-z]", "[A-Z]", "[0-9]"))
    total = len(text)
    entropy = -sum(count / total * math.log2(count / total) for count in Counter(text).values())
    return kinds == len("aA0") and entropy >= 3.8  # noqa: PLR2004 - bits a character; English names have about 3.5
