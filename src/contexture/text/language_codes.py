"""Convert three-letter language codes (ISO 639-3) to the two letters of MediaWiki and this project (ISO 639-1)."""

import re

_CODES = (
    "aar aa abk ab afr af aka ak amh am ara ar asm as aym ay aze az bak ba bel be ben bn bih bh bis bi bod bo bos bs "
    "bre br bul bg cat ca ces cs cos co cym cy dan da deu de dzo dz ell el eng en epo eo est et eus eu fao fo fas fa "
    "fij fj fin fi fra fr fry fy gla gd gle ga glg gl glv gv grn gn guj gu hat ht hau ha heb he hin hi hrv hr hun hu "
    "hye hy ibo ig iku iu ile ie ina ia ind id ipk ik isl is ita it jav jv jpn ja kal kl kan kn kas ks kat ka kaz kk "
    "khm km kin rw kir ky kor ko kur ku lao lo lat la lav lv lin ln lit lt ltz lb lug lg mal ml mar mr mkd mk mlg mg "
    "mlt mt mon mn mri mi msa ms mya my nau na nep ne nld nl nno nn nor no nya ny oci oc ori or orm om pan pa pol pl "
    "por pt pus ps que qu roh rm ron ro run rn rus ru sag sg san sa sin si slk sk slv sl smo sm sna sn snd sd som so "
    "sot st spa es sqi sq srp sr ssw ss sun su swa sw swe sv tam ta tat tt tel te tgk tg tgl tl tha th tir ti ton to "
    "tsn tn tso ts tuk tk tur tr twi tw uig ug ukr uk urd ur uzb uz ven ve vie vi vol vo wol wo xho xh yid yi yor yo "
    "zha za zho zh zul zu"
)
# Single languages of groups that share two letters, as MediaWiki uses them.
_GROUP_CODES = (
    "arb ar azj az cmn zh ekk et khk mn kmr ku lvs lv nob no npi ne ory or pes fa plt mg swh sw uzn uz ydd yi zsm ms"
)
_PAIRS = [*_CODES.split(), *_GROUP_CODES.split()]
_TWO_LETTERS = dict(zip(_PAIRS[::2], _PAIRS[1::2], strict=True))
_WITH_COUNTRY = re.compile(r"[A-Za-z]{2,3}(-([A-Za-z]{2}|[0-9]{3}))?")


def two_letter_code(code: str) -> str:
    """Return the two-letter code of a language if it has one, else the code unchanged."""
    return _TWO_LETTERS.get(code, code)


def strip_region(code: str) -> str:
    """Return the two-letter code without region, from any case: "en" for "en-GB", "eng" and "EN"."""
    return two_letter_code(code.lower().replace("_", "-").partition("-")[0])


def normalize_code(code: str) -> str:
    """Return the code in lower case, of two letters if it has any, without country: "en" for "en-US", "eng" and "EN".

    Scripts and dialects stay ("sr-latn"), because such text looks like another language than "sr".
    """
    return strip_region(code) if _WITH_COUNTRY.fullmatch(code) else code.lower()
