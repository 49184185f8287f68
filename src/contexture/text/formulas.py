"""Convert simple TeX formulas to text; drop the others."""

import re

from contexture.text.tables import read_yaml

_MAX_TEX_CHARS = 120  # longer formulas are rarely part of a sentence
_TABLE = read_yaml("formulas.yml")
_SYMBOLS: dict[str, str] = _TABLE["symbols"] | {"quad": " ", "qquad": " "}
_NAMES = frozenset(_TABLE["names"].split())
_SILENT_COMMANDS = frozenset(_TABLE["silent"].split())
_PUNCTUATION = {",": " ", ";": " ", ":": " ", " ": " ", "!": "", "/": "", "{": "\1", "}": "\2", "%": "%", "$": "$",
                "_": "_", "&": "&", "#": "#", "|": "‖"}  # fmt: skip

# Visible braces, and those that only group.
_BRACES = {1: "{", 2: "}", ord("{"): None, ord("}"): None}
_FRACTION = re.compile(r"\\[dt]?frac\s*(?:\{([^{}]*)\}|([0-9a-zA-Z]))\s*(?:\{([^{}]*)\}|([0-9a-zA-Z]))")
_ROOT = re.compile(r"\\sqrt\s*\{([^{}]*)\}")
_SCRIPT = re.compile(r"([_^])\s*\{([^{}\\]*)\}")
_TOKEN = re.compile(r"\\(?:([a-zA-Z]+)|(.))|([{}~])|([^\\{}~]+)|\\", re.DOTALL)
_SPACE = re.compile(r"(?<=[(\[{]) | (?=[)\]},.;])")
_CHEMISTRY = re.compile(r"[A-Za-z0-9()\[\]+\-=., ^{}<>]+")
_WORD = re.compile(r"-?[\w′]+")


def tex_to_text(tex: str) -> str:
    """Return a TeX formula as text, such as "x_1^2 ≤ α"; "" if it is long or too complex."""
    if len(tex) > _MAX_TEX_CHARS:
        return ""
    tex = _FRACTION.sub(lambda m: f"{_add_brackets(m[1] or m[2] or '')}/{_add_brackets(m[3] or m[4] or '')}", tex)
    tex = _ROOT.sub(lambda m: f"√{_add_brackets(m[1])}", tex)
    pieces: list[str] = []
    for token in _TOKEN.finditer(tex):
        command, sign, structure, plain = token.groups()
        if command is not None:
            text = _SYMBOLS.get(command) or (command if command in _NAMES else "")
            if not text and command not in _SILENT_COMMANDS:
                return ""
            # A command includes the space after its name.
            pieces.append(f" {text} " if command in _NAMES else text)
        elif sign in _PUNCTUATION:
            pieces.append(_PUNCTUATION[sign])
        elif structure is not None:
            pieces.append(" " if structure == "~" else structure)
        elif plain is not None and "&" not in plain:
            pieces.append(plain)
        else:
            return ""
    text = _SCRIPT.sub(lambda m: m[1] + _add_brackets(m[2]), "".join(pieces))
    text = text.translate(_BRACES)
    return _SPACE.sub("", " ".join(text.split()))


def _add_brackets(part: str) -> str:
    """Return a part of a formula, in brackets unless it is one word or one command."""
    part = part.strip()
    return part if _WORD.fullmatch(part) or (part.startswith("\\") and part[1:].isalpha()) else f"({part})"


def mhchem_to_text(tex: str) -> str:
    """Return an mhchem formula as text: "H2O", "SO4^2-"; "" if it is long or has conditions of a reaction."""
    if len(tex) > _MAX_TEX_CHARS or not _CHEMISTRY.fullmatch(tex) or ">[" in tex:
        return ""
    return " ".join(tex.replace("{", "").replace("}", "").replace("<=>", "⇌").replace("->", "→").split())
