"""Remove comments and references from wikitext, and replace HTML tags by line breaks or nothing."""

import re

from contexture.text.characters import GAP, unescape
from contexture.text.formulas import mhchem_to_text, tex_to_text

# Elements dropped with their content, which is not wikitext: the first closing tag ends them.
_OPAQUE_ELEMENTS = (
    "categorytree|ce|chem|gallery|graph|hiero|imagemap|includeonly|indicator|inputbox|mapframe|maplink|math|pre|"
    "ref|references|score|script|source|style|syntaxhighlight|templatedata|templatestyles|timeline"
)
_VISIBLE_ELEMENTS = {"hiero", "ref", "score"}  # within sentences
_FORMULAS = {"math": tex_to_text, "ce": mhchem_to_text, "chem": mhchem_to_text}
_OPENING_TAG = re.compile(rf"<(?:!--|({_OPAQUE_ELEMENTS}|nowiki)(?=[\s/>])[^<>]*>)", re.IGNORECASE)
_NOWIKI_ESCAPES = {ord(c): f"&#{ord(c)};" for c in "[]{}|'<>*#:;=_~!-&"} | {ord("\n"): " "}


def drop_opaque(text: str) -> str:
    """Return wikitext without comments and elements such as references; `nowiki` and simple formulas become text."""
    opener = _OPENING_TAG.search(text)
    if opener is None:
        return text
    pieces, done = [], 0
    unclosed: set[str] = set()  # names without further closing tags, to search for them only once
    while opener:
        name = (opener[1] or "").lower()
        start, end = opener.end(), opener.end()
        if name and not opener[0].endswith("/>") and name not in unclosed:
            closer = _get_closing_tag(name).search(text, start)
            start, end = (closer.start(), closer.end()) if closer else (start, start)
            if not closer:
                unclosed.add(name)
        elif not name and "!" not in unclosed:
            start = text.find("-->", opener.end())
            end = start + 3
            if start < 0:
                start = end = opener.end()
                unclosed.add("!")
        pieces.append(text[done : opener.start()])
        if name == "nowiki":
            pieces.append(unescape(text[opener.end() : start]).translate(_NOWIKI_ESCAPES) or GAP)
        elif name in _FORMULAS:
            fills_line = text[opener.start() - 1 : opener.start()] in ("\n", "") and text[end : end + 1] in ("\n", "")
            formula_text = "" if fills_line else _FORMULAS[name](unescape(text[opener.end() : start]))
            pieces.append(formula_text.translate(_NOWIKI_ESCAPES) or GAP)
        elif name in _VISIBLE_ELEMENTS:
            pieces.append(GAP)
        elif not name and text[opener.start() - 1 : opener.start()] == "\n" == text[end : end + 1]:
            end += 1  # drop the line break after a comment that fills a line, or it would split a paragraph
        done = end
        opener = _OPENING_TAG.search(text, done)
    pieces.append(text[done:])
    return "".join(pieces)


_CLOSING_TAGS: dict[str, re.Pattern[str]] = {}


def _get_closing_tag(name: str) -> re.Pattern[str]:
    """Return the pattern of an element's closing tag."""
    if name not in _CLOSING_TAGS:
        _CLOSING_TAGS[name] = re.compile(rf"</{name}\s*>", re.IGNORECASE)
    return _CLOSING_TAGS[name]


_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)(?=[\s/>])[^<>]*>")
_BREAKS = re.compile(r"<br(?=[\s/>])[^<>]*>(?:\s*<br(?=[\s/>])[^<>]*>)+", re.IGNORECASE)
_INLINE_TAGS = (
    "abbr b bdi bdo big cite code data del dfn em font i ins kbd mark noinclude nowiki onlyinclude poem q ref rb rp "
    "rt ruby s samp section small span strike strong sub sup time tt u var wbr"
)
_BLOCK_TAGS = "blockquote center dl div h1 h2 h3 h4 h5 h6 hr ol p tbody td th thead tr ul"
_TAG_TEXT = (
    dict.fromkeys(_INLINE_TAGS.split(), "")
    | dict.fromkeys(_BLOCK_TAGS.split(), "\n\n" + GAP)
    | {"li": "\n*", "dd": "\n*", "dt": "\n*", "br": GAP + " ", "table": "\n\n{|"}
)
_END_TEXT = dict.fromkeys(("li", "dd", "dt"), "\n") | {"table": "\n|}\n\n" + GAP}


def replace_tags(text: str) -> str:
    """Return wikitext without HTML tags: blocks separate paragraphs; list items and tables become those of wikitext."""
    return _TAG.sub(_replace_tag, _BREAKS.sub("\n\n", text)) if "<" in text else text


def _replace_tag(tag: re.Match[str]) -> str:
    """Return what replaces a matched HTML tag: line breaks, wikitext or ""; an unknown tag stays."""
    name = tag[2].lower()
    replacement = _TAG_TEXT.get(name)
    if replacement is None:
        return tag[0]
    if not replacement and tag.string[tag.start() - 1 : tag.start()] == "\n":
        return GAP  # or a space after the tag would make the line preformatted
    return _END_TEXT.get(name, replacement) if tag[1] else replacement
