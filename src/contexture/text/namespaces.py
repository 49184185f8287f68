"""Names of MediaWiki's namespaces that an export does not list, and prefixes that lead to other wikis."""

import re

from contexture.text.tables import load_table

MEDIA, ARTICLE, FILE, CATEGORY = -2, 0, 6, 14

_TABLE = load_table("namespaces.yml")
#: English names, which every wiki understands beside its own.
CANONICAL: dict[str, int] = _TABLE["canonical"]
#: Older names of the file namespace by language.
FILE_ALIASES: dict[str, list[str]] = _TABLE["file_aliases"]
#: Prefixes of sister projects.
PROJECTS = frozenset(_TABLE["projects"].split())
#: A language code in front of a colon (interlanguage link): "fr", "zh-min-nan", "simple".
LANGUAGE_CODE = re.compile(r"(?:[a-z]{2,3}(?:-[a-z]{1,8}){0,3}|simple)")
