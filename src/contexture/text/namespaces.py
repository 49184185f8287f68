"""Names of MediaWiki's namespaces that an export does not list, and prefixes that lead to other wikis."""

import re

MEDIA, ARTICLE, FILE, CATEGORY = -2, 0, 6, 14

#: English names, which every wiki understands beside its own.
CANONICAL = {
    "media": -2,
    "special": -1,
    "talk": 1,
    "user": 2,
    "user talk": 3,
    "project": 4,
    "project talk": 5,
    "file": 6,
    "image": 6,
    "file talk": 7,
    "image talk": 7,
    "mediawiki": 8,
    "mediawiki talk": 9,
    "template": 10,
    "template talk": 11,
    "help": 12,
    "help talk": 13,
    "category": 14,
    "category talk": 15,
}

#: Older names of the file namespace by language: still understood, but not in the export's list.
FILE_ALIASES = {
    "ar": ("صورة",),
    "bg": ("картинка",),
    "ca": ("imatge",),
    "cs": ("soubor", "obrázek"),
    "da": ("billede",),
    "de": ("bild",),
    "el": ("εικόνα",),
    "es": ("imagen",),
    "fa": ("تصویر",),
    "fr": ("fichier",),
    "he": ("תמונה",),
    "hu": ("kép",),
    "id": ("gambar", "berkas"),
    "it": ("immagine",),
    "ja": ("画像",),
    "ko": ("그림",),
    "nl": ("afbeelding",),
    "no": ("bilde",),
    "pl": ("grafika",),
    "pt": ("imagem", "arquivo"),
    "ro": ("imagine",),
    "ru": ("изображение",),
    "sk": ("obrázok",),
    "sr": ("слика",),
    "sv": ("bild",),
    "tr": ("resim",),
    "uk": ("зображення",),
    "vi": ("hình",),
    "zh": ("图像", "圖像"),
}

# Prefixes of sister projects: such a link shows its text but leads to no article of this wiki.
_PROJECTS = (
    "b c commons d m meta mw n q s species v voy w wikt wikibooks wikidata wikimedia wikinews wikipedia "
    "wikiquote wikisource wikispecies wikiversity wikivoyage wiktionary arxiv doi iarchive isbn oclc pmid"
)
PROJECTS = frozenset(_PROJECTS.split())

#: A language code in front of a colon (interlanguage link): "fr", "zh-min-nan", "simple".
LANGUAGE_CODE = re.compile(r"(?:[a-z]{2,3}(?:-[a-z]{1,8}){0,3}|simple)")
