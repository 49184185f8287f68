"""Parameters of a run: the value of `kedro run --params`, and changes of nested values."""

import json
import re
from collections.abc import Mapping
from typing import Any

import yaml

#: Texts that a YAML parser may take for a number.
_NUMBER = re.compile(r"[-+]?[\d_.]+([eE][-+]?\d+)?")
#: Characters that JSON leaves as they are, and that YAML changes or rejects in quotation marks.
_UNQUOTED = re.compile("[\x7f-\x9f\ud800-\udfff\u2028\u2029\ufeff\ufffe\uffff]")


def split_parameters(text: str) -> list[str]:
    """Return the items `key=value` of `--params`. Commas in brackets and quotes do not separate them."""
    items: list[str] = []
    for part in text.split(","):
        if items and not is_complete(items[-1]):
            items[-1] += f",{part}"
        elif part.strip():
            items.append(part.strip())
    return items


def is_complete(item: str) -> bool:
    """Return whether the value of `key=value` closes the brackets or quotes that it begins with."""
    value = item.partition("=")[2].strip()
    if not value.startswith(("[", "{", '"', "'")):
        return True
    try:
        yaml.safe_load(value)
    except yaml.YAMLError:
        return False
    return True


def quote_parameter(value: Any) -> str:
    """Return the text of a parameter value for `kedro run --params`, which splits at commas and parses YAML."""
    if isinstance(value, str):
        try:
            is_plain = "," not in value and yaml.safe_load(value) == value
        except yaml.YAMLError:
            is_plain = False
        # Texts such as "no" and "a #b" are not plain strings in YAML. OmegaConf also reads 1e5 as a number.
        if is_plain and not _NUMBER.fullmatch(value):
            return value
    quoted = json.dumps(value, ensure_ascii=False)
    return _UNQUOTED.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted)


def merged(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested `values` with the nested `changes` merged in; lists are replaced."""
    both = {
        key: merged(values[key], value)
        if isinstance(value, Mapping) and isinstance(values.get(key), Mapping)
        else value
        for key, value in changes.items()
    }
    return {**values, **both}
