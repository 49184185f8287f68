"""The pages of an export that are no articles: redirects, lists, other namespaces and broken pages."""

from collections.abc import Iterator
from dataclasses import dataclass

from contexture.demo.grammar import kinds
from contexture.demo.names import stem
from contexture.demo.world import has_redirect, lead, outline, region_name

#: Page ids are handed out in blocks of this size, one for each region: its articles first, then its other pages.
IDS_PER_REGION = 50


@dataclass(frozen=True, slots=True)
class Entry:
    """One page of an export."""

    id: int
    title: str
    namespace: int
    text: str
    redirect: str | None = None


def article_id(index: int) -> int:
    """The page id of article `index`."""
    region, place = divmod(index, len(kinds()))
    return region * IDS_PER_REGION + place + 1


def extras(seed: int, region: int, pages: int) -> Iterator[Entry]:
    """The other pages of a region of a world of `pages` articles."""
    first = region * len(kinds())
    members = range(first, min(first + len(kinds()), pages))
    next_id = region * IDS_PER_REGION + len(kinds())
    for number, (title, namespace, text, redirect) in enumerate(_pages(seed, region, members), start=1):
        yield Entry(next_id + number, title, namespace, text, redirect)


def _pages(seed: int, region: int, members: range) -> Iterator[tuple[str, int, str, str | None]]:
    name = region_name(seed, region)
    outlines = [outline(seed, index) for index in members]
    for about in outlines:
        if has_redirect(about.index):
            yield about.alias, 0, f"#REDIRECT [[{about.title}]]\n\n{{{{R from other name}}}}", about.title
    # A redirect to a redirect, and one to a section: real dumps have both.
    yield f"Ancient {outlines[0].title}", 0, f"#redirect [[{outlines[0].alias}]]", outlines[0].alias
    target = f"{outlines[-1].title}#See also"
    yield f"{name} studies", 0, f"#REDIRECT [[{target}]]", target
    senses = "\n".join(f"* [[{about.title}]], a {about.kind.name} of {name}" for about in outlines[:3])
    yield (
        f"{name} (disambiguation)",
        0,
        f"'''{name}''' may refer to:\n\n{senses}\n\n{{{{disambiguation}}}}",
        None,
    )
    towns = [about for about in outlines if about.kind.name == "town"]
    rows = "\n".join(f"* [[{about.title}]]" for about in towns)
    yield f"List of towns in {name}", 0, f"This is a list of the towns of {name}.\n\n{rows}", None
    yield f"Category:{name}", 14, f"Pages on '''{name}'''.\n\n[[Category:Regions]]", None
    yield (
        f"Talk:{outlines[0].title}",
        1,
        "== Sources ==\nDoes anybody know a better source for this? ~~~~\n: No. ~~~~",
        None,
    )
    yield f"Template:{name}", 10, f"<noinclude>About {name}.</noinclude>{{{{{{1|}}}}}}", None
    opening = " ".join(sentence.text for sentence in lead(outlines[-1]))
    yield f"{stem(seed, members[0]).capitalize()} notes", 0, _broken(region, opening), None


def _broken(region: int, text: str) -> str:
    """A page as careless editors leave them, of another sort in each region."""
    return (
        f"{{{{Infobox town\n| name = never closed\n| area = {{{{convert|3|ha}}\n\n{text}",
        "",
        f"{text}<ref>A note that nobody closed.\n\n{text}",
        f'{{| class="wikitable"\n! No end\n|-\n| of the table\n\n{text}',
        f"{text} }}}} ]] |}} '''''\n\n== Half a heading\n[[Unclosed link and {text}",
        "{{" * 100 + "deep" + "}}" * 60 + f"\n\n{text}",
    )[region % 6]
