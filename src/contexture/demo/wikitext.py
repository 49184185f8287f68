"""Articles as wikitext, with the markup that real ones have around their sentences."""

from random import Random

from contexture.demo.grammar import compile_template, render, words
from contexture.demo.names import pick, source
from contexture.demo.world import Outline, Page, Section, Sentence, fill, region_name

_BOOK = compile_template("{surname}, {woman}, ''[Letters/Travels] from {region}'', {year}, p. {count}")
_CAPTION = compile_template("[The country near/An old map of] {town}")
_RELATED = compile_template("* {town}\n* {person}\n* {river}, {guild}")


def article(page: Page) -> str:
    """The page as wikitext: notes, infobox, sections, see also, references and categories."""
    about = page.outline
    rng = source(about.seed, about.index, "wikitext")
    lead, *sections = page.sections
    blocks = [_infobox(about, rng) + "\n" + _paragraph(lead.paragraphs[0], about, rng)]
    if rng.random() < 0.3:
        blocks.insert(0, f"{{{{About|the {about.kind.name}}}}}\n{{{{Use British English|date=May 2021}}}}")
    if rng.random() < 0.3:
        (caption,) = fill(about, [_CAPTION], about.slots, None, rng)
        blocks.append(f"[[File:{about.title}.jpg|thumb|right|{caption}]]")
    for section in sections:
        blocks += _section(section, about, rng)
    if rng.random() < 0.3:
        blocks.append(_table(rng))
    blocks.append("== See also ==\n" + fill(about, [_RELATED], about.slots, None, rng)[0])
    blocks.append("== References ==\n{{Reflist|30em}}")
    category = region_name(about.seed, about.region)
    blocks.append(f"[[Category:{category}]]\n[[Category:{about.kind.name.capitalize()}s|{about.title}]]")
    return "\n\n".join(blocks)


def _section(section: Section, about: Outline, rng: Random) -> list[str]:
    blocks = [f"== {section.heading} =="]
    for subheading, paragraph in zip(section.subheadings, section.paragraphs, strict=True):
        if subheading:
            blocks.append(f"==={subheading}===")
        blocks.append(_paragraph(paragraph, about, rng))
    return blocks


def _paragraph(sentences: tuple[Sentence, ...], about: Outline, rng: Random) -> str:
    return " ".join(sentence.text + _note(about, rng) for sentence in sentences)


def _note(about: Outline, rng: Random) -> str:
    if rng.random() > 0.15:
        return ""
    book = render(_BOOK, about.slots, rng)
    number = int(rng.random() * 100)
    return pick(
        (
            f"<ref>{book}</ref>",
            f'<ref name="note{number}">{{{{cite book |title={about.title} |quote={book} }}}}</ref>',
            f'<ref name="note{number}" />',
            "{{citation needed|date=May 2021}}",
            f"<!-- see {book} -->",
        ),
        rng,
    )


def _infobox(about: Outline, rng: Random) -> str:
    lines = fill(about, about.kind.infobox, about.slots, None, rng)
    place = f"{{{{coord|{int(rng.random() * 90)}|N|{int(rng.random() * 180)}|E|display=inline}}}}"
    fields = [f"name = {about.title}", *lines, f"coordinates = {place}"]
    return "\n".join([f"{{{{Infobox {about.kind.name}", *(f"| {field}" for field in fields), "}}"])


def _table(rng: Random) -> str:
    years = sorted({render(pick(words().lists["year"], rng), {}, rng) for _ in range(4)})
    rows = "".join(f"|-\n| {year} || {int(rng.random() * 9000)}\n" for year in years)
    return f'{{| class="wikitable sortable"\n|+ Counts by year\n! Year !! Number\n{rows}|}}'
