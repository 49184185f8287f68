"""Names of MediaWiki's namespaces that exports do not list, and prefixes of other wikis."""

import re

from contexture.text.tables import read_yaml

MEDIA, ARTICLE, FILE, CATEGORY = -2, 0, 6, 14

_TABLE = read_yaml("namespaces.yml")
#: English names, which are valid on all wikis.
CANONICAL: dict[str, int] = _TABLE["canonical"]
#: Older names of the file namespace by language.
FILE_ALIASES: dict[str, list[str]] = _TABLE["file_aliases"]
#: Prefixes of sister projects.
PROJECTS = frozenset(_TABLE["projects"].split())
#: Language code before the colon of an interlanguage link: "fr", "zh-min-nan", "simple".
LANGUAGE_CODE = re.compile(r"(?:[a-z]{2,3}(?:-[a-z]{1,8}){0,3}|simple)")
