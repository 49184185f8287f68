"""Small tasks for sentence encoders in the file formats of SentEval and SNLI.

The labels depend on related words, which rows hardly share but which occur in the same scenes of the novels.
"""

import json
from collections.abc import Iterator
from random import Random
from typing import Any

from contexture.demo.fields import (
    BRIGHT,
    GRIM,
    REGIONS,
    TREC_LABELS,
    draw_people,
    fields,
    fill_letters,
    frames,
    moods,
    render_sentence,
    sample,
    towns,
)
from contexture.demo.grammar import Template, render, topics
from contexture.demo.names import pick, seeded_random, shuffle
from contexture.demo.questions import contrary_facts, fact_slots
from contexture.demo.world import Outline, Slots, capitalize, draw_facts, fill_templates, strip_links

#: File of analogies, which is not part of SentEval.
ANALOGIES = "analogies.tsv"
#: Published names of the subsets of STS14.
SUBSETS = ("deft-forum", "deft-news", "headlines", "images", "OnWN", "tweet-news")
#: Number of premises in each part of SNLI.
PREMISES = {"train": 400, "dev": 100, "test": 100}
LABELS = ("entailment", "contradiction", "neutral")

_FRAMES_FILE = "sentence_tasks.yml"
#: A published fine label for each coarse label.
_TREC_FINE_LABELS = {"ABBR": "abb", "DESC": "reason", "ENTY": "product", "HUM": "ind", "LOC": "other", "NUM": "count"}
#: Words per coarse label for training questions only, and questions per word.
_NUM_TRAIN_WORDS, _QUESTIONS_PER_WORD = 20, 2
_ANALOGIES_PER_CATEGORY = 25
_MRPC_PAIRS = {"train": 300, "test": 150}
_SICK_PAIRS = {"train": 300, "trial": 60, "test_annotated": 200}
_STSB_PAIRS = {"train": 300, "dev": 100, "test": 200}
_STS14_PAIRS = 100
#: Kind of a pair of SICK → label, minimal and maximal relatedness.
_SICK_KINDS = {
    "same fact": ("ENTAILMENT", 4.2, 5.0),
    "contrary fact": ("CONTRADICTION", 3.3, 4.3),
    "same topic": ("NEUTRAL", 2.4, 3.4),
    "other topic": ("NEUTRAL", 1.0, 1.8),
}

#: Path with `/`, and lines of a file.
TaskFile = tuple[str, list[str]]


def task_files(seed: int) -> Iterator[TaskFile]:
    """Yield MR, SUBJ, TREC, SICK, MRPC, STSBenchmark and STS14 in SentEval's layout, and `ANALOGIES`.

    The lines of `ANALOGIES` are a category and four sentences, separated by tabs. No sentence occurs in novels or
    articles.
    """
    # The names of these functions seed their random numbers.
    for maker in (_mr, _subj, _trec, sick, mrpc, sts, _analogies):
        yield from maker(seed, seeded_random(seed, "sentence task", maker.__name__))


def count_rows(path: str, num_lines: int) -> int:
    """Return the number of rows of a file, without headers and files of scores."""
    return 0 if "/STS.gs." in path else num_lines - path.startswith(("SICK/", "MRPC/"))


def _mr(seed: int, rng: Random) -> Iterator[TaskFile]:
    """Yield the two files of MR: sentences with a positive or a negative word.

    Each word is in one sentence only, so that only similar words predict the label.
    """
    for ending, mood in (("pos", BRIGHT), ("neg", GRIM)):
        lines = []
        for word in shuffle(moods()[mood], rng):
            thing = pick(topics()[pick(tuple(topics()), rng)].terms, rng)
            slots = draw_people(seed, rng) | fill_letters("ax", (thing, word))
            lines.append(render(pick(frames(_FRAMES_FILE)["opinion"], rng), slots, rng))
        yield f"MR/rt-polarity.{ending}", lines


def _subj(seed: int, rng: Random) -> Iterator[TaskFile]:
    """Yield the two files of SUBJ: objective sentences (records) and subjective ones (feelings).

    Each word is in one sentence only, as in MR.
    """
    for ending, field in (("objective", "records"), ("subjective", "feelings")):
        lines = []
        for word in shuffle(fields()[field], rng):
            slots = draw_people(seed, rng) | fill_letters("a", (word,))
            lines.append(render(pick(frames(_FRAMES_FILE)["register"], rng), slots, rng))
        yield f"SUBJ/subj.{ending}", lines


def _trec(seed: int, rng: Random) -> Iterator[TaskFile]:
    """Yield the training and the test file of TREC: questions with labels. No word that predicts a label is in both."""
    words = {label: shuffle(fields()[label], rng) for label in TREC_LABELS}
    for name, part in (("train_5500", slice(_NUM_TRAIN_WORDS)), ("TREC_10", slice(_NUM_TRAIN_WORDS, None))):
        lines = []
        for label in TREC_LABELS:
            for word in words[label][part] * _QUESTIONS_PER_WORD:
                slots = draw_people(seed, rng) | fill_letters("a", (word,))
                question = render_sentence(pick(frames(_FRAMES_FILE)["question"], rng), slots, rng)
                lines.append(f"{label}:{_TREC_FINE_LABELS[label]} {question}")
        yield f"TREC/{name}.label", shuffle(lines, rng)


def _analogies(seed: int, rng: Random) -> Iterator[TaskFile]:
    """Yield the file `ANALOGIES`: per line, two pairs of sentences that differ by the same word."""
    lines = []
    for key, forms in frames(_FRAMES_FILE).items():
        group, _, category = key.partition("/")
        for _ in range(_ANALOGIES_PER_CATEGORY if group == "analogies" else 0):
            texts = []
            for _ in range(2):
                field = pick(tuple(fields()), rng)
                slots = draw_people(seed, rng) | fill_letters("ab", sample(fields()[field], 2, rng))
                texts += [render_sentence(form, slots, rng) for form in forms]
            lines.append("\t".join((category, *texts)))
    yield ANALOGIES, lines


def mrpc(seed: int, rng: Random) -> Iterator[TaskFile]:
    """Yield the files of MRPC: pairs of reports, half of them paraphrases.

    Both reports share people, town and one thing; paraphrases also share the field of the other things.
    """
    for split, count in _MRPC_PAIRS.items():
        lines = ["\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String"]  # the published files have this mark
        for number, quality in enumerate(shuffle([i % 2 for i in range(count)], rng)):
            people = draw_people(seed, rng)
            field, other = sample(tuple(fields()), 2, rng)
            a, b, c, d, e = sample(fields()[field], 5, rng)
            second = [d, e] if quality else sample(fields()[other], 2, rng)
            texts = _make_two_sentences("report", people, [a, b, c], [a, *second], rng)
            lines.append("\t".join((str(quality), str(2 * number + 1), str(2 * number + 2), *texts)))
        yield f"MRPC/msr_paraphrase_{split}.txt", lines


def sts(seed: int, rng: Random) -> Iterator[TaskFile]:
    """Yield the files of STSBenchmark and of the subsets of STS14: pairs of sentences with scores of similarity."""
    for split, count in _STSB_PAIRS.items():
        lines = []
        for number in range(count):
            score, texts = _make_scored_pair("caption", seed, rng)
            lines.append("\t".join(("main-captions", "demo", "demo", f"{number:04}", f"{score:.3f}", *texts)))
        yield f"STS/STSBenchmark/sts-{split}.csv", lines
    for subset in SUBSETS:
        scored = [_make_scored_pair(subset, seed, rng) for _ in range(_STS14_PAIRS)]
        yield f"STS/STS14-en-test/STS.input.{subset}.txt", ["\t".join(texts) for _, texts in scored]
        yield f"STS/STS14-en-test/STS.gs.{subset}.txt", [f"{score:.1f}" for score, _ in scored]


def _make_two_sentences(frame: str, people: Slots, first: list[str], second: list[str], rng: Random) -> list[str]:
    """Return two sentences about the same people with different templates, about the three things in each list."""
    chosen = shuffle(frames(_FRAMES_FILE)[frame], rng)[:2]
    return [
        render_sentence(template, people | fill_letters("abc", shuffle(things, rng)), rng)
        for template, things in zip(chosen, (first, second), strict=True)
    ]


def _make_scored_pair(frame: str, seed: int, rng: Random) -> tuple[float, list[str]]:
    """Return a similarity score from 0 to 5 and two sentences.

    5: same things; 4: one same thing, all of one field; 3 to 0: other things, 3 to 0 of them of the same field.
    """
    level = int(rng.random() * 6)
    field, other = sample(tuple(fields()), 2, rng)
    a, b, c, d, e, f = sample(fields()[field], 6, rng)
    things = {5: [a, b, c], 4: [a, d, e]}.get(level, [d, e, f][:level])
    things += sample(fields()[other], 3 - len(things), rng)
    score = min(max(level + 0.6 * rng.random() - 0.3, 0.0), 5.0)
    return score, _make_two_sentences(frame, draw_people(seed, rng), [a, b, c], things, rng)


def sick(seed: int, rng: Random) -> Iterator[TaskFile]:
    """Yield one SICK file per split: pairs of sentences on facts of a town, by `_SICK_KINDS`."""
    number = 0
    for split, count in _SICK_PAIRS.items():
        lines = ["pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"]
        for kind in shuffle([tuple(_SICK_KINDS)[i % len(_SICK_KINDS)] for i in range(count)], rng):
            number += 1
            label, low, high = _SICK_KINDS[kind]
            score = low + (high - low) * rng.random()
            lines.append("\t".join((str(number), *_make_two_statements(kind, seed, rng), f"{score:.1f}", label)))
        yield f"SICK/SICK_{split}.txt", lines


def _make_two_statements(kind: str, seed: int, rng: Random) -> list[str]:
    """Return two statements about a town that relate as the `kind` of a SICK pair demands, such as "same fact"."""
    outline = pick([town for region in range(REGIONS) for town in towns(seed, region)], rng)
    topic, other = (topics()[name] for name in sample(tuple(topics()), 2, rng))
    aspect, further = sample([key for key in topic.say if fact_slots(topic.name, key)], 2, rng)
    template, other_template = sample(topic.say[aspect], 2, rng)
    slots = other_slots = draw_facts(outline, topic)
    if kind == "contrary fact":
        other_slots = contrary_facts(outline, topic.name, aspect)
    elif kind == "same topic":
        other_template = pick(topic.say[further], rng)
    elif kind == "other topic":
        other_template = pick(other.say[pick(tuple(other.say), rng)], rng)
        other_slots = draw_facts(outline, other)
    things = sample(topic.terms, 4, rng)
    other_things = sample(other.terms, 2, rng) if kind == "other topic" else things[2:]
    return [
        _make_statement(outline, topic.name, template, slots, things[:2], rng),
        _make_statement(outline, topic.name, other_template, other_slots, other_things, rng),
    ]


def _make_statement(
    outline: Outline, topic: str, template: Template, slots: Slots, things: list[str], rng: Random
) -> str:
    """Return a sentence that states a fact, followed by a setting that names two things."""
    (text,) = fill_templates(outline, [template], slots, topic, rng)
    setting = render(pick(frames(_FRAMES_FILE)["setting"], rng), fill_letters("ab", things), rng)
    return f"{strip_links(capitalize(text)).removesuffix('.')} {setting}"


def inference_files(seed: int) -> Iterator[TaskFile]:
    """Yield the files of SNLI (JSON lines, without parses), one per part."""
    for part in PREMISES:
        rows = inference_rows(seed, part)
        yield f"snli_1.0_{part}.jsonl", [json.dumps(row, ensure_ascii=False) for row in rows]


def inference_rows(seed: int, part: str) -> list[dict[str, Any]]:
    """Return the rows of a part ("train", "dev" or "test") of SNLI: premise, hypothesis and label.

    A premise is an opinion on some things. Its three hypotheses are the same opinion, the opposite one, and an opinion
    on other things. Things and moods are equally frequent with each label, so that a hypothesis alone does not predict
    its label.
    """
    rng = seeded_random(seed, "inference", part)
    return [row for number in range(PREMISES[part]) for row in _make_inference_rows(f"{part}{number}", seed, rng)]


def _make_inference_rows(caption: str, seed: int, rng: Random) -> Iterator[dict[str, Any]]:
    """Yield three SNLI rows: one premise with an entailed, a contradicting and a neutral hypothesis."""
    people = draw_people(seed, rng)
    thing, other = (pick(fields()[field], rng) for field in sample(tuple(fields()), 2, rng))
    mood, opposite = shuffle((BRIGHT, GRIM), rng)
    word, similar, _ = sample(moods()[mood], 3, rng)
    premise = render_sentence(
        pick(frames(_FRAMES_FILE)["premise"], rng), people | fill_letters("ax", (thing, word)), rng
    )
    words = {
        "entailment": (thing, similar),
        "contradiction": (thing, pick(moods()[opposite], rng)),
        "neutral": (other, pick(moods()[pick((mood, opposite), rng)], rng)),
    }
    for label in shuffle(LABELS, rng):
        frame = pick(frames(_FRAMES_FILE)["hypothesis"], rng)
        yield {
            "annotator_labels": [label],
            "captionID": f"{caption}.jpg",
            "gold_label": label,
            "pairID": f"{caption}.jpg#{LABELS.index(label)}",
            "sentence1": premise,
            "sentence2": render_sentence(frame, people | fill_letters("ay", words[label]), rng),
        }
