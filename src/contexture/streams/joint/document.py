"""Sampling of examples for Multi-Sentences in Paragraph Prediction from one document (section 3.4), without Spark.

Sentences with the same token ids are the same text. No text occurs twice in an example, and no negative has the text of
a sentence in s0's paragraph.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import accumulate
from random import Random
from typing import NamedTuple

from contexture.streams.draws import lazy_shuffle, seeded_random
from contexture.streams.joint.config import JointSampling
from contexture.streams.tokens import Document, Sentence

COUNT_NAMES = (
    "documents",
    "documents_too_short",  # no paragraph gives an example
    "paragraphs",
    "paragraphs_too_short",  # no sentence has k1 possible positives
    "sentences",
    "examples",
    "examples_incomplete",  # dropped: not enough negatives
    "hard_filled_with_easy",  # hard negatives replaced by easy ones
)


class Candidate(NamedTuple):
    """A sentence, and the next one of its paragraph if a candidate may contain both."""

    sentence: Sentence
    following: Sentence | None


class Pool(NamedTuple):
    """Candidates for easy negatives, sorted by document, and the document id of each."""

    doc_ids: list[str]
    candidates: list[Candidate]


class Example(NamedTuple):
    """s0 and k candidates in random order, with k labels: 1 if the candidate is from s0's paragraph."""

    example_id: str
    sentences: list[Sentence]
    labels: list[int]


def sample_document(
    document: Document, pool: Pool, config: JointSampling, max_tokens: int, seed: int
) -> tuple[list[Example], Counter[str]]:
    """Return MSPP's examples from one document, in the order of its paragraphs, and the counts `COUNT_NAMES`.

    s0 is the sentence whose paragraph is predicted. The result is a function of the arguments alone: each paragraph and
    each s0 has its own generator, seeded with (seed, document id, paragraph index, sentence index). Sentence indices
    count the sentences that have tokens.
    """
    sources = _CandidateSources(document, pool, config, max_tokens)
    examples: list[Example] = []
    counts = Counter(
        documents=1, paragraphs=len(document.paragraphs), sentences=len(sources.candidates), documents_too_short=1
    )
    for number, (index, sentences) in enumerate(document.paragraphs):
        eligible = _eligible_positions(sentences, config)
        counts["paragraphs_too_short"] += not eligible
        if eligible:
            counts["documents_too_short"] = 0
        rng = seeded_random(seed, document.doc_id, index)
        for s0 in sorted(rng.sample(eligible, min(len(eligible), config.examples_per_paragraph))):
            labelled, filled = _draw_candidates(sources, number, s0, seeded_random(seed, document.doc_id, index, s0))
            if len(labelled) < config.candidates:
                counts["examples_incomplete"] += 1
                continue
            counts["examples"] += 1
            counts["hard_filled_with_easy"] += filled
            candidates = [candidate for candidate, _ in labelled]
            labels = [label for _, label in labelled]
            examples.append(Example(f"{document.doc_id}:{index}:{s0}", [sentences[s0], *candidates], labels))
    return examples, counts


def _eligible_positions(sentences: Sequence[Sentence], config: JointSampling) -> list[int]:
    """Return the positions of a paragraph's sentences that can be s0: those with k1 or more possible positives."""
    texts = set(sentences) if config.positive_rule == "any" else set()
    eligible = []
    for position in reversed(range(len(sentences))):
        if len(texts) - (sentences[position] in texts) >= config.positives:
            eligible.append(position)
        texts.add(sentences[position])
    return eligible[::-1]


def _draw_candidates(
    sources: "_CandidateSources", number: int, s0: int, rng: Random
) -> tuple[list[tuple[Sentence, int]], int]:
    """Draw the candidates of s0 with labels, shuffled, and count the hard negatives replaced by easy ones."""
    config = sources.config
    paragraph = sources.paragraph(number)
    texts = {candidate.sentence for candidate in paragraph}
    used = {paragraph[s0].sentence}
    positives = _take_unused(sources.positives(number, s0, rng), config.positives, used)
    hard = _take_unused(sources.hard_negatives(number, s0, texts, rng), config.hard_negatives, used)
    filled = config.hard_negatives - len(hard)
    easy = _take_unused(sources.easy_negatives(texts, rng), config.easy_negatives + filled, used)
    labelled = [(candidate, 1) for candidate in positives] + [(candidate, 0) for candidate in hard + easy]
    rng.shuffle(labelled)
    return [(_draw_text(candidate, used, sources.max_tokens, rng), label) for candidate, label in labelled], filled


def _take_unused(candidates: Iterable[Candidate], count: int, used: set[Sentence]) -> list[Candidate]:
    """Return the first `count` candidates with unused texts, and mark their texts as used."""
    chosen: list[Candidate] = []
    for candidate in candidates if count else ():
        if candidate.sentence not in used:
            used.add(candidate.sentence)
            chosen.append(candidate)
            if len(chosen) == count:
                break
    return chosen


def _draw_text(candidate: Candidate, used: set[Sentence], max_tokens: int, rng: Random) -> Sentence:
    """Return the candidate's sentence, or, half of the time and if that repeats no text, it and the following one."""
    sentence, following = candidate
    if following is None or following in used or rng.random() < 0.5:
        return sentence
    both = (sentence + following)[:max_tokens]
    if both in used:
        return sentence
    used.update((following, both))
    return both


class _CandidateSources:
    """The sources of a document's candidates. Methods yield candidates lazily in random order."""

    def __init__(self, document: Document, pool: Pool, config: JointSampling, max_tokens: int) -> None:
        self.config, self.max_tokens = config, max_tokens
        self.candidates: list[Candidate] = []
        for _, sentences in document.paragraphs:
            following = [*sentences[1:], None] if config.candidate_sentences == 2 else [None] * len(sentences)
            self.candidates += map(Candidate, sentences, following)
        self.bounds = [0, *accumulate(len(sentences) for _, sentences in document.paragraphs)]
        self.pool = pool.candidates
        self.own_range = bisect_left(pool.doc_ids, document.doc_id), bisect_right(pool.doc_ids, document.doc_id)

    def paragraph(self, number: int) -> list[Candidate]:
        """Return the candidates that begin in a paragraph, in the order of its sentences."""
        return self.candidates[self.bounds[number] : self.bounds[number + 1]]

    def positives(self, number: int, s0: int, rng: Random) -> Iterator[Candidate]:
        """Yield candidates from s0's paragraph: all other sentences, or those after s0."""
        start = s0 if self.config.positive_rule == "any" else 0
        return lazy_shuffle(self.paragraph(number), rng, start, s0 + 1)

    def hard_negatives(self, number: int, s0: int, texts: AbstractSet[Sentence], rng: Random) -> Iterator[Candidate]:
        """Yield candidates from other paragraphs of the document and, by `hard_rule`, a sentence before s0."""
        if self.config.hard_rule == "other_paragraphs":
            return _exclude_texts(
                lazy_shuffle(self.candidates, rng, self.bounds[number], self.bounds[number + 1]), texts
            )
        paragraphs = [other for other in range(len(self.bounds) - 1) if other != number]
        chosen = rng.sample(paragraphs, min(len(paragraphs), 2 * self.config.hard_negatives))
        candidates = list(_exclude_texts((c for other in chosen for c in self.paragraph(other)), texts))
        if s0 > 0:
            candidates.append(self.paragraph(number)[rng.randrange(s0)])
        return lazy_shuffle(candidates, rng)

    def easy_negatives(self, texts: AbstractSet[Sentence], rng: Random) -> Iterator[Candidate]:
        """Yield candidates from other documents of the pool."""
        return _exclude_texts(lazy_shuffle(self.pool, rng, *self.own_range), texts)


def _exclude_texts(candidates: Iterable[Candidate], texts: AbstractSet[Sentence]) -> Iterator[Candidate]:
    """Yield candidates without those in `texts`; a following sentence in `texts` is cut off."""
    for sentence, following in candidates:
        if sentence not in texts:
            yield Candidate(sentence, None if following in texts else following)
