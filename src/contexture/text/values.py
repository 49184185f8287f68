"""Templates whose text is computed from their arguments: numbers with units, dates, ages, fractions.

Each function takes a template's arguments and the wiki's language, and returns the shown text, or "". Converted units,
and values that depend on the current day, are omitted.
"""

import re
from collections.abc import Callable

from contexture.text.characters import GAP
from contexture.text.namespaces import LANGUAGE_CODE
from contexture.text.tables import read_yaml

#: A template's arguments by name; unnamed ones are "1", "2", …
Arguments = dict[str, str]

_TABLE = read_yaml("values.yml")
# Thousands and decimal separators by language; the default is 1,234.5.
_SEPARATORS = dict.fromkeys(_TABLE["point_languages"].split(), (".", ",")) | dict.fromkeys(
    _TABLE["space_languages"].split(), (" ", ",")
)
_RANGES: dict[str, str] = _TABLE["ranges"]
_UNITS: dict[str, str] = _TABLE["units"]
_PARTS_OF_UNITS = frozenset(_TABLE["parts_of_units"].split())
_MONTHS = {lang: names.split() for lang, names in _TABLE["months"].items()}
_NUMBER = re.compile(r"[-+−–]?[0-9][0-9,. \xa0]*(?:[+/⁄][0-9./⁄]+)?(?:e[-+]?[0-9]+)?", re.IGNORECASE)
_PLAIN = re.compile(r"([-+−]?)([0-9]{4,})(?:\.([0-9]+))?|([-+−]?[0-9]{1,3})\.([0-9]+)")
_DIGITS = re.compile(r"[0-9]{1,4}")


def get_positional(arguments: Arguments) -> list[str]:
    """Return the arguments "1", "2", … up to the first missing one."""
    values: list[str] = []
    while (value := arguments.get(str(len(values) + 1))) is not None:
        values.append(value)
    return values


def format_number(number: str, lang: str) -> str:
    """Format a number (decimal point, no groups) for the language; return other text unchanged."""
    match = _PLAIN.fullmatch(number)
    if match is None:
        return number
    thousands, point = _SEPARATORS.get(lang, (",", "."))
    sign, digits, decimals, short, short_decimals = match.groups()
    if short is not None:
        return f"{short}{point}{short_decimals}"
    groups = f"{int(digits):,}".replace(",", thousands) if len(digits) < 40 else digits
    return sign + groups + (point + decimals if decimals else "")


def number(arguments: Arguments, lang: str) -> str:
    """Return a number in the language's format: "4,000" for English `{{formatnum:4000}}`."""
    return format_number(arguments.get("1", "").strip(GAP), lang)


def convert(arguments: Arguments, lang: str) -> str:
    """Return the original value with its unit: "10 km" for `{{convert|10|km|mi}}`; also ranges and "5 ft 8 in"."""
    values = [value.strip(GAP) for value in get_positional(arguments)]
    pieces: list[str] = []
    i = 0
    while i < len(values):
        pieces.append(format_number(values[i].replace(",", ""), lang) if _NUMBER.fullmatch(values[i]) else values[i])
        between = _RANGES.get(values[i + 1].lower()) if i + 2 < len(values) else None
        if between and _NUMBER.fullmatch(values[i + 2]):
            pieces.append(between)
            i += 2
            continue
        if i + 1 < len(values):
            unit = values[i + 1]
            pieces.append(" " + _UNITS.get(unit.lower(), unit))
        i += 2
        if i + 1 >= len(values) or values[i + 1] not in _PARTS_OF_UNITS or not _NUMBER.fullmatch(values[i]):
            break
        pieces.append(" ")
    return "".join(pieces)


def value(arguments: Arguments, lang: str) -> str:
    """Return a value with error, exponent and unit: "6.241±0.003×10^18 C" for `{{val|6.241|0.003|e=18|u=C}}`."""
    first, *rest = get_positional(arguments) or [""]
    result = format_number(first.replace(",", ""), lang)
    if len(rest) > 1 and rest[0] in _RANGES:
        result += _RANGES[rest[0]] + format_number(rest[1], lang)
    elif rest and rest[0]:
        result += "±" + format_number(rest[0].lstrip("+-−"), lang)
    if arguments.get("e"):
        result += ("×" if result else "") + f"10^{arguments['e']}"
    unit = arguments.get("u") or arguments.get("ul") or ""
    per = arguments.get("up") or arguments.get("upl")
    result = f"{arguments.get('p', '')}{result}{arguments.get('s', '')}"
    if unit or per:
        result += f" {unit}" + (f"/{per}" if per else "")
    return result


def measure(arguments: Arguments, lang: str) -> str:
    """Return a number with its unit: "1 MHz" for Italian `{{M|1|M|Hz}}`, "10 km" for French `{{unité|10|km}}`."""
    first, *rest = get_positional(arguments) or [""]
    unit = "".join(rest) or arguments.get("u") or arguments.get("ul") or ""
    power = arguments.get("e")
    return f"{format_number(first, lang)}{f'×10^{power}' if power else ''}{' ' if unit else ''}{unit}"


def fraction(arguments: Arguments, lang: str) -> str:
    """Return a fraction: "1/3" for `{{frac|3}}`, "2/3" for `{{frac|2|3}}`, "1 2/3" for `{{frac|1|2|3}}`."""
    values = get_positional(arguments)[:3]
    if not values or not values[-1]:
        return ""
    whole = f"{values[0]} " if len(values) == 3 and values[0] else ""
    return f"{whole}{values[-2] if len(values) > 1 else 1}/{values[-1]}"


def _format_date(year: str, month: str, day: str, lang: str) -> str:
    """Return a date in the language's format; day and month may be empty."""
    names = _MONTHS.get(lang, [])
    if _DIGITS.fullmatch(month) and 1 <= int(month) <= len(names):
        month = names[int(month) - 1]
    elif not names:
        return "-".join(part.zfill(2) for part in (year, month, day) if part)
    if day:
        day = day.lstrip("0") + ("." if lang == "de" else "")
    return (" de " if lang in ("es", "pt") else " ").join(part for part in (day, month, year) if part)


def date(arguments: Arguments, lang: str) -> str:
    """Return a date: "2 January 1900" for `{{birth date|1900|1|2}}`; other text unchanged."""
    values = get_positional(arguments)[:3]
    if not values or not _DIGITS.fullmatch(values[0]):
        return " ".join(filter(None, values))
    year, month, day = (*values, "", "")[:3]
    return _format_date(year, month, day, lang)


def day_first(arguments: Arguments, lang: str) -> str:
    """Return a date whose arguments are day, month, year: `{{fecha|2|1|1900}}`, `{{date|2|janvier|1900}}`."""
    values = get_positional(arguments)[:3]
    return " ".join(filter(None, values)) if len(values) < 3 else _format_date(values[2], values[1], values[0], lang)


def _count_years(born: list[str], other: list[str]) -> int | None:
    """Return the full years between two dates (year, month, day); None if a part is missing or no number."""
    if len(born) < 3 or len(other) < 3 or not all(_DIGITS.fullmatch(part) for part in (*born, *other)):
        return None
    first, last = tuple(map(int, born)), tuple(map(int, other))
    return last[0] - first[0] - (last[1:] < first[1:])


def date_of_death(arguments: Arguments, lang: str) -> str:
    """Return a date of death: "6 May 1980 (aged 80)" for `{{death date and age|1980|5|6|1900|1|2}}`."""
    values = get_positional(arguments)
    result = date(arguments, lang)
    years = _count_years(values[3:6], values[:3])
    return f"{result} (aged {years})" if lang == "en" and years is not None else result


def age(arguments: Arguments, lang: str) -> str:
    """Return an age in years: "80" for `{{age|1900|1|2|1980|5|6}}`; "" if it depends on the current day."""
    values = get_positional(arguments)
    years = _count_years(values[:3], values[3:6])
    return "" if years is None else str(years)


def as_of(arguments: Arguments, lang: str) -> str:
    """Return the words for a date of validity: "as of March 2011" for `{{as of|2011|3|lc=y}}`."""
    start = arguments.get("pre", "").strip()
    since = arguments.get("since")
    word = "since" if since else "as of"
    if arguments.get("alt"):
        return arguments["alt"]
    if not arguments.get("lc") and not start:
        word = word.capitalize()
    return f"{start} {word} {date(arguments, lang)}{arguments.get('post', '')}".strip()


def music(arguments: Arguments, lang: str) -> str:
    """Return the sign of an accidental: "♭" for `{{music|flat}}`; "" for other arguments."""
    result: str = _TABLE["accidentals"].get(arguments.get("1", "").lower(), "")
    return result


def interlanguage(arguments: Arguments, lang: str) -> str:
    """Return the title on this wiki: "Title" for `{{ill|Title|de|Titel}}`; "Titel" for `{{ill|de|Titel}}`."""
    first, second = arguments.get("1", ""), arguments.get("2", "")
    if LANGUAGE_CODE.fullmatch(first) and second and not LANGUAGE_CODE.fullmatch(second):
        first = second
    return arguments.get("lt") or first


def sic(arguments: Arguments, lang: str) -> str:
    """Return the text of a marked error: "recieve" for `{{sic|recieve}}`, both for `{{sic|occured|occurred}}`."""
    return "".join(value for value in get_positional(arguments) if value not in ("?", "!"))


#: Functions for the table of templates.
FUNCTIONS: dict[str, Callable[[Arguments, str], str]] = {
    function.__name__.replace("_", " "): function
    for function in (
        *(age, as_of, convert, date, date_of_death, day_first, fraction, interlanguage, measure, music, number, sic),
        value,
    )
}
