"""Small tasks for encoders of sentences, in the files that SentEval reads.

Each turns on words that belong together though no row says so: the telling words of one row are hardly ever those of
another, but the novels use both in the same scenes.
"""

from collections.abc import Iterator
from random import Random

from contexture.demo import sentence_pairs
from contexture.demo.fields import BRIGHT, COARSE, GRIM, fields, frames, moods, named, passers_by, sentence, some
from contexture.demo.grammar import render, topics
from contexture.demo.names import pick, shuffled, source

#: A file of tuples of four sentences, which SentEval does not have.
ANALOGIES = "analogies.tsv"

_FRAMES = "sentence_tasks.yml"
#: A published fine label for each coarse one.
_FINE = {"ABBR": "abb", "DESC": "reason", "ENTY": "product", "HUM": "ind", "LOC": "other", "NUM": "count"}
#: Words of each coarse label that only training questions have, and how often each word is asked with.
_TRAINED, _ASKED = 20, 2
_ANALOGIES_A_CATEGORY = 25

#: Path, with `/`, and lines of a file.
TaskFile = tuple[str, list[str]]


def task_files(seed: int) -> Iterator[TaskFile]:
    """MR, SUBJ, TREC, SICK, MRPC, STSBenchmark and STS14 in SentEval's formats and layout, and `ANALOGIES`.

    Everything is a function of the seed. The lines of `ANALOGIES` are a category and four sentences, separated by
    tabs. No sentence is one of the novels or of the articles.
    """
    makers = (_mr, _subj, _trec, sentence_pairs.sick, sentence_pairs.mrpc, sentence_pairs.sts, _analogies)
    for maker in makers:
        yield from maker(seed, source(seed, "sentence task", maker.__name__))


def rows_of(path: str, lines: list[str]) -> int:
    """The rows of a file: lines that are no header, and no scores that belong to the rows of another file."""
    return 0 if "/STS.gs." in path else len(lines) - path.startswith(("SICK/", "MRPC/"))


def _mr(seed: int, rng: Random) -> Iterator[TaskFile]:
    """Each word of a mood in one sentence only, so that nothing but what is like it tells the sentence's label."""
    for ending, mood in (("pos", BRIGHT), ("neg", GRIM)):
        lines = []
        for word in shuffled(moods()[mood], rng):
            thing = pick(topics()[pick(tuple(topics()), rng)].terms, rng)
            slots = passers_by(seed, rng) | named("ax", (thing, word))
            lines.append(render(pick(frames(_FRAMES)["opinion"], rng), slots, rng))
        yield f"MR/rt-polarity.{ending}", lines


def _subj(seed: int, rng: Random) -> Iterator[TaskFile]:
    """Each word of a field in one sentence only, as in MR."""
    for ending, field in (("objective", "records"), ("subjective", "feelings")):
        lines = []
        for word in shuffled(fields()[field], rng):
            slots = passers_by(seed, rng) | named("a", (word,))
            lines.append(render(pick(frames(_FRAMES)["register"], rng), slots, rng))
        yield f"SUBJ/subj.{ending}", lines


def _trec(seed: int, rng: Random) -> Iterator[TaskFile]:
    """No word that tells a label is in both files."""
    words = {label: shuffled(fields()[label], rng) for label in COARSE}
    for name, part in (("train_5500", slice(_TRAINED)), ("TREC_10", slice(_TRAINED, None))):
        lines = []
        for label in COARSE:
            for word in words[label][part] * _ASKED:
                slots = passers_by(seed, rng) | named("a", (word,))
                question = sentence(pick(frames(_FRAMES)["question"], rng), slots, rng)
                lines.append(f"{label}:{_FINE[label]} {question}")
        yield f"TREC/{name}.label", shuffled(lines, rng)


def _analogies(seed: int, rng: Random) -> Iterator[TaskFile]:
    """Two pairs of sentences that differ by the same word; those of one pair share all the others."""
    lines = []
    for key, forms in frames(_FRAMES).items():
        group, _, category = key.partition("/")
        if group != "analogies":
            continue
        for _ in range(_ANALOGIES_A_CATEGORY):
            texts = []
            for _ in range(2):
                field = pick(tuple(fields()), rng)
                slots = passers_by(seed, rng) | named("ab", some(fields()[field], 2, rng))
                texts += [sentence(form, slots, rng) for form in forms]
            lines.append("\t".join((category, *texts)))
    yield ANALOGIES, lines
