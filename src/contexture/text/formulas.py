"""Formulas of TeX that are simple enough to be read as text; the others are dropped.

A sentence that says "where n is the number of" is worth more than one that says "where is the number of".
"""

import re

_LONGEST = 120  # characters of TeX; a longer one is rarely part of a sentence
_SYMBOL_TABLE = """
    alpha α beta β gamma γ delta δ epsilon ε varepsilon ε zeta ζ eta η theta θ vartheta θ iota ι kappa κ lambda λ
    mu μ nu ν xi ξ pi π rho ρ sigma σ varsigma ς tau τ upsilon υ phi φ varphi φ chi χ psi ψ omega ω Gamma Γ Delta Δ
    Theta Θ Lambda Λ Xi Ξ Pi Π Sigma Σ Upsilon Υ Phi Φ Psi Ψ Omega Ω ell ℓ hbar ħ partial ∂ nabla ∇ infty ∞ Re ℜ
    Im ℑ aleph ℵ emptyset ∅ varnothing ∅ forall ∀ exists ∃ times × cdot · div ÷ pm ± mp ∓ ast * star * circ ∘
    bullet • oplus ⊕ otimes ⊗ cup ∪ cap ∩ setminus ∖ land ∧ wedge ∧ lor ∨ vee ∨ lnot ¬ neg ¬ le ≤ leq ≤ ge ≥ geq ≥
    ll ≪ gg ≫ ne ≠ neq ≠ approx ≈ sim ∼ simeq ≃ cong ≅ equiv ≡ propto ∝ in ∈ notin ∉ ni ∋ subset ⊂ subseteq ⊆
    supset ⊃ supseteq ⊇ to → rightarrow → leftarrow ← leftrightarrow ↔ Rightarrow ⇒ Leftarrow ⇐ Leftrightarrow ⇔
    mapsto ↦ longrightarrow → iff ⇔ implies ⇒ mid | vert | perp ⊥ parallel ∥ angle ∠ prime ′ dagger † langle ⟨
    rangle ⟩ lfloor ⌊ rfloor ⌋ lceil ⌈ rceil ⌉ ldots … dots … cdots … dotsc … dotsb … sum ∑ prod ∏ int ∫ R ℝ N ℕ Z ℤ
    Q ℚ C ℂ colon :
"""
_SYMBOLS = dict(zip(_SYMBOL_TABLE.split()[::2], _SYMBOL_TABLE.split()[1::2], strict=True)) | {"quad": " ", "qquad": " "}
_SHOWN = """
    arccos arcsin arctan arg cos cosh cot deg det dim exp gcd inf ker lcm lim ln log max min mod Pr sin sinh sup tan
    tanh
"""
_NAMES = frozenset(_SHOWN.split())
# They change how letters look, not which they are.
_LOOKS = """
    bar bf big Big bigl bigr boldsymbol displaystyle hat it left limits mathbb mathbf mathcal mathfrak mathit mathop
    mathrm mathsf mbox nolimits operatorname right rm scriptstyle text textbf textit textrm textstyle tilde vec
"""
_SILENT = frozenset(_LOOKS.split())
_PUNCTUATION = {",": " ", ";": " ", ":": " ", " ": " ", "!": "", "/": "", "{": "{", "}": "}", "%": "%", "$": "$",
                "_": "_", "&": "&", "#": "#", "|": "‖"}  # fmt: skip

_FRACTION = re.compile(r"\\[dt]?frac\s*(?:\{([^{}]*)\}|([0-9a-zA-Z]))\s*(?:\{([^{}]*)\}|([0-9a-zA-Z]))")
_ROOT = re.compile(r"\\sqrt\s*\{([^{}]*)\}")
_SCRIPT = re.compile(r"([_^])\s*\{([^{}\\]*)\}")
_TOKEN = re.compile(r"\\(?:([a-zA-Z]+)|(.))|([{}~])|([^\\{}~]+)|\\", re.DOTALL)
_SPACE = re.compile(r"(?<=[(\[{]) | (?=[)\]},.;])")
_WORD = re.compile(r"-?[\w′]+")


def formula(tex: str) -> str:
    """A formula as text, such as "x_1^2 ≤ α"; "" where it is long or has more than letters, signs and simple fractions.

    A raised or lowered expression of several signs gets brackets, as do the two parts of a fraction.
    """
    if len(tex) > _LONGEST:
        return ""
    tex = _FRACTION.sub(lambda m: f"{_group(m[1] or m[2] or '')}/{_group(m[3] or m[4] or '')}", tex)
    tex = _ROOT.sub(lambda m: f"√{_group(m[1])}", tex)
    pieces: list[str] = []
    for token in _TOKEN.finditer(tex):
        command, sign, structure, plain = token.groups()
        if command is not None:
            text = _SYMBOLS.get(command) or (command if command in _NAMES else "")
            if not text and command not in _SILENT:
                return ""
            # A command takes the space after its name with it.
            pieces.append(f" {text} " if command in _NAMES else text)
        elif sign is not None:
            text = _PUNCTUATION.get(sign, "\\")
            if text == "\\":
                return ""
            pieces.append("\0" + text if text in ("{", "}") else text)
        elif structure is not None:
            pieces.append(" " if structure == "~" else structure)
        elif plain is None or "&" in plain:
            return ""
        else:
            pieces.append(plain)
    shown = _SCRIPT.sub(lambda m: m[1] + _group(m[2]), "".join(pieces).replace("\0{", "\1").replace("\0}", "\2"))
    shown = shown.replace("{", "").replace("}", "").replace("\1", "{").replace("\2", "}")
    return _SPACE.sub("", " ".join(shown.split()))


def _group(part: str) -> str:
    part = part.strip()
    return part if _WORD.fullmatch(part) or (part.startswith("\\") and part[1:].isalpha()) else f"({part})"


_CHEMISTRY = re.compile(r"[A-Za-z0-9()\[\]+\-=., ^{}<>]+")


def chemistry(tex: str) -> str:
    """A formula of mhchem as text: "H2O", "SO4^2-"; "" for a long one and for reactions with conditions."""
    if len(tex) > _LONGEST or not _CHEMISTRY.fullmatch(tex) or ">[" in tex:
        return ""
    return " ".join(tex.replace("{", "").replace("}", "").replace("<=>", "⇌").replace("->", "→").split())
