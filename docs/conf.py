"""How Sphinx builds the documentation site: `make docs`."""

import sys
from pathlib import Path

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
autodoc_typehints = "description"
autodoc_member_order = "bysource"
nitpicky = False

generate_reference.write_pages(DOCS / "reference")
