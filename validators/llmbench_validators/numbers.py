"""Numbers in plain text, as exact fractions.

The text is expected in the spelling of :func:`llmbench_validators.plain_maths.plain`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

_MAX_DIGITS = 300
_MAX_EXPONENT = 300

_DIGITS = r"[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]{1,2}(?:,[0-9]{2})+,[0-9]{3}(?![0-9])|[0-9]+"
_NUMBER = re.compile(
    rf"""
    (?: (?P<whole>[0-9]+)\s+ (?=[0-9]+/[0-9]) )?
    (?: (?P<dotted>[0-9]{{1,3}}(?:\.[0-9]{{3}}){{2,}})(?![0-9]|[,.][0-9])
      | (?P<german>[0-9]{{1,3}}(?:\.[0-9]{{3}})+,[0-9]+)
      | (?P<comma>(?<![0-9],)[0-9]+,(?:[0-9]{{1,2}}|[0-9]{{4,}}))(?![0-9]|[,./][0-9])
      | (?P<digits>{_DIGITS})? (?P<decimals>\.[0-9]+)? )
    (?: /(?P<below>[0-9]+)(?![0-9/]|[.,][0-9]) )?
    (?: [eE](?P<e>[-+]?[0-9]+)(?![0-9A-Za-z]) )?
    (?: \s{{0,3}}[x\u00d7*·]\s{{0,3}}10\s{{0,3}}\^\s{{0,3}}\{{?\s{{0,3}}(?P<ten>[-+]?[0-9]+)\s{{0,3}}\}}?
      | \^\{{?(?P<power>[-+]?[0-9]+)\}}? )?
    """,
    re.VERBOSE,
)
_START = re.compile(r"[0-9]|\.[0-9]")
_SCALE = re.compile(r"\s*(?:(k)|-?(hundred|thousand|million|billion|trillion))(?![A-Za-z0-9])", re.IGNORECASE)
_SCALES = {
    "k": 10**3,
    "hundred": 100,
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
}
_PERCENT = re.compile(r"\s*(?:%|per\s?cent\b|percentage points?\b)", re.IGNORECASE)
_MARKER_TAIL = re.compile(r"[.)][ \t]+\S")
_NOT_ALONE_AFTER = re.compile(
    r"\s{0,3}[*·\u00d7]?\s{0,3}[√π]|[A-Za-z]?\^|[xyznie](?![A-Za-z0-9])|_|!(?=\s*[-+*/=<])|\\|[:/.][0-9]"
)
_NOT_ALONE_BEFORE = re.compile(r"(?:[A-Za-z_^√π\\]-?|[√^]\s*[{(]?\s*-?|±\s*|[0-9][:/]?|\.)\Z")


@dataclass(frozen=True, slots=True)
class Number:
    """A number found in a text.

    ``value`` is None where the digits are only part of something that is no plain number (``4√2``, ``±3``,
    ``x2``). ``percent`` says that a percent sign or word follows; the value is then still the number before it.
    """

    value: Fraction | None
    percent: bool
    start: int
    end: int


def find_numbers(text: str) -> list[Number]:
    """All numbers of the text in order; list markers at a line's start (``2. ``) are left out."""
    found: list[Number] = []
    position = 0
    while (begin := _START.search(text, position)) is not None:
        match = _NUMBER.match(text, begin.start())
        if match is None or match.end() == begin.start():
            position = begin.end()
            continue
        position = match.end()
        number = _number(text, match)
        if number is not None:
            position = max(position, number.end)
            found.append(number)
    return found


def whole_number(text: str) -> Number | None:
    """The one number that the whole text consists of, but for a unit of up to four words; else None."""
    numbers = find_numbers(text)
    if len(numbers) != 1 or numbers[0].value is None:
        return None
    before, after = text[: numbers[0].start], text[numbers[0].end :]
    tail = after.strip(" \t\r\n.!*_)]}\"'")
    if before.strip(" \t\r\n*_([{\"'~≈=:"):
        return None
    return numbers[0] if re.fullmatch(r"(?:[^\W\d_][\w.%²³^/·-]*(?:\s+|$)){0,4}", tail) else None


def _number(text: str, match: re.Match[str]) -> Number | None:
    start, end = match.span()
    if _is_list_marker(text, start, end):
        return None
    value = None if _tainted(text, start, end) else _value(match)
    scale = _SCALE.match(text, end)
    if scale and value is not None:
        value *= _SCALES[(scale[1] or scale[2]).casefold()]
        end = scale.end()
    percent = _PERCENT.match(text, end)
    sign = _sign_at(text, start)
    if sign is not None:
        start = sign
        value = None if value is None else -value
    return Number(value, percent is not None, start, percent.end() if percent else end)


def _is_list_marker(text: str, start: int, end: int) -> bool:
    if text[start:end].find(".") > 0 and not text[end - 1].isdigit():
        return False
    head = text[max(0, start - 20) : start]
    indent = head[head.rfind("\n") + 1 :] if "\n" in head or start <= len(head) else "far"
    return not indent.strip() and _MARKER_TAIL.match(text, end) is not None


def _tainted(text: str, start: int, end: int) -> bool:
    before = text[max(0, start - 6) : start]
    return bool(_NOT_ALONE_BEFORE.search(before)) or _NOT_ALONE_AFTER.match(text, end) is not None


def _value(match: re.Match[str]) -> Fraction | None:
    if len(match[0]) > _MAX_DIGITS:
        return None
    if match["dotted"]:
        value = Fraction(match["dotted"].replace(".", ""))
    elif match["german"]:
        value = Fraction(match["german"].replace(".", "").replace(",", "."))
    elif match["comma"]:
        value = Fraction(match["comma"].replace(",", "."))
    else:
        value = Fraction((match["digits"] or "0").replace(",", "") + (match["decimals"] or ""))
    if match["below"]:
        if int(match["below"]) == 0:
            return None
        value /= int(match["below"])
    value += int(match["whole"] or 0)
    return _raised(value, match)


def _raised(value: Fraction, match: re.Match[str]) -> Fraction | None:
    tens = int(match["e"] or 0) + int(match["ten"] or 0)
    power = int(match["power"] or 1)
    if abs(tens) > _MAX_EXPONENT or abs(power) > _MAX_EXPONENT or (value == 0 and power < 0):
        return None
    if abs(power) > 1 and value.numerator.bit_length() * abs(power) > 4 * _MAX_DIGITS:
        return None
    return Fraction(value**power) * Fraction(10) ** tens


def _sign_at(text: str, start: int) -> int | None:
    """Where a minus sign that belongs to the number begins; None for none, a bullet, a range or a subtraction."""
    head = text[max(0, start - 12) : start]
    sign = len(head.rstrip(" ")) - 1
    if sign < 0 or head[sign] != "-":
        return None
    at = start - len(head) + sign
    before = head[:sign]
    previous = before.rstrip(" \t")
    if sign != len(head) - 1:  # "- 7": a bullet or a dash, a sign only after an equals sign
        return at if previous.endswith(("=", "≈")) else None
    return None if _continues(previous, spaced=len(previous) < len(before)) else at


def _continues(previous: str, *, spaced: bool) -> bool:
    """Whether a minus after ``previous`` subtracts or joins instead of marking a negative number."""
    if not previous:
        return False
    last = previous[-1]
    if last.isdigit() or last in ")]%!":
        return True
    return not spaced and (last.isalpha() or last == "}")


_UNITS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"),
    *("ten", "eleven", "twelve", "thirteen", "fourteen"),
    *("fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_WORDS = {word: value for value, word in enumerate(_UNITS)}
_WORDS |= {word: 10 * value for value, word in enumerate(_TENS, 2)}


def word_number(text: str) -> int | None:
    """The value of an English number word that makes up the whole text, below a million: ``forty-two``."""
    words = re.findall(r"[a-z]+", text.casefold())
    if not words or len(words) > 12:
        return None
    total = current = 0
    for word in (word for word in words if word != "and"):
        if word in _WORDS:
            current += _WORDS[word]
        elif word == "hundred":
            current = max(current, 1) * 100
        elif word == "thousand":
            total, current = total + max(current, 1) * 1000, 0
        else:
            return None
    return total + current
