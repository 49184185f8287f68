"""Formulas that are converted to text, and those that are dropped."""

import pytest

from contexture.text.formulas import mhchem_to_text, tex_to_text

FORMULAS = {
    r"x_{1}^{2} \leq \alpha": "x_1^2 ≤ α",
    r"\frac{1}{2}": "1/2",
    r"\tfrac12": "1/2",
    r"\frac{a+b}{2c}": "(a+b)/2c",
    r"2^{n+1}": "2^(n+1)",
    r"x^{\beta}": "x^β",
    r"\sqrt{2}": "√2",
    r"f\colon X \to \mathbb{R}": "f: X → R",
    r"\left( a, b \right)": "(a, b)",
    r"\{1,\,2\}": "{1, 2}",
    r"\begin{matrix} 1 \end{matrix}": "",
    r"a & b": "",
    r"a \\ b": "",
    r"\unknowncommand x": "",
    "x" * 200: "",
    "\\": "",
}


@pytest.mark.parametrize(("tex", "expected"), FORMULAS.items())
def test_formula(tex: str, expected: str) -> None:
    assert tex_to_text(tex) == expected


CHEMISTRY = {"SO4^2-": "SO4^2-", "A + B -> C": "A + B → C", "A <=> B": "A ⇌ B", "A ->[heat] B": "", "": ""}


@pytest.mark.parametrize(("tex", "expected"), CHEMISTRY.items())
def test_chemistry(tex: str, expected: str) -> None:
    assert mhchem_to_text(tex) == expected
