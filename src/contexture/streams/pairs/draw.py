"""Pairs of a query and a passage from one page, each a function of (seed, ids) alone."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

from contexture.streams.draws import generator, shuffled
from contexture.streams.pairs.config import TwoTowerSampling
from contexture.streams.tokens import Sentence


class Passage(NamedTuple):
    """A passage of a page; the page's first section has index 0."""

    passage_id: str
    section_index: int
    sentences: list[Sentence]


class Pair(NamedTuple):
    """A query, the passage that belongs to it, and the id of the passage that this is or was a part of."""

    pair_id: str
    query: Sentence
    passage: list[int]
    document: str


#: Draws the pairs of one page's passages, given in a fixed order.
Draw = Callable[[Sequence[Passage], TwoTowerSampling, int], Iterator[Pair]]


def inverse_cloze(passages: Sequence[Passage], config: TwoTowerSampling, seed: int) -> Iterator[Pair]:
    """ICT (section 3): the query is a random sentence of a passage, and the rest of it the document.

    Where the passage says the sentence twice, both go: the rest never holds the query, unless it was left in (see
    `remove_probability`). A passage of one sentence, or of one said again and again, gives no pair.
    """
    for passage_id, _, sentences in passages:
        if len(set(sentences)) > 1:
            rng = generator(seed, "ict", passage_id)
            places = list(islice(_different(sentences, shuffled(range(len(sentences)), rng)), config.pairs_per_passage))
            for place in places:
                query = sentences[place]
                remove = generator(seed, "ict", passage_id, place).random() < config.remove_probability
                rest = [sentence for sentence in sentences if not (remove and sentence == query)]
                yield Pair(f"ict:{passage_id}:{place}", query, list(chain.from_iterable(rest)), passage_id)


def body_first(passages: Sequence[Passage], config: TwoTowerSampling, seed: int) -> Iterator[Pair]:
    """BFS (section 3): the query is a random sentence of the page's first section, the document a passage of the page.

    Each passage is a document once, and gets a sentence that it does not say itself; where there is none, no pair.
    A page whose first section has no text gives no pair.
    """
    first = [sentence for passage in passages if passage.section_index == 0 for sentence in passage.sentences]
    for passage_id, _, sentences in passages if first else ():
        own = set(sentences)
        places = shuffled(range(len(first)), generator(seed, "bfs", passage_id))
        others = (place for place in places if first[place] not in own)
        for place in islice(_different(first, others), config.pairs_per_passage):
            yield Pair(f"bfs:{passage_id}:{place}", first[place], list(chain.from_iterable(sentences)), passage_id)


def neighbours(passages: Sequence[Passage], config: TwoTowerSampling, seed: int) -> Iterator[Pair]:
    """The query is a random sentence of the passage before or behind a passage of the same page, that the document is.

    What Quick-Thoughts learns of sentences (its section 3) between a sentence and a passage. The document does not say
    the sentence itself; a page of one passage gives no pair.
    """
    for place, (passage_id, _, sentences) in enumerate(passages):
        beside = [*passages[max(place - 1, 0) : place], *passages[place + 1 : place + 2]]
        near = [sentence for passage in beside for sentence in passage.sentences]
        own = set(sentences)
        places = shuffled(range(len(near)), generator(seed, "neighbours", passage_id))
        others = (place for place in places if near[place] not in own)
        for chosen in islice(_different(near, others), config.pairs_per_passage):
            yield Pair(
                f"neighbours:{passage_id}:{chosen}", near[chosen], list(chain.from_iterable(sentences)), passage_id
            )


def _different(sentences: Sequence[Sentence], places: Iterator[int]) -> Iterator[int]:
    """Leave out the places of sentences that were there before."""
    seen: set[Sentence] = set()
    for place in places:
        if sentences[place] not in seen:
            seen.add(sentences[place])
            yield place
