"""How Sphinx builds the documentation site: `make docs`."""

import re
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

import generate_reference  # noqa: E402

import contexture  # noqa: E402

project = "Contexture"
author = "The Contexture developers"
copyright = author
version = release = contexture.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "Contexture"
html_show_sphinx = False
html_copy_source = False
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
autoclass_content = "both"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 100
autodoc_member_order = "bysource"
nitpicky = False
# Docstrings write code in single backticks.
default_role = "literal"

#: Long types in signatures → names that readers know.
SHORT_TYPES = {
    r"\S*_Buffer \| \S*_SupportsArray\b.*? \| \S*_NestedSequence\[complex \| bytes \| str\]": "ArrayLike",
    r"~?numpy\.ndarray\[tuple\[[^]]*\], ~?numpy\.dtype\[~?numpy\.(\w+)\]\]": r"ndarray[\1]",
}

generate_reference.write_pages(DOCS / "reference")


def shorten_types(*event: Any) -> tuple[str | None, str | None]:
    """Return a signature and a return annotation with short types."""
    signature, returned = (text and shorten(text) for text in event[-2:])
    return signature, returned


def shorten(text: str) -> str:
    """Apply `SHORT_TYPES`."""
    for pattern, name in SHORT_TYPES.items():
        text = re.sub(pattern, name, text)
    return text


def setup(app: Any) -> None:
    """Connect `shorten_types`."""
    app.connect("autodoc-process-signature", shorten_types)
